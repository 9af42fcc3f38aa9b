"""The file of the sample cache. What is in it and why: sampling/cache.py.

Neither reading nor writing ever stops a run: what cannot be used is named in one notice, and is
then measured. The file is replaced as a whole, so that whoever reads or is killed meanwhile
finds the old one or the new one. Of two runs that write at once on one machine the last counts.
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

from gatekeeper.sampling.cache import LONGEST_LINE, MOST_AGE, Pair, read, written

MOST_BYTES = 20_000_000
"""Some ten thousand pairs of short answers. The oldest make room."""


class Recalled(NamedTuple):
    """The pairs that may be used, by their key, and what is to be said of others."""

    pairs: Mapping[str, Pair]
    notices: tuple[str, ...] = ()


def read_cache(path: Path, key: bytes, now: datetime) -> Recalled:
    """What earlier runs with the same keys measured in the last days. Never fails."""
    try:
        content = _content(path)
    except FileNotFoundError:
        return Recalled({})
    except OSError as error:
        return Recalled({}, (f"{path}: the cache is not used: {_reason(error)}",))
    pairs: dict[str, Pair] = {}
    wrong: Counter[str] = Counter()
    for line in content.split(b"\n"):
        if not line.strip():
            continue
        try:
            pair = read(line, key, now)
        except ValueError as error:
            wrong[str(error)] += 1
            continue
        known = pairs.get(pair.key)
        # What was drawn first stands.
        if pair.measured > now - MOST_AGE and (known is None or pair.measured < known.measured):
            pairs[pair.key] = pair
    if not wrong:
        return Recalled(pairs)
    said = ", ".join(f"{count} {reason}" for reason, count in wrong.most_common())
    entries = "1 entry is" if wrong.total() == 1 else f"{wrong.total()} entries are"
    return Recalled(pairs, (f"{path}: {entries} left out of the cache and measured anew: {said}",))


def write_cache(path: Path, pairs: Iterable[Pair], key: bytes) -> tuple[str, ...]:
    """Put the pairs in the place of what is there, the newest where not all fit. Returns what is
    to be said where that could not be done."""
    lines: list[bytes] = []
    size = 0
    for pair in sorted(pairs, key=lambda pair: pair.measured, reverse=True):
        line = written(pair, key).encode() + b"\n"
        if len(line) > LONGEST_LINE:
            continue
        size += len(line)
        if size > MOST_BYTES:
            break
        lines.append(line)
    try:
        _replace(path, b"".join(reversed(lines)))
    except OSError as error:
        return (f"{path}: the cache could not be written: {_reason(error)}",)
    return ()


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
