"""Parses TOML to plain data with the line of every value. The standard parser keeps no positions,
so another pass over the same text finds them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from gatekeeper.contract.syntax.parsing import BrokenTextError, read_toml
from gatekeeper.contract.syntax.yaml_positions import MAX_DEPTH, Document, KeyPath, Place
from gatekeeper.errors import ContractError, Problem

MOST_CHARACTERS = 1_000_000

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_STRING = re.compile(
    r"'''(?:(?!''')[\s\S])*'{3,5}"
    r'|"""(?:[^"\\]|\\[\s\S]|"(?!""))*"{3,5}'
    r"|'[^'\n]*'"
    r'|"(?:[^"\\\n]|\\.)*"'
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]+")
_PLACES = ("places", "keys", "text_lines", "last_lines")
"""The fields of a document that hold places."""


def parse_toml(text: str, path: str) -> Document:
    """Parse TOML. Raises ContractError if the text is not TOML, or too large."""
    if len(text) > MOST_CHARACTERS:
        what = f"the TOML file has more than {MOST_CHARACTERS:,} characters"
        raise ContractError([Problem(path, what, "move the prompts to separate files", 1)])
    try:
        found = read_toml(text)
    except BrokenTextError as error:
        what = f"not TOML: {error.what}"
        problem = Problem(path, what, "correct the TOML", error.line, error.column)
        raise ContractError([problem]) from None
    return Document(path, found["data"], *(_by_key(found[name]) for name in _PLACES))


def _by_key(pairs: Iterable[Any]) -> dict[KeyPath, Any]:
    placed = ((tuple(key), at) for key, at in pairs)
    return {key: tuple(at) if isinstance(at, list) else at for key, at in placed}


class TooDeepError(Exception):
    """A value is nested too deeply; `place` says where."""

    def __init__(self, place: Place) -> None:
        super().__init__(f"a key or value is nested deeper than {MAX_DEPTH} levels")
        self.place = place


def scan_toml(text: str) -> Mapping[str, list[Any]]:
    """Return the places of the values, as JSON can hold them. Raises TooDeepError; ValueError if
    the text is certainly not TOML."""
    scan = _Scan(text)
    scan.document()
    return {name: [[list(key), at] for key, at in getattr(scan, name).items()] for name in _PLACES}


class _Scan:
    """Finds the places of the values in a text. Where it is at a loss, it stops: a value without a
    place has that of the table around it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._line, self._seen = 1, 0
        self._arrays: dict[KeyPath, int] = {}
        self.places: dict[KeyPath, Place] = {(): (1, 1)}
        self.keys: dict[KeyPath, Place] = {}
        self.text_lines: dict[KeyPath, int] = {}
        self.last_lines: dict[KeyPath, int] = {}

    def document(self) -> None:
        table: KeyPath = ()
        index = self._blank(0)
        while index < len(self._text):
            if self._text.startswith("[", index):
                is_array = self._text.startswith("[[", index)
                place = self._place(index)
                names, index = self._names(index + 1 + is_array)
                table = self._table(names, is_array=is_array)
                self.places.setdefault(table, place)
                index += 1 + is_array
            else:
                index = self._pair(index, table, 0)
            index = self._blank(index)

    def _table(self, names: KeyPath, *, is_array: bool) -> KeyPath:
        table: KeyPath = ()
        for name in names[:-1]:
            table = self._last((*table, name))
        table = (*table, *names[-1:])
        if is_array:
            self._arrays[table] = self._arrays.get(table, -1) + 1
        return self._last(table)

    def _last(self, table: KeyPath) -> KeyPath:
        return (*table, self._arrays[table]) if table in self._arrays else table

    def _pair(self, index: int, table: KeyPath, depth: int) -> int:
        place = self._place(index)
        names, index = self._names(index)
        key = (*table, *names)
        if not names or not self._text.startswith("=", index):
            return len(self._text)
        if len(key) > MAX_DEPTH:
            raise TooDeepError(place)
        self.keys.setdefault(key, place)
        return self._value(self._space(index + 1), key, depth)

    def _names(self, index: int) -> tuple[KeyPath, int]:
        names: list[str | int] = []
        while True:
            index = self._space(index)
            match = _STRING.match(self._text, index) or _BARE.match(self._text, index)
            if match is None:
                return tuple(names), index
            written = match.group()
            is_quoted = written[:1] in "'\""
            names.append(next(iter(tomllib.loads(f"{written} = 0"))) if is_quoted else written)
            if len(names) > MAX_DEPTH:
                raise TooDeepError(self._place(index))
            index = self._space(match.end())
            if not self._text.startswith(".", index):
                return tuple(names), index
            index += 1

    def _value(self, index: int, key: KeyPath, depth: int) -> int:
        self.places.setdefault(key, self._place(index))
        start = self._text[index : index + 1]
        if depth > MAX_DEPTH:
            raise TooDeepError(self._place(index))
        if start == "[":
            return self._items(index + 1, key, depth)
        if start == "{":
            return self._members(index + 1, key, depth)
        string = _STRING.match(self._text, index)
        if string is None:
            scalar = _SCALAR.match(self._text, index)
            return scalar.end() if scalar else index + 1
        if string.group().startswith(("'''", '"""')):
            # A line end right after the quotes is no part of the text.
            first = string.group()[3:4] == "\n"
            self.text_lines[key] = self._place(index)[0] + first
            if "\\\n" in string.group():
                self.last_lines[key] = self._place(string.end())[0]
        return string.end()

    def _items(self, index: int, key: KeyPath, depth: int) -> int:
        count = 0
        index = self._blank(index)
        while index < len(self._text) and self._text[index] != "]":
            index = self._blank(self._value(index, (*key, count), depth + 1))
            count += 1
            if self._text.startswith(",", index):
                index = self._blank(index + 1)
        return index + 1

    def _members(self, index: int, key: KeyPath, depth: int) -> int:
        index = self._blank(index)
        while index < len(self._text) and self._text[index] != "}":
            index = self._blank(self._pair(index, key, depth + 1))
            if self._text.startswith(",", index):
                index = self._blank(index + 1)
        return index + 1

    def _blank(self, index: int) -> int:
        match = _BLANK.match(self._text, index)
        return match.end() if match else index

    def _space(self, index: int) -> int:
        match = _SPACE.match(self._text, index)
        return match.end() if match else index

    def _place(self, index: int) -> Place:
        self._line += self._text.count("\n", self._seen, index)
        self._seen = index
        return self._line, index - self._text.rfind("\n", 0, index)
