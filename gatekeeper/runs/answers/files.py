"""Reads and writes files of answers, whatever stands in their place. Nothing here follows a link or
waits for a pipe, because a checkout may hold anything of any name."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from gatekeeper.errors import UsageError

MOST_BYTES = 1_000_000_000
UNFINISHED = "unfinished.jsonl"


def read_own_file(path: Path, most: int = MOST_BYTES) -> bytes:
    """Return the content of a file that an earlier run wrote. Raises OSError, also for a link, a
    folder, and a file of more than `most` bytes."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(None, "not a file")
        if found.st_size > most:
            raise OSError(None, f"larger than {most:,} bytes")
        with os.fdopen(os.dup(file), "rb") as opened:
            return opened.read(most)
    finally:
        os.close(file)


def replace_file(path: Path, content: bytes) -> None:
    """Replace the file as a whole, so that a reader, or a killed process, finds the old one or the
    new one. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(file, "wb") as new:
            new.write(content)
            new.flush()
            os.fsync(new.fileno())
            # The step that keeps the file may run as somebody else.
            os.fchmod(new.fileno(), 0o644)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


def write_line(file: int, line: bytes, *, sync: bool = False) -> None:
    """Append a whole line to an open file. Raises OSError if a part of it is lost, or the file is
    no longer there."""
    if not os.fstat(file).st_nlink:
        raise OSError(None, "somebody deleted the file")
    if os.write(file, line) != len(line):
        raise OSError(None, "no space left for a whole line")
    if sync:
        os.fsync(file)


def lock(file: int) -> bool:
    """Lock an open file until it is closed; return False if another process has locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True


def is_locked(path: Path) -> bool:
    """Return whether another process is writing the file."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return not lock(file)
    finally:
        os.close(file)


def names_batches(folder: Path) -> bool:
    """Return whether a run in batches has not ended in the folder."""
    with suppress(OSError):
        return _INTENDED in read_own_file(folder / UNFINISHED)
    return False


_INTENDED = b'\n{"intended":'
"""How a line begins that notes a batch. In the text of an answer, the quotes are escaped."""


def refuse_unfinished_batches(folder: Path) -> None:
    """Raise UsageError if a run in batches has not ended in the folder: another run would remove
    the answers that it has collected, and ask again what its batches answer."""
    if names_batches(folder):
        raise UsageError(
            f"{folder / UNFINISHED}: an earlier run in batches is unfinished, and the provider "
            "bills the batches of that run in any case; collect the answers with "
            "`gatekeeper run --batch --resume`, use another --out, or delete this file"
        )


def forget_unfinished(path: Path | None) -> None:
    """Delete the file of a run that has ended, if it has one. What cannot be deleted is left, and
    so is what another run is writing."""
    if path and not is_locked(path):
        with suppress(OSError):
            path.unlink(missing_ok=True)
