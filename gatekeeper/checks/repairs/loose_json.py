"""Rewrites JSON that breaks a rule of the format: quotes, commas, names of constants, comments.

The library json-repair guesses what was meant, and its guess may invent or drop data: it closes a
document that was cut off, and fills in a value that is missing. So its result counts only if the
text spells all of it, in order, and nothing else.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from gatekeeper.checks.reading.output import NotJson, parse_json

MOST_CHARACTERS = 50_000
"""The longest text that is repaired. json-repair takes up to half a second for it."""
MOST_DEPTH = 60

_CLOSING = {"{": "}", "[": "]"}
_GAP = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*+", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_BARE_NAME = re.compile(r"\w+")
_WORDS = {
    True: re.compile(r"true(?!\w)", re.IGNORECASE),
    False: re.compile(r"false(?!\w)", re.IGNORECASE),
    None: re.compile(r"(?:null|none)(?!\w)", re.IGNORECASE),
}
_QUOTES = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "`": "`"}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


def json_loose_parse(text: str) -> str:
    """Rewrite a document that is nearly JSON as JSON.

    A text that is JSON stays as it is, and so does one that lacks a value, a quotation mark of a
    pair or a bracket: it may have been cut off. Nothing is looked for in prose, which is what
    `extract_json` is for.
    """
    stripped = text.strip()
    if not _may_be_repaired(stripped) or not isinstance(parse_json(text), NotJson):
        return text
    guess = _guess(stripped)
    if not isinstance(guess, dict | list) or not _is_whole(stripped, guess):
        return text
    written = json.dumps(guess, ensure_ascii=False)
    return text if isinstance(parse_json(written), NotJson) else written


def _may_be_repaired(text: str) -> bool:
    if not 2 <= len(text) <= MOST_CHARACTERS or _CLOSING.get(text[0]) != text[-1]:
        return False
    depth = deepest = 0
    for bracket in re.finditer(r"[\[{]|[\]}]", text):
        depth += 1 if bracket[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest <= MOST_DEPTH


def _guess(text: str) -> Any:
    import json_repair

    try:
        guess = json_repair.loads(text, skip_json_loads=True)
        return json.loads(json.dumps(guess))  # joins the two halves of a surrogate pair
    except (ValueError, RecursionError, TypeError, IndexError):
        return None


def _is_whole(text: str, value: Any) -> bool:
    """Return whether the text spells the value and nothing else."""
    speller = _Speller(text)
    return speller.spells(value) and speller.is_at_end()


class _Speller:
    """Follows a value through the text that is said to spell it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def is_at_end(self) -> bool:
        """Return whether nothing but gaps is left."""
        self._skip()
        return self._at == len(self._text)

    def spells(self, value: Any) -> bool:
        """Return whether the value comes next; then step over it."""
        self._skip()
        if isinstance(value, dict):
            return self._takes("{") and self._spells_members(value) and self._takes("}")
        if isinstance(value, list):
            return self._takes("[") and self._spells_items(value) and self._takes("]")
        if isinstance(value, str):
            return self._spells_text(value)
        if value is None or isinstance(value, bool):
            return self._takes_match(_WORDS[value])
        return self._spells_number(value)

    def _spells_members(self, members: dict[str, Any]) -> bool:
        for place, (name, value) in enumerate(members.items()):
            if not self._goes_on(place) or not self._spells_name(name):
                return False
            if not self._takes(":") or not self.spells(value):
                return False
        return self._may_end_with_comma(members)

    def _spells_items(self, items: list[Any]) -> bool:
        for place, value in enumerate(items):
            if not self._goes_on(place) or not self.spells(value):
                return False
        return self._may_end_with_comma(items)

    def _goes_on(self, place: int) -> bool:
        """Step over the comma before a part that is not the first; it may be missing if something
        else separates the parts."""
        before = self._at
        self._skip()
        gap = self._at > before
        comma = place > 0 and self._takes(",")
        self._skip()
        quoted = self._text[self._at : self._at + 1] in _QUOTES
        return place == 0 or comma or gap or quoted

    def _may_end_with_comma(self, parts: Any) -> bool:
        self._skip()
        if parts:
            self._takes(",")
        return True

    def _spells_text(self, value: str) -> bool:
        self._skip()
        closing = _QUOTES.get(self._text[self._at : self._at + 1])
        if closing is None:
            return False  # a word such as `undefined` is no text
        self._at += 1
        if not all(self._takes_character(character, closing) for character in value):
            return False
        found = self._text[self._at : self._at + 1] == closing
        self._at += found
        return found

    def _spells_name(self, name: str) -> bool:
        self._skip()
        bare = _BARE_NAME.match(self._text, self._at)
        if bare is None:
            return self._spells_text(name)
        self._at = bare.end()
        return bare[0] == name

    def _takes_character(self, character: str, closing: str) -> bool:
        found = self._text[self._at : self._at + 1]
        if found == "\\":
            return self._takes_escape(character)
        if found != character or found == closing:
            return False
        self._at += 1
        return True

    def _takes_escape(self, character: str) -> bool:
        text, at = self._text, self._at
        if text[at + 1 : at + 2] == "u":
            for length in (12, 6):
                if _unescaped(text[at : at + length]) == character:
                    self._at += length
                    return True
            return False
        escaped = text[at + 1 : at + 2]
        if character != (_ESCAPES.get(escaped) or escaped) or not escaped:
            return False
        self._at += 2
        return True

    def _spells_number(self, value: float) -> bool:
        found = _NUMBER.match(self._text, self._at)
        if found is None or not math.isfinite(value):
            return False
        self._at = found.end()
        try:
            return int(found[0]) == value
        except ValueError:
            return isinstance(value, float) and float(found[0]) == value

    def _takes(self, mark: str) -> bool:
        self._skip()
        if self._text[self._at : self._at + 1] != mark:
            return False
        self._at += 1
        return True

    def _takes_match(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self._text, self._at)
        if found is None:
            return False
        self._at = found.end()
        return True

    def _skip(self) -> None:
        found = _GAP.match(self._text, self._at)
        self._at = found.end() if found else self._at


def _unescaped(escape: str) -> str | None:
    try:
        read = json.loads(f'"{escape}"')
    except ValueError:
        return None
    return read if isinstance(read, str) else None
