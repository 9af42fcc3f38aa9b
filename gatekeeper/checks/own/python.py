"""A function in a Python file of the repository evaluates the output.

```python
from gatekeeper import Fail


def polite(output, vars):
    if vars["name"] not in output:
        return Fail("does not use the customer's name")
    return "please" in output.lower()
```

The check `python: tone.py:polite` calls the function `polite` in the file `tone.py`. You can leave
out `type: python`. The path of the file is relative to the contract file. The path of the file must
match a pattern in `checks.python` of the policy. The default pattern is `contracts/**/*.py`. The
function may have the parameters `output` (text), `vars`, `expected` and `context`. Gatekeeper
passes only the parameters that the function has. The function returns one of these values:

- `True` or `False`;
- a score from 0 to 1; the check passes if the score is at least `pass`;
- `Fail("…")`, which fails the check with this message;
- a mapping with `pass` (true or false), `score` (from 0 to 1) and `reason` (text), as in promptfoo.
  The check passes if `pass` of the mapping is true. If the check itself has the parameter `pass`,
  the score must also be at least this parameter.

If the function raises an exception, takes too long, or returns any other value, the check is
undetermined. An undetermined check never counts as passed. If the function prints a text, the check
is undetermined too, because the text could be meant as the result. The message of the check names
the file and the line.

A pull request cannot change the code that evaluates the pull request itself. Gatekeeper runs the
function as it is on the base branch, which is the branch to merge into. If the pull request changes
the file, the report names a [weakening](contracts.md#what-a-change-affects), and the change applies
only after the merge. Gatekeeper does not run a file that is new in the pull request. Merge a new
file first, in a separate pull request, and use the file in the next pull request. To try the
function before you merge it, use `gatekeeper run`. The command `gatekeeper run` runs the file from
the revision that you name, by default from your last commit. The function has no access to keys or
to the network. The function can read only the files of Python and of Python's packages: see
[security](security.md#checks-of-your-own).

[order-facts.yaml](../contracts/order-facts.yaml) is a complete contract with a `python` check.
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
