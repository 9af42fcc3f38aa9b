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
- `Fail("…")`, which fails the check with this message.

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

import ast
import hashlib
import math
import re
import sys
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from gatekeeper.checks.check import (
    PASSED,
    Check,
    Example,
    Files,
    Finding,
    ParameterError,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
    undetermined,
)
from gatekeeper.checks.output import FIELD, as_text, on_output, shorten
from gatekeeper.sandbox.frames import FrameError
from gatekeeper.sandbox.process import LimitedProcess, Limits
from gatekeeper.sandbox.restrictions import hide_memory

_PASS = 0.5
_TIMEOUT_MS = 2000
# Each call that does not end holds up the whole run, so such a function is given up.
_TIMEOUTS_ALLOWED = 10
_KILL_COUNTS_AS = 5
_IMPORT_SECONDS = 20
_LIMITS = Limits(memory=1_000_000_000, cpu=10, wall=_IMPORT_SECONDS, processes=True)
_MOST_CHILDREN = 4
_MESSAGE = 300

_children: OrderedDict[str, LimitedProcess] = OrderedDict()


def _prepare(params: Parameters, files: Files) -> SampleEvaluator:
    path, _, name = params["python"].rpartition(":")
    names = [path, *params.get("modules", ())]
    _require_distinct(names)
    if files.code is None:
        for other in names:
            _require_syntax(files.texts.get(other, ""), other)
        _require_function(files.texts[path], path, name)
        return lambda _sample: undetermined(
            f"{path} was not run, because its code does not come from a trusted branch"
        )
    if path not in files.code:
        return lambda _sample: undetermined(
            f"{path} was not run, because the file or its entry in `checks.python` of the policy "
            "is not yet on the branch to merge into; first merge the file and its entry in a "
            "separate pull request"
        )
    missing = [other for other in names if other not in files.code]
    if missing:
        return lambda _sample: undetermined(
            f"{path} was not run, because it needs the file {missing[0]}, and this file or its "
            "entry in `checks.python` of the policy is not yet on the branch to merge into; first "
            "merge the file and its entry in a separate pull request"
        )
    sources = {other: files.code[other] for other in names}
    fixture = files.fixture
    function = _OwnFunction(
        {
            "path": path,
            "function": name,
            "sources": sources,
            "vars": dict(fixture.vars) if fixture else {},
            "expected": fixture.expected if fixture else None,
            "context": params.get("context"),
            "seconds": params.get("timeout_ms", _TIMEOUT_MS) / 1000,
        },
        params.get("pass", _PASS),
    )
    return on_output(params, function.evaluate)


class _OwnFunction:
    """Calls the function for each output, or for each part of it."""

    def __init__(self, request: Mapping[str, Any], least: float) -> None:
        self._request = request
        self._least = least
        self._key = hashlib.sha256(repr(sorted(request["sources"].items())).encode()).hexdigest()

    def evaluate(self, output: Any) -> Finding:
        """Return what the function finds in a text, or in another JSON value as text."""
        path = self._request["path"]
        if _timeouts.get(self._key, 0) >= _TIMEOUTS_ALLOWED:
            return undetermined(
                f"{path} reached the time limit too often, so gatekeeper does not call it again"
            )
        request = {**self._request, "output": as_text(output)}
        try:
            wall = _IMPORT_SECONDS + request["seconds"]
            answers = _child(self._key).ask(request, wall)
        except FrameError as error:
            return undetermined(f"{path} cannot be called with this output: {error}")
        if answers.overrun is not None or not answers.responses:
            self._count_timeouts(_KILL_COUNTS_AS)
            return undetermined(f"{path}: {answers.overrun or 'no answer'}")
        return self._finding(answers.responses[0])

    def _finding(self, response: Any) -> Finding:
        path = self._request["path"]
        if not isinstance(response, dict):
            return undetermined(f"{path}: no result")
        if isinstance(response.get("fault"), str):
            self._count_timeouts(int(response.get("late") is True))
            return undetermined(shorten(response["fault"], _MESSAGE))
        if isinstance(response.get("fail"), str):
            return failed(
                shorten(response["fail"], _MESSAGE)
                or self._said("returned a Fail without a reason")
            )
        if isinstance(response.get("passed"), bool):
            return PASSED if response["passed"] else failed(self._said("returned False"))
        score = response.get("score")
        if isinstance(score, float) and math.isfinite(score) and 0 <= score <= 1:
            if score >= self._least:
                return Finding(passed=True, score=score)
            shown = math.floor(score * 1000) / 1000
            said = self._said(f"returned {shown:g}, below {self._least:g}")
            return Finding(False, said, score)
        return undetermined(f"{path}: no result")

    def _said(self, what: str) -> str:
        return f"{self._request['path']}:{self._request['function']} {what}"

    def _count_timeouts(self, count: int) -> None:
        _timeouts[self._key] = _timeouts.get(self._key, 0) + count


_timeouts: dict[str, int] = {}


def _child(key: str) -> LimitedProcess:
    """Return the child of these sources. The one that was used least recently makes room."""
    if key not in _children:
        hide_memory()
        service = "gatekeeper.checks.own.worker:answer"
        folders = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
        _children[key] = LimitedProcess(service, (), _LIMITS, folders)
        if len(_children) > _MOST_CHILDREN:
            _children.popitem(last=False)[1].close()
    _children.move_to_end(key)
    return _children[key]


def _require_distinct(paths: list[str]) -> None:
    taken = {"gatekeeper"} | set(sys.stdlib_module_names)
    for path in paths:
        stem = PurePosixPath(path).stem
        if not path.endswith(".py") or not stem.isidentifier():
            what = f"`{path}` is not a file that Python can import"
            raise ParameterError(what, "use a file name like `checks.py`")
        if stem in taken:
            what = f"another Python module already has the name of `{path}`"
            raise ParameterError(what, "rename the file")
        taken.add(stem)


def _require_syntax(text: str, path: str) -> None:
    """Raise ParameterError if the file is not Python. Nothing of it is run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        place = f"`{path}`, line {line}" if line else f"`{path}`"
        what = f"{place}: Python cannot read this file: {getattr(error, 'msg', None) or error}"
        raise ParameterError(what, "correct the file") from None


def _require_function(text: str, path: str, name: str) -> None:
    if not re.search(rf"^def {re.escape(name)}\s*\(", text, re.MULTILINE):
        what = f"`{path}` defines no function `{name}`"
        raise ParameterError(what, f"write `def {name}(output):` at the start of a line")


CHECK = Check(
    parameters(
        required=("python",),
        python={
            "type": "string",
            "pattern": r"^[^{}]+\.py:[A-Za-z][A-Za-z0-9_]*$",
            "description": "The file and the function to call, like `checks.py:polite`.",
        },
        modules={
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "maxItems": 20,
            "description": "A list of the repository files that the Python file imports.",
        },
        context={
            "description": (
                "The value of the function's parameter `context`, like `{{ documents }}`."
            ),
        },
        field=FIELD,
        **{
            "pass": {
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "default": _PASS,
                "description": "The lowest score that passes, from 0 to 1.",
            }
        },
        timeout_ms={
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 30_000,
            "default": _TIMEOUT_MS,
            "description": "The time limit of one call in milliseconds, at most 30000.",
        },
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
