"""Parses TOML and Python in a child process with limits: 40 kB of either can take gigabytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gatekeeper.sandbox.frames import FrameError
from gatekeeper.sandbox.process import LimitedProcess

_CHILD = LimitedProcess("gatekeeper.contract.syntax.parsing_worker:answer", ("yaml",))


class BrokenTextError(Exception):
    """The text cannot be parsed: what is wrong, and where."""

    def __init__(self, what: str, line: int, column: int = 1) -> None:
        super().__init__(what)
        self.what, self.line, self.column = what, line, column


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function at the top of a Python file, and the names of its parameters."""

    name: str
    only_by_position: tuple[str, ...]
    by_position_or_name: tuple[str, ...]
    only_by_name: tuple[str, ...]
    defaults: int
    """How many of the parameters by position have one."""
    requires_names: bool
    """Whether one of `only_by_name` has no default."""
    takes_any_number: bool


def read_toml(text: str) -> Mapping[str, Any]:
    """Return the `data` of the text, and the places that `toml_positions` finds. A date, a time and
    an infinite number, which no prompt is, are 0. Raises BrokenTextError."""
    return _ask("toml", text)


@lru_cache(maxsize=256)
def read_functions(text: str) -> tuple[PythonFunction, ...]:
    """Return the functions of a Python file, in order. Nothing of it is run. Raises
    BrokenTextError."""
    found = _ask("python", text)["functions"]
    names = ("only_by_position", "by_position_or_name", "only_by_name")
    return tuple(PythonFunction(**{**f, **{n: tuple(f[n]) for n in names}}) for f in found)


def _ask(kind: str, text: str) -> Mapping[str, Any]:
    try:
        answers = _CHILD.ask({"kind": kind, "text": text})
    except FrameError as error:
        raise BrokenTextError(str(error), 1) from None
    if not answers.responses:
        raise BrokenTextError(f"{answers.overrun or 'it cannot be read'}", 1)
    response: Mapping[str, Any] = answers.responses[0]
    if "fault" in response:
        raise BrokenTextError(*response["fault"])
    return response
