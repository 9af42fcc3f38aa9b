"""Calls a function in a Python file of the repository: in a child process with limits, from the
branch to merge into."""

from __future__ import annotations

import hashlib
import math
import re
import sys
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from gatekeeper.checks.check import Files, Finding, ParameterError, Parameters, undetermined
from gatekeeper.checks.reading.output import shorten
from gatekeeper.contract.checks.check_specs import MODULES
from gatekeeper.contract.syntax.parsing import BrokenTextError, read_functions
from gatekeeper.sandbox.frames import FrameError
from gatekeeper.sandbox.process import LimitedProcess, Limits
from gatekeeper.sandbox.restrictions import hide_memory

TIMEOUT_MS = 2000
LONGEST_MESSAGE = 300
# Each call that does not end holds up the whole run, so such a function is given up.
_TIMEOUTS_ALLOWED = 10
_KILL_COUNTS_AS = 5
_IMPORT_SECONDS = 20
_LIMITS = Limits(memory=1_000_000_000, cpu=10, wall=_IMPORT_SECONDS, processes=True)
_MOST_CHILDREN = 4

NAMED_FUNCTION: Parameters = {
    "type": "string",
    "pattern": r"^[^{}]+\.py:[A-Za-z][A-Za-z0-9_]*$",
    "description": "The file and the function to call, like `checks.py:polite`.",
}
OTHER_FILES: Parameters = {
    "type": "array",
    "items": {"type": "string", "minLength": 1},
    "maxItems": 20,
    "description": "A list of the repository files that the Python file imports.",
}
TIMEOUT: Parameters = {
    "x-looser": "change",
    "type": "number",
    "exclusiveMinimum": 0,
    "maximum": 30_000,
    "default": TIMEOUT_MS,
    "description": "The time limit of one call in milliseconds, at most 30000.",
}

_children: OrderedDict[str, LimitedProcess] = OrderedDict()
_timeouts: dict[str, int] = {}


class OwnFunction:
    """A function that may run. `request` has what every call is given."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self._request = request
        self._key = hashlib.sha256(repr(sorted(request["sources"].items())).encode()).hexdigest()

    def call(self, given: Mapping[str, Any]) -> Mapping[str, Any] | Finding:
        """Return the response of the child process, or why there is no result."""
        path = self._request["path"]
        if _timeouts.get(self._key, 0) >= _TIMEOUTS_ALLOWED:
            return undetermined(
                f"{path} reached the time limit too often, so gatekeeper does not call it again"
            )
        request = {**self._request, **given}
        try:
            wall = _IMPORT_SECONDS + request["seconds"]
            answers = _child(self._key).ask(request, wall)
        except FrameError as error:
            return undetermined(f"{path} cannot be called with this output: {error}")
        if answers.overrun is not None or not answers.responses:
            self._count_timeouts(_KILL_COUNTS_AS)
            return undetermined(f"{path}: {answers.overrun or 'no answer'}")
        response = answers.responses[0]
        if not isinstance(response, dict):
            return self.without_result()
        if isinstance(response.get("fault"), str):
            self._count_timeouts(int(response.get("late") is True))
            return undetermined(shorten(response["fault"], LONGEST_MESSAGE))
        return response

    def without_result(self) -> Finding:
        """Return the finding of a response that says nothing."""
        return undetermined(f"{self._request['path']}: no result")

    def finding(self, response: Mapping[str, Any], least: float = 0.0) -> Finding:
        """Return the finding of a mapping with a grade. It passes if the mapping says so, and its
        score is not lower than `least`."""
        passed, score = response.get("passed"), response.get("score")
        if not isinstance(passed, bool) or not isinstance(score, float) or not 0 <= score <= 1:
            return self.without_result()
        if passed and score >= least:
            return Finding(True, score=score)
        reason = shorten(str(response.get("reason", "")), LONGEST_MESSAGE)
        if passed:
            reason = self.said_score(score, least)
        return Finding(False, reason or self.said("returned no reason"), score)

    def said_score(self, score: float, least: float) -> str:
        """Return the message of a score that is too low."""
        return self.said(f"returned {math.floor(score * 1000) / 1000:g}, below {least:g}")

    def said(self, what: str) -> str:
        """Return a message that names the function."""
        return f"{self._request['path']}:{self._request['function']} {what}"

    def _count_timeouts(self, count: int) -> None:
        _timeouts[self._key] = _timeouts.get(self._key, 0) + count


def own_function(reference: str, params: Parameters, files: Files) -> OwnFunction | Finding:
    """Return the function that `FILE.py:NAME` names, or the finding that says why it may not run.

    Raises ParameterError if Python cannot import the file.
    """
    path, _, name = reference.rpartition(":")
    names = [path, *params.get(MODULES, ())]
    _require_distinct(names)
    if files.code is None:
        for other in names:
            _require_syntax(files.texts.get(other, ""), other)
        _require_function(files.texts[path], path, name)
        return undetermined(
            f"{path} was not run, because its code does not come from a trusted branch"
        )
    if path not in files.code:
        return undetermined(
            f"{path} was not run, because the file or its entry in `checks.python` of the policy "
            "is not yet on the branch to merge into; first merge the file and its entry in a "
            "separate pull request"
        )
    missing = [other for other in names if other not in files.code]
    if missing:
        return undetermined(
            f"{path} was not run, because it needs the file {missing[0]}, and this file or its "
            "entry in `checks.python` of the policy is not yet on the branch to merge into; first "
            "merge the file and its entry in a separate pull request"
        )
    return OwnFunction(
        {
            "path": path,
            "function": name,
            "sources": {other: files.code[other] for other in names},
            "seconds": params.get("timeout_ms", TIMEOUT_MS) / 1000,
        }
    )


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
        read_functions(text)
    except BrokenTextError as error:
        what = f"`{path}`, line {error.line}: Python cannot read this file: {error.what}"
        raise ParameterError(what, "correct the file") from None


def _require_function(text: str, path: str, name: str) -> None:
    if not re.search(rf"^def {re.escape(name)}\s*\(", text, re.MULTILINE):
        what = f"`{path}` defines no function `{name}`"
        raise ParameterError(what, f"write `def {name}(...):` at the start of a line")
