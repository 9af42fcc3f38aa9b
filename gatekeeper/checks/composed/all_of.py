"""All of the given checks pass. The message names the checks that fail.

If some of the given checks have scores, the score of `all_of` is the lowest of these scores.
"""

from __future__ import annotations

from gatekeeper.checks.check import (
    Check,
    Example,
    Files,
    Finding,
    Parameters,
    SampleEvaluator,
    parameters,
)
from gatekeeper.checks.composed.inner_checks import (
    CHECKS,
    ComposedCheck,
    Found,
    known_scores,
    named_messages,
    require_no_weights,
)


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    require_no_weights(params["checks"])
    return ComposedCheck(params["checks"], _combine)


def _combine(found: Found) -> Finding:
    scores = known_scores(found)
    score = min(scores) if scores else None
    failing = sum(finding.passed is False for _, finding in found)
    if failing:
        count = f"{failing} of {len(found)} checks failed"
        return Finding(False, f"{count}: {named_messages(found, False)}", score)
    if any(finding.passed is None for _, finding in found):
        return Finding(None, named_messages(found, None))
    return Finding(True, score=score)


CHECK = Check(
    parameters(required=("checks",), checks=CHECKS),
    _prepare,
    group="composed",
    examples=(
        Example(
            "{type: all_of, name: short apology, checks: "
            "[{type: contains, value: sorry, ignore_case: true}, {type: length, max: 80}]}",
            "Sorry for the delay, your order leaves today.",
            "Your order leaves today.",
        ),
    ),
    composed=True,
)
