"""Syntactic repairs of an output before the checks, each one recorded by name.

A repair changes how an answer is wrapped, never its content. Every step is idempotent, and is
recorded only if it changed the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from gatekeeper.contract.definition import RepairMode, RepairPolicy


def repair(text: str, policy: RepairPolicy, mode: RepairMode) -> tuple[str, tuple[str, ...]]:
    """Return the repaired text, and the names of the steps that changed it, in order.

    At most `policy.max_steps` steps change the text. In mode `observe` none does. Raises KeyError
    for a step that is not in STEPS, which the contract's schema already refuses.
    """
    if mode == "observe":
        return text, ()
    applied: list[str] = []
    for name in policy.steps:
        if len(applied) >= policy.max_steps:
            break
        repaired = STEPS[name](text)
        if repaired != text:
            applied.append(name)
            text = repaired
    return text, tuple(applied)


def strip_whitespace(text: str) -> str:
    """Remove the white space around the text."""
    return text.strip()


def lowercase(text: str) -> str:
    """Make the text lower case."""
    return text.lower()


def strip_markdown_fences(text: str) -> str:
    """Unwrap a fenced code block (CommonMark 4.5) that is the whole text.

    Blocks in blocks are unwrapped too. A block that is never closed, and text before or after
    a block, leave the text as it is: `extract_json` finds JSON among prose.
    """
    while (inner := _fenced(text)) is not None:
        text = inner
    return text


def extract_json(text: str) -> str:
    """Extract the first JSON object or array in the text, without the prose around it.

    A text that is JSON as a whole stays as it is. Brackets that hold something else are passed
    over whole, and JSON that is cut off leaves the text as it is: a piece from inside them would
    pass for an answer that the model did not give.
    """
    if _is_json(text):
        return text
    at = unclosed = 0
    while (bracket := _BRACKET.search(text, at)) and unclosed < _UNCLOSED_TRIED:
        start = bracket.start()
        end = _closing(text, start)
        if end is not None and _is_json(text[start:end]):
            return text[start:end]
        if end is None and _CUT_OFF.match(text, start):
            return text
        unclosed += end is None
        at = start + 1 if end is None else end
    return text


STEPS: Mapping[str, Callable[[str], str]] = {
    "strip_whitespace": strip_whitespace,
    "strip_markdown_fences": strip_markdown_fences,
    "extract_json": extract_json,
    "lowercase": lowercase,
}

_FENCE = re.compile(r"(`{3,})[^`]*|(~{3,}).*")
_BRACKET = re.compile(r"[\[{]")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_CUT_OFF = re.compile(r"""[\[{]\s*(?:["'\d\[{-]|\Z)""")

# Each unclosed bracket costs a walk to the end of the text; prose has one or two.
_UNCLOSED_TRIED = 5


def _fenced(text: str) -> str | None:
    lines = text.strip().split("\n")
    opening = _FENCE.fullmatch(lines[0].rstrip())
    if opening is None:
        return None
    fence = opening[1] or opening[2]
    closing = re.compile(rf" {{0,3}}{fence[0]}{{{len(fence)},}}\s*")
    closed_at = [number for number, line in enumerate(lines) if number and closing.fullmatch(line)]
    if closed_at != [len(lines) - 1]:
        return None
    return "\n".join(lines[1:-1]).removesuffix("\r")


def _is_json(text: str) -> bool:
    try:
        # Only the extent matters here, and `int` refuses more than 4300 digits.
        json.loads(text, parse_int=str)
    except (ValueError, RecursionError):
        return False
    return True


def _closing(text: str, start: int) -> int | None:
    """Return the index of the bracket that closes the one at `start`; brackets in strings do not
    count."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
        if depth == 0:
            return token.end()
    return None
