"""A stream and a clock of its own for what is drawn on a terminal."""

from __future__ import annotations

import io
import re


class TerminalStream(io.StringIO):
    """Says that it is a terminal, and keeps what is written to it."""

    def isatty(self) -> bool:
        return True


class SetClock:
    """A clock that a test sets, in seconds."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


ESCAPE_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
