"""Paths into a JSON value: `priority`, `$.customer.name`, `items[0].id`, `["a.b"].c`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from gatekeeper.checks.check import ParameterError

_SEGMENT = re.compile(
    r"""\.? (?P<name> [^.\[\]"']+ )
      | \[ (?P<index> \d+ ) \]
      | \[ (?P<quoted> "(?:[^"\\]|\\.)*" ) \]""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class FieldPath:
    """The steps from the root of a JSON value to one of its parts, and the path as written."""

    text: str
    steps: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """Nothing is at the path. `reached` is the last part of the path that is there."""

    reached: str


def parse_path(text: str) -> FieldPath:
    """Parse a path. Raises ParameterError if it is not one."""
    rest = text.removeprefix("$")
    at = 0
    steps: list[str | int] = []
    while at < len(rest):
        segment = _SEGMENT.match(rest, at)
        if segment is None or (rest[at] not in ".[" and at > 0):
            break
        steps.append(_step(segment))
        at = segment.end()
    if at < len(rest) or not steps:
        raise ParameterError(
            f"`{text}` is not a path into JSON",
            'write the path like `customer.name`, `items[0].id` or `["a key with '
            'dots."].id`; to write a JSONPath, begin with `$`, such as '
            "`$.items[*].id`",
        )
    return FieldPath(text, tuple(steps))


def is_query(text: str) -> bool:
    """Return whether the text is meant as a JSONPath query (RFC 9535): it starts with `$` and says
    more than a path to one value can, such as a wildcard, a filter, a slice or `..`."""
    if not text.startswith("$"):
        return False
    try:
        return "*" in parse_path(text).steps
    except ParameterError:
        return True


def find(value: Any, path: FieldPath) -> Any | Missing:
    """Return the part of a parsed JSON value at a path.

    The part may be null; Missing means that there is none.
    """
    for depth, step in enumerate(path.steps):
        if not _has(value, step):
            return Missing(_written(path.steps[:depth]))
        value = value[step]
    return value


def _step(segment: re.Match[str]) -> str | int:
    if segment["name"] is not None:
        return segment["name"]
    if segment["index"] is not None:
        return int(segment["index"])
    quoted: str = json.loads(segment["quoted"])
    return quoted


def _has(value: Any, step: str | int) -> bool:
    if isinstance(step, int):
        return isinstance(value, list) and step < len(value)
    return isinstance(value, dict) and step in value


def _written(steps: tuple[str | int, ...]) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
