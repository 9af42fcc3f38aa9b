"""A history in a file of this machine: one JSON line a record, growing by whole lines only."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.history.record import Record
from gatekeeper.history.stores.lines import LARGEST_FILE, read_past, to_lines
from gatekeeper.history.stores.store import Past


class FileHistory:
    """Implements `HistoryStore`. The file and its folder are made with the first record."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Past:
        try:
            if self._path.stat().st_size > LARGEST_FILE:
                text = (
                    f"{self._path}: the file has more than {LARGEST_FILE:,} "
                    "bytes; for so many runs, use a history of the form NAME.sqlite"
                )
                return Past(faults=(text,), unread=True)
            content = self._path.read_bytes()
        except FileNotFoundError:
            return Past(missing=str(self._path))
        except OSError as error:
            text = f"{self._path}: the history cannot be read ({error.strerror})"
            return Past(faults=(text,), unread=True)
        return read_past([(str(self._path), content)])

    def append(self, records: Sequence[Record]) -> int:
        """Append the lines in one write, which concurrent writers do not split; they are on disk
        when this returns. A last line that an earlier crash cut short is closed first."""
        known = {record.id for record in self.read().records}
        new = [record for record in records if record.id not in known]
        if not new:
            return 0
        try:
            _append(self._path, to_lines(new))
        except (FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
            raise UsageError(
                f"{self._path}: the history cannot be written ({error.strerror}); "
                "choose a file that you can write"
            ) from error
        except OSError as error:
            raise MeasurementError(
                f"{self._path}: the history could not be written ({error.strerror})"
            ) from error
        return len(new)


def _append(path: Path, lines: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            lines = b"\n" + lines
        if os.write(file, lines) != len(lines):
            raise OSError(None, "only a part of the record was written; the disk may be full")
        os.fsync(file)
    finally:
        os.close(file)
