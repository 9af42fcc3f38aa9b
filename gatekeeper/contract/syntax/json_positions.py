"""Parses JSON text to data with the position of every value. The standard parser keeps no
positions, accepts NaN, uses the last of two equal keys, and has no limit on depth."""

from __future__ import annotations

import json
import math
import re
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

KeyPath = tuple[str | int, ...]
Place = tuple[int, int]

MOST_VALUES = 500_000
"""The most values in one text. Each takes some hundred bytes, with its position."""

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?", re.ASCII)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_WORDS = {"true": True, "false": False, "null": None}


class RefusedJsonError(ValueError):
    """JSON that can be read in more than one way, or a number that JSON does not have."""


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise RefusedJsonError("a JSON object with a key twice")
    return value


def _finite(written: str) -> float:
    number = float(written)
    if not math.isfinite(number):
        raise RefusedJsonError(f"{written}, which is not a JSON number")
    return number


# Made once: json.loads makes a decoder at each call, which takes as long as reading a short line.
STRICT = json.JSONDecoder(object_pairs_hook=_distinct, parse_float=_finite, parse_constant=_finite)
"""Refuses what the standard parser lets pass. Raises ValueError and RecursionError."""


class BrokenJsonError(Exception):
    def __init__(self, what: str, fix: str, line: int, column: int) -> None:
        super().__init__(what)
        self.what, self.fix, self.line, self.column = what, fix, line, column


def scan(
    text: str,
    places: dict[KeyPath, Place],
    keys: dict[KeyPath, Place],
    max_depth: int,
    first_line: int = 1,
) -> Any:
    """Parse the one value in the text; fills `places` and `keys`. Raises BrokenJsonError."""
    scanner = _Scanner(text, places, keys, max_depth, first_line)
    value, end = scanner.value(scanner.skip(0), ())
    end = scanner.skip(end)
    if end != len(text):
        raise scanner.broken(end, "more text follows after the first JSON value")
    return value


class _Scanner:
    def __init__(
        self,
        text: str,
        places: dict[KeyPath, Place],
        keys: dict[KeyPath, Place],
        max_depth: int,
        first_line: int,
    ) -> None:
        self._text = text
        self._places = places
        self._keys = keys
        self._max_depth = max_depth
        self._first_line = first_line
        self._line = first_line
        self._line_start = 0
        self._seen = 0

    def skip(self, index: int) -> int:
        match = _SPACE.match(self._text, index)
        return match.end() if match else index

    def place(self, index: int) -> Place:
        """Return the line and column of an index.

        Fast if indexes increase from call to call, because lines are then counted once.
        """
        if index < self._seen:
            before = self._text[:index]
            return before.count("\n") + self._first_line, index - before.rfind("\n")
        self._line += self._text.count("\n", self._seen, index)
        start = self._text.rfind("\n", self._seen, index)
        self._line_start = start + 1 if start >= 0 else self._line_start
        self._seen = index
        return self._line, index - self._line_start + 1

    def broken(self, index: int, what: str, fix: str = "correct the JSON") -> BrokenJsonError:
        return BrokenJsonError(f"not JSON: {what}", fix, *self.place(index))

    def value(self, index: int, key: KeyPath) -> tuple[Any, int]:
        self._places[key] = self.place(index)
        if len(self._places) > MOST_VALUES:
            fix = "split the file; large sets of fixtures belong in a .jsonl file"
            raise self.broken(index, f"the text has more than {MOST_VALUES:,} values", fix)
        if len(key) > self._max_depth:
            what = f"the text is nested deeper than {self._max_depth} levels"
            raise self.broken(index, what, "flatten the JSON")
        start = self._text[index : index + 1]
        if start == '"':
            return self._string(index)
        if start == "{":
            return self._object(index + 1, key)
        if start == "[":
            return self._array(index + 1, key)
        for word, value in _WORDS.items():
            if self._text.startswith(word, index):
                return value, index + len(word)
        return self._number(index)

    def _string(self, index: int) -> tuple[str, int]:
        try:
            value, end = scanstring(self._text, index + 1, True)
        except JSONDecodeError as error:
            what = error.msg[:1].lower() + error.msg[1:].removesuffix(" at").removesuffix(":")
            raise self.broken(max(error.pos, index), what) from None
        if _SURROGATE.search(value):
            raise self.broken(index, "half of a \\u surrogate pair", "write both halves")
        return value, end

    def _number(self, index: int) -> tuple[int | float, int]:
        match = _NUMBER.match(self._text, index)
        if match is None:
            is_missing = index >= len(self._text)
            what = (
                "a value is missing" if is_missing else ("a value cannot start with this character")
            )
            raise self.broken(
                index, what, "put text in double quotes, and remove any comma before `]`"
            )
        digits = match.group()
        try:
            number = float(digits) if match.group(1) or match.group(2) else int(digits)
        except ValueError:
            number = math.inf
        if not isinstance(number, int) and not math.isfinite(number):
            raise self.broken(index, "a number too large", "write a smaller number")
        return number, match.end()

    def _array(self, index: int, key: KeyPath) -> tuple[list[Any], int]:
        items: list[Any] = []
        index = self.skip(index)
        if self._text.startswith("]", index):
            return items, index + 1
        while True:
            item, index = self.value(index, (*key, len(items)))
            items.append(item)
            index = self.skip(index)
            if self._text.startswith("]", index):
                return items, index + 1
            if not self._text.startswith(",", index):
                raise self.broken(index, "a `,` or `]` is missing")
            index = self.skip(index + 1)

    def _object(self, index: int, key: KeyPath) -> tuple[dict[str, Any], int]:
        members: dict[str, Any] = {}
        index = self.skip(index)
        if self._text.startswith("}", index):
            return members, index + 1
        while True:
            index = self._member(index, key, members)
            index = self.skip(index)
            if self._text.startswith("}", index):
                return members, index + 1
            if not self._text.startswith(",", index):
                raise self.broken(index, "a `,` or `}` is missing")
            index = self.skip(index + 1)

    def _member(self, index: int, key: KeyPath, members: dict[str, Any]) -> int:
        if not self._text.startswith('"', index):
            fix = "put the key in double quotes, and remove any comma before `}`"
            raise self.broken(index, "a key in double quotes is missing", fix)
        place = self.place(index)
        name, end = self._string(index)
        if name in members:
            first = self._keys[(*key, name)][0]
            what = f"the key {name!r} occurs twice, first on line {first}"
            raise BrokenJsonError(what, "keep one of the two keys", *place)
        self._keys[(*key, name)] = place
        colon = self.skip(end)
        if not self._text.startswith(":", colon):
            raise self.broken(colon, "a `:` is missing after the key")
        members[name], index = self.value(self.skip(colon + 1), (*key, name))
        return index
