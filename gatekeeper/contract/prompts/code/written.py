"""The text and the holes of a constant, with the line of the file at which each line of it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

LONGEST = 500_000
"""The most characters of a constant and of the constants that it contains."""

_MOST_KEPT = 400_000
"""The most characters of a source whose syntax tree is kept."""
T = TypeVar("T")

MOVE = "move the prompt to a file of its own, which no code changes"
"""The way out of what cannot be read. A shorter one may be known."""

SEPARATE = "write the text in a separate constant, and use that constant here or as the prompt"
"""The way out of a constant that a program computes."""
_DEEPEST = 50
_MOST_NAMES = 1_000

Path = tuple[str | int, ...]
Part = str | Path
"""Text, or the variable that fills a hole, with the keys of a part of it."""


class CodeFault(Exception):
    """A constant that cannot be read without running the program. `line` counts from 1."""

    def __init__(self, what: str, fix: str, line: int) -> None:
        super().__init__(what)
        self.what, self.fix, self.line = what, fix, line


class Computed(CodeFault):
    """A value that only the running program knows."""


@dataclass
class Effort:
    """How far the reading has gone, because a hostile file may never end."""

    depth: int = 0
    names: int = 0

    @contextmanager
    def deeper(self, line: int) -> Iterator[None]:
        """Count a step into an expression. Raises CodeFault if there are too many."""
        self.depth += 1
        self._require(self.depth <= _DEEPEST, line)
        try:
            yield
        finally:
            self.depth -= 1

    def add_name(self, line: int) -> None:
        """Count a name that is looked up. Raises CodeFault if there are too many."""
        self.names += 1
        self._require(self.names <= _MOST_NAMES, line)

    def _require(self, is_small: bool, line: int) -> None:
        if not is_small:
            what = "the program puts the text together in too many steps"
            raise CodeFault(what, SEPARATE, line)


@dataclass
class Written:
    """A constant as far as it is read. `lines` has the file's line of each line of its text; None
    for a line that has no character yet, `computed` the code that gives a hole its value."""

    parts: list[Part] = field(default_factory=list)
    lines: list[int | None] = field(default_factory=lambda: [None])
    length: int = 0
    computed: dict[str, str] = field(default_factory=dict)

    def add_text(self, text: str, line: int, *, spans_lines: bool = False) -> None:
        """Add text from a line of the file. `spans_lines` says that each line end in it is one of
        the file as well, and no escape. Raises CodeFault if the text grows too long."""
        if text:
            self._grow(len(text), line)
            self.parts.append(text)
        pieces = text.split("\n")
        for number, piece in enumerate(pieces):
            if number:
                self.lines.append(None)
                line += spans_lines
            if self.lines[-1] is None and (piece or number + 1 < len(pieces)):
                self.lines[-1] = line

    def add_hole(self, path: Path, line: int) -> None:
        """Add a hole that a variable fills."""
        self._grow(1, line)
        self.parts.append(path)
        if self.lines[-1] is None:
            self.lines[-1] = line

    def add(self, other: Written, line: int | None = None) -> None:
        """Add another constant, with its own lines, or all of it at one line of the file."""
        self._grow(other.length, line or 1)
        self.parts += other.parts
        self.computed |= other.computed
        lines = [line] * len(other.lines) if line else other.lines
        if self.lines[-1] is None:
            self.lines[-1] = lines[0]
        self.lines += lines[1:]

    def only_text(self) -> str | None:
        """Return the text; None if there is a hole in it."""
        texts = [part for part in self.parts if isinstance(part, str)]
        return "".join(texts) if len(texts) == len(self.parts) else None

    def stripped(self, *, left: bool, right: bool, line: int, blanks: str | None = None) -> Written:
        """Return the text without `blanks` around it. Raises CodeFault if a hole is at such an end,
        because its value may have some."""
        parts = [part for part in self.parts if part]
        if not parts:
            return self
        for at, wanted in ((0, left), (-1, right)):
            if wanted and not isinstance(parts[at], str):
                fix = (
                    "write the text without blanks at its start and end, and do not strip the text"
                )
                raise CodeFault("the program strips blanks from a value", fix, line)
        found = Written(lines=list(self.lines))
        first, last = parts[0], parts[-1]
        if left and isinstance(first, str):
            kept = first.lstrip(blanks)
            found.lines = found.lines[first[: len(first) - len(kept)].count("\n") :]
            parts[0] = kept
        if right and isinstance(last, str):
            last = parts[-1] if isinstance(parts[-1], str) else last
            kept = last.rstrip(blanks)
            dropped = last[len(kept) :].count("\n")
            found.lines = found.lines[: len(found.lines) - dropped]
            parts[-1] = kept
        found.parts, found.length, found.computed = parts, self.length, self.computed
        return found

    def numbered(self, start: int) -> list[int]:
        """Return the line of each line; one without a character has that of the line before."""
        found: list[int] = []
        for line in self.lines:
            start = start if line is None else line
            found.append(start)
        return found

    def _grow(self, length: int, line: int) -> None:
        self.length += length
        if self.length > LONGEST:
            fix = "move the prompt to a separate file"
            raise CodeFault(f"the text has more than {LONGEST:,} characters", fix, line)


def kept_if_small(make: Callable[..., T]) -> Callable[..., T]:
    """Keep what is made of the last two sources. What large ones become would take too much of the
    child's memory."""
    kept = lru_cache(maxsize=2)(make)
    return lambda source, *more: (make if len(source) > _MOST_KEPT else kept)(source, *more)


Messages = list[tuple[str, Written]]
"""A constant as messages: the role of each, and its text."""
