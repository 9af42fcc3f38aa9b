"""Keeps the answers of a run in a file while it asks, so that nobody pays for them twice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from gatekeeper.errors import WriteError
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.reports.write import write_files


class AnswerWriter:
    """Writes a file of answers as JSON Lines. `earlier` are lines that a resumed run continues;
    without them, the first answer replaces the file of another run."""

    def __init__(self, path: Path, earlier: str = "") -> None:
        self._path = path
        self._earlier = earlier
        self._file: TextIO | None = None
        self._is_writable = True

    def add(self, row: Mapping[str, Any]) -> None:
        """Append an answer at once: a process that is killed loses none before it. If that fails,
        the run goes on, and `finish` says why."""
        if not self._is_writable:
            return
        line = environment_redactor().text(json.dumps(row, ensure_ascii=False))
        try:
            self._opened().write(f"{line}\n")
            self._opened().flush()
        except (OSError, WriteError):
            self._is_writable = False

    def finish(self, text: str) -> None:
        """Replace the file by all answers, in an order that does not depend on their speed; without
        an answer it stays as it is. Raises WriteError."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if text:
            write_files({self._path.name: lambda: text}, self._path.parent)

    def _opened(self) -> TextIO:
        if self._file is None:
            write_files({self._path.name: lambda: self._earlier}, self._path.parent)
            self._file = self._path.open("a", encoding="utf-8", errors="replace", newline="\n")
        return self._file
