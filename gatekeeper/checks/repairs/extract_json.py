"""Extracts JSON from the prose around it."""

from __future__ import annotations

import json
import re

_BRACKET = re.compile(r"[\[{]")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_CUT_OFF = re.compile(r"""[\[{]\s*(?:["'\d\[{-]|\Z)""")

# Each unclosed bracket costs a walk to the end of the text; prose has one or two.
_UNCLOSED_TRIED = 5


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
