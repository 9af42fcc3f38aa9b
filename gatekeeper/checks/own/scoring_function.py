"""A Python function of the repository passes or fails the output by the scores of other checks.

```python
def weakest(scores, context):
    worst = min(scores, key=scores.get)
    return {
        "pass": scores[worst] >= context["threshold"],
        "score": scores[worst],
        "reason": f"{worst} has the lowest score",
    }
```

The function gets the scores by name, and `context`. It returns a mapping with `pass` (which
decides), `score` and `reason`. The names are those of the checks, or those in `metrics`. If one of
the checks is undetermined, this check is undetermined too. Everything else is as for
[python](#python).
"""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper.checks.check import (
    Check,
    Example,
    Files,
    Finding,
    InnerCheck,
    ParameterError,
    Parameters,
    SampleEvaluator,
    parameters,
    undetermined,
)
from gatekeeper.checks.composed.inner_checks import CHECKS, ComposedCheck, Found, named_messages
from gatekeeper.checks.own.own_function import (
    NAMED_FUNCTION,
    OTHER_FILES,
    TIMEOUT,
    own_function,
)


def _prepare(params: Parameters, files: Files) -> SampleEvaluator:
    checks: tuple[InnerCheck, ...] = params["checks"]
    metrics = params.get("metrics") or [check.name for check in checks]
    if len(metrics) != len(checks):
        what = f"`metrics` has {len(metrics)} names, but `checks` has {len(checks)} checks"
        raise ParameterError(what, "write one name for each check")
    weights = [check.weight for check in checks]
    function = own_function(params["function"], params, files)
    context = params.get("context", {})

    def combine(found: Found) -> Finding:
        if isinstance(function, Finding):
            return function
        if any(finding.passed is None for _, finding in found):
            return undetermined(named_messages(found, None))
        response = function.call({"arguments": [_scores(found, metrics, weights), context]})
        return response if isinstance(response, Finding) else function.finding(response)

    return ComposedCheck(checks, combine)


def _scores(found: Found, metrics: Sequence[str], weights: Sequence[float]) -> dict[str, float]:
    """Return the weighted mean of the scores of each name."""
    sums = dict.fromkeys(metrics, 0.0)
    totals = dict.fromkeys(metrics, 0.0)
    for (_, finding), metric, weight in zip(found, metrics, weights, strict=True):
        score = float(finding.passed is True) if finding.score is None else finding.score
        sums[metric] += weight * score
        totals[metric] += weight
    return {metric: sums[metric] / totals[metric] for metric in sums}


CHECK = Check(
    parameters(
        required=("function", "checks"),
        function=NAMED_FUNCTION,
        modules=OTHER_FILES,
        checks={
            **CHECKS,
            "description": (
                "A list of 1 to 20 checks, with `type`, parameters, `name`, `not` and `weight`."
            ),
        },
        metrics={
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "description": (
                "The names of the scores, in the order of `checks`; by default the checks' names."
            ),
        },
        context={
            "type": "object",
            "description": "The second value that the function gets, like `{threshold: 0.8}`.",
        },
        timeout_ms=TIMEOUT,
    ),
    _prepare,
    group="own",
    examples=(
        Example(
            "{type: scoring_function, function: decide.py:both, "
            "checks: [{type: contains, name: polite, value: please}, "
            "{type: length, name: short, max: 20}]}",
            "Wait here, please.",
            "Wait here.",
            files={
                "decide.py": (
                    "def both(scores, context):\n"
                    "    score = min(scores.values())\n"
                    "    return {'pass': score == 1, 'score': score, 'reason': 'one is missing'}\n"
                )
            },
        ),
    ),
    scores=True,
    composed=True,
    code="function",
)
