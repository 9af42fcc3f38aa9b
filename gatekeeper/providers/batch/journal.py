"""The batches of a run that has not ended, in a file, so that a killed run finds them again.

A line is written before a batch is submitted, and another one the moment that its id is known.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gatekeeper.errors import MeasurementError, UsageError

MOST_BYTES = 200_000_000


@dataclass(slots=True)
class KnownBatch:
    """A batch that was submitted, or was about to be: then `batch`, its id, is None. `names` are
    those of its requests."""

    key: str
    model: str
    names: frozenset[str]
    batch: str | None = None


class BatchJournal:
    """Writes the file.

    Raises MeasurementError if it cannot, so that nothing is submitted that a kill would lose.
    """

    def __init__(self, path: Path, known: Sequence[KnownBatch] = ()) -> None:
        self.path = path
        self.known = list(known)

    def intend(self, key: str, model: str, names: Sequence[str]) -> None:
        """Note a batch that is about to be submitted."""
        self._append({"intended": key, "model": model, "names": list(names)})
        self.known.append(KnownBatch(key, model, frozenset(names)))

    def submitted(self, key: str, batch: str) -> None:
        """Note the id of the batch."""
        self._append({"submitted": key, "batch": batch})
        next(found for found in self.known if found.key == key).batch = batch

    def _append(self, record: Mapping[str, Any]) -> None:
        # An earlier process may have left a line that was cut short.
        line = b"\n" + json.dumps(record).encode() + b"\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self.path, flags, 0o644)
            try:
                written = os.write(file, line)
                os.fsync(file)
            finally:
                os.close(file)
        except OSError as error:
            raise MeasurementError(f"{self.path}: cannot be written: {error.strerror}") from error
        if written != len(line):
            raise MeasurementError(f"{self.path}: cannot be written, because no space is left")


def read_journal(path: Path) -> BatchJournal:
    """Read the file; an empty journal if there is none. A line that was cut short is left out.
    Raises UsageError."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(file, "rb") as opened:
            content = opened.read(MOST_BYTES)
    except FileNotFoundError:
        return BatchJournal(path)
    except OSError as error:
        raise UsageError(f"--resume: {path} cannot be read: {error.strerror}") from error
    known: dict[str, KnownBatch] = {}
    for line in filter(None, content.split(b"\n")):
        try:
            record = json.loads(line)
            if "intended" in record:
                key, names = str(record["intended"]), frozenset(map(str, record["names"]))
                known[key] = KnownBatch(key, str(record["model"]), names)
            else:
                known[str(record["submitted"])].batch = str(record["batch"])
        except (KeyError, TypeError, ValueError, RecursionError):
            continue
    return BatchJournal(path, list(known.values()))
