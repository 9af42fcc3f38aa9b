"""A function in a Python file of the repository evaluates the output.

```python
from gatekeeper import Fail


def polite(output, vars):
    if vars["name"] not in output:
        return Fail("does not use the customer's name")
    return "please" in output.lower()
```

`python: tone.py:polite` calls it; the path is relative to the contract, and must match
`checks.python` of the policy (`contracts/**/*.py` by default). The function gets those of the
arguments `output` (text), `vars`, `expected` and `context` that it names. It returns `True` or
`False`, a score from 0 to 1, `Fail("…")`, or a mapping with `pass`, `score` and `reason`, as in
promptfoo. A score passes from the check's `pass` on. If the function raises, prints, takes too long
or returns anything else, the check is undetermined, never passed.

A pull request cannot change the code that evaluates it: the function runs as it is on the base
branch. A changed file is a [weakening](contracts.md#what-a-change-affects) and applies after the
merge; a new file must be merged first. `gatekeeper run` runs the file of the revision that you
name. The function has no keys, no network, and reads only Python and its packages:
[security](security.md#checks-of-your-own). [order-facts.yaml](../contracts/order-facts.yaml) is a
complete contract.
"""

from __future__ import annotations

import math
from typing import Any

from gatekeeper.checks.check import (
    PASSED,
    Check,
    Example,
    Files,
    Finding,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
)
from gatekeeper.checks.own.own_function import (
    LONGEST_MESSAGE,
    NAMED_FUNCTION,
    OTHER_FILES,
    TIMEOUT,
    OwnFunction,
    own_function,
)
from gatekeeper.checks.reading.output import FIELD, as_text, on_output, shorten

_PASS = 0.5


def _prepare(params: Parameters, files: Files) -> SampleEvaluator:
    function = own_function(params["python"], params, files)
    if isinstance(function, Finding):
        return lambda _sample: function
    fixture = files.fixture
    given = {
        "vars": dict(fixture.vars) if fixture else {},
        "expected": fixture.expected if fixture else None,
        "context": params.get("context"),
    }
    least = params.get("pass", _PASS)

    def evaluate(output: Any) -> Finding:
        """Return what the function finds in a text, or in another JSON value as text."""
        response = function.call({**given, "output": as_text(output)})
        if isinstance(response, Finding):
            return response
        if isinstance(response.get("reason"), str):
            return function.finding(response, params.get("pass", 0.0))
        return _finding(response, function, least)

    return on_output(params, evaluate)


def _finding(response: Parameters, function: OwnFunction, least: float) -> Finding:
    if isinstance(response.get("fail"), str):
        return failed(
            shorten(response["fail"], LONGEST_MESSAGE)
            or function.said("returned a Fail without a reason")
        )
    if isinstance(response.get("passed"), bool):
        return PASSED if response["passed"] else failed(function.said("returned False"))
    score = response.get("score")
    if isinstance(score, float) and math.isfinite(score) and 0 <= score <= 1:
        if score >= least:
            return Finding(passed=True, score=score)
        return Finding(False, function.said_score(score, least), score)
    return function.without_result()


CHECK = Check(
    parameters(
        required=("python",),
        python=NAMED_FUNCTION,
        modules=OTHER_FILES,
        context={
            "description": (
                "The value of the function's parameter `context`, like `{{ documents }}`."
            ),
        },
        field=FIELD,
        **{
            "pass": {
                "x-looser": "down",
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "default": _PASS,
                "description": "The lowest score that passes, from 0 to 1.",
            }
        },
        timeout_ms=TIMEOUT,
    ),
    _prepare,
    group="own",
    examples=(
        Example(
            "{python: tone.py:calm, pass: 0.7}",
            "Sorry! It is on its way.",
            "Sorry!!!! WAIT!",
            files={"tone.py": "def calm(output):\n    return 1 - output.count('!') / 10\n"},
        ),
        Example(
            "{python: names.py:short, field: name, pass: 0.5}",
            '{"name": "Ann"}',
            '{"name": "Annabella Smith"}',
            files={"names.py": "def short(output):\n    return max(0, 1 - len(output) / 20)\n"},
        ),
    ),
    code="python",
    scores=True,
    per_fixture=True,
)
