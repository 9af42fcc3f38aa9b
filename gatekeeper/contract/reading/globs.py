"""Path patterns of the policy: `*` and `?` stay within a folder, `**` spans any number of them.

Patterns come from pull requests too. So a path is read once, from left to right, with the set of
all positions in the pattern that match the text so far. There is no backtracking: the time grows
with the length of the pattern times the length of the path, whatever the pattern is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from typing import Literal


def matching(paths: Iterable[str], pattern: str) -> Iterator[str]:
    """Return the paths, from the repository root, that the whole pattern matches."""
    compiled = _compiled(pattern.removeprefix("/"))
    first, last, fits = compiled.prefix, compiled.suffix, compiled.fits
    # Most paths of a repository differ at one of their ends, and are not read to the other.
    return (path for path in paths if path.startswith(first) and path.endswith(last) and fits(path))


def literal_pattern(path: str) -> str:
    """Return a pattern that matches the path alone, whatever characters it has."""
    return re.sub(r"[*?\[]", r"[\g<0>]", path)


@dataclass(frozen=True, slots=True)
class _Token:
    """One piece of a pattern.

    | kind | what it takes |
    | --- | --- |
    | `one` | one character that `takes` accepts |
    | `star` | any text within a folder |
    | `deep` | any text |
    | `folders` | any number of folders, each with its slash |
    """

    kind: Literal["one", "star", "deep", "folders"]
    takes: Callable[[str], object] = field(default=lambda _: False, compare=False)
    literal: str = ""


@dataclass(slots=True)
class _Matcher:
    """A pattern as sets of places, each a bit of a number. `folders` has two places: the second
    lies within a folder's name."""

    prefix: str
    suffix: str
    shortest: int
    end: int
    optional: int
    """The most places that may be left without reading a character."""
    outside: int
    """First places of `folders`, which may be left for the one after the second."""
    within: int
    """Second places of `folders`."""
    takes: tuple[tuple[int, Callable[[str], object]], ...]
    stays: tuple[tuple[int, Callable[[str], object]], ...]
    _moves: dict[str, tuple[int, int]] = field(default_factory=dict)

    def fits(self, path: str) -> bool:
        """Return whether the whole pattern matches the path."""
        if len(path) < self.shortest:
            return False
        places = self._with_skipped(1)
        for character in path:
            moves = self._moves.get(character)
            if moves is None:
                moves = self._moves[character] = self._moves_by(character)
            advancing, staying = moves
            reached = (places & advancing) << 1 | places & staying
            if character == "/":
                reached |= (places & self.within) >> 1
            if not reached:
                return False
            places = self._with_skipped(reached)
        return bool(places & self.end)

    def _moves_by(self, character: str) -> tuple[int, int]:
        advancing = sum(1 << place for place, takes in self.takes if takes(character))
        staying = sum(1 << place for place, stays in self.stays if stays(character))
        return advancing, staying

    def _with_skipped(self, places: int) -> int:
        while True:
            more = places | (places & self.optional) << 1 | (places & self.outside) << 2
            if more == places:
                return places
            places = more


def _in_a_folder(character: str) -> bool:
    return character != "/"


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> _Matcher:
    tokens = _simplified(_tokens(pattern))
    optional = outside = within = place = 0
    takes: list[tuple[int, Callable[[str], object]]] = []
    stays: list[tuple[int, Callable[[str], object]]] = []
    for token in tokens:
        if token.kind == "one":
            takes.append((place, token.takes))
        elif token.kind == "folders":
            outside |= 1 << place
            takes.append((place, _in_a_folder))
            place += 1
            within |= 1 << place
            stays.append((place, _in_a_folder))
        else:
            optional |= 1 << place
            stays.append((place, (lambda _: True) if token.kind == "deep" else _in_a_folder))
        place += 1
    shortest = sum(token.kind == "one" for token in tokens)
    return _Matcher(
        _literal_start(tokens),
        _literal_start(tokens[::-1])[::-1],
        shortest,
        1 << place,
        optional,
        outside,
        within,
        tuple(takes),
        tuple(stays),
    )


def _literal_start(tokens: Iterable[_Token]) -> str:
    return "".join(token.literal for token in takewhile(lambda token: token.literal, tokens))


def _tokens(pattern: str) -> Iterator[_Token]:
    position = 0
    while position < len(pattern):
        if pattern.startswith("**/", position):
            yield _Token("folders")
            position += 3
        elif pattern.startswith("**", position):
            yield _Token("deep")
            position += 2
        elif pattern[position] == "*":
            yield _Token("star")
            position += 1
        else:
            token, position = _one(pattern, position)
            yield token


def _simplified(tokens: Iterable[_Token]) -> list[_Token]:
    """Join neighbours that mean no more than one of them, so that what may be left out is not
    longer than what may not."""
    found: list[_Token] = []
    for token in tokens:
        last = found[-1].kind if found else "one"
        if last == "deep" and token.kind != "one":
            continue
        if last == token.kind == "folders":
            continue
        if token.kind == "deep":
            while found and found[-1].kind != "one":
                found.pop()
        found.append(token)
    return found


def _one(pattern: str, position: int) -> tuple[_Token, int]:
    character = pattern[position]
    if character == "?":
        return _Token("one", _in_a_folder), position + 1
    if character == "[" and (end := pattern.find("]", position + 2)) > 0:
        # What Python's sets may one day give a meaning to (`&&`, `||`, `~~`, `--`, `[`) is escaped.
        inner = re.sub(r"[\\\[&|~]|(?<=-)-", r"\\\g<0>", pattern[position + 1 : end])
        inner = "^/" + inner[1:] if inner[0] in "!^" else inner
        try:
            return _Token("one", re.compile(f"[{inner}]").fullmatch), end + 1
        except re.error:
            pass
    return _Token("one", character.__eq__, character), position + 1
