"""Reads and writes the file of the sample cache. sampling/cache.py says what is in it and why.

Neither reading nor writing ever stops a run: unusable entries are named in one notice, and measured
again. The file is replaced as a whole, so that a reader, or a killed process, finds the old one or
the new one.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from gatekeeper.sampling.cache import MOST_AGE, Entry, live_entries, read, written

MOST_BYTES = 20_000_000
"""The most bytes of a cache: some ten thousand pairs of short answers. The oldest entries are
removed first."""


class Recalled(NamedTuple):
    """The entries that may be used, by their plan, and notices about the others."""

    entries: Mapping[str, Entry]
    notices: tuple[str, ...] = ()


def read_cache(path: Path, key: bytes, now: datetime) -> Recalled:
    """Return the samples that earlier runs with the same keys measured in the last days.

    Never fails.
    """
    try:
        content = _content(path)
    except FileNotFoundError:
        return Recalled({})
    except OSError as error:
        return Recalled({}, (f"{path}: the cache is not used: {_reason(error)}",))
    sound: list[Entry] = []
    wrong: Counter[str] = Counter()
    for line in content.split(b"\n"):
        if not line.strip():
            continue
        try:
            sound.append(read(line, key, now))
        except ValueError as error:
            wrong[str(error)] += 1
    stands = live_entries(entry for entry in sound if entry.measured > now - MOST_AGE)
    if not wrong:
        return Recalled(stands)
    said = "; ".join(f"{reason}: {count}" for reason, count in wrong.most_common())
    left = "1 entry" if wrong.total() == 1 else f"{wrong.total()} entries"
    text = f"{path}: gatekeeper ignores {left} of the cache and measures again ({said})"
    return Recalled(stands, (text,))


def write_cache(path: Path, entries: Iterable[Entry], key: bytes) -> tuple[str, ...]:
    """Replace the file with these entries, only the newest if not all fit. Returns notices about an
    entry that is too large, and about a file that could not be written."""
    lines: list[bytes] = []
    notices: list[str] = []
    size = 0
    for entry in sorted(entries, key=lambda entry: entry.measured, reverse=True):
        line = written(entry, key) + b"\n"
        if len(line) > MOST_BYTES:
            notices.append(
                f"{path}: the answers of contract {entry.contract} do not fit into the cache, "
                f"because the answers have {len(line):,} bytes, and the cache may have at most "
                f"{MOST_BYTES:,} bytes"
            )
            continue
        size += len(line)
        if size > MOST_BYTES:
            break
        lines.append(line)
    try:
        _replace(path, b"".join(reversed(lines)))
    except OSError as error:
        notices.append(f"{path}: the cache could not be written: {_reason(error)}")
    return tuple(notices)


def _content(path: Path) -> bytes:
    # The checkout may hold anything of this name: a link is not followed, a pipe not waited for.
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(None, "not a file")
        if found.st_size > MOST_BYTES:
            raise OSError(None, f"larger than {MOST_BYTES:,} bytes")
        with os.fdopen(os.dup(file), "rb") as content:
            return content.read(MOST_BYTES)
    finally:
        os.close(file)


def _replace(path: Path, content: bytes) -> None:
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


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
