"""The text and the holes of a constant, with the line of the file at which each line of it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

LONGEST = 500_000
"""The most characters of a constant and of the constants that it contains."""

MOVE = "move the prompt to a file of its own, which no code changes"
"""The way out of what cannot be read. A shorter one may be known."""

SEPARATE = "write the text in a separate constant, and use that constant here or as the prompt"
"""The way out of a constant that a program computes."""

Path = tuple[str, ...]
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

    def cleaned(self, clean: Callable[[str], str], line: int) -> Written:
        """Return the text without the blanks that a function takes away. Raises CodeFault if there
        is a hole in it, because its value may have some."""
        text = self.only_text()
        if text is None:
            fix = "write the text without blanks around it, and use it as it is"
            raise CodeFault("the program takes blanks away from a value", fix, line)
        kept = clean(text)
        first = text[: max(text.find(kept), 0)].count("\n")
        lines = self.lines[first : first + kept.count("\n") + 1]
        return Written([kept], lines, self.length, self.computed)

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


Messages = list[tuple[str, Written]]
"""A constant as messages: the role of each, and its text."""
