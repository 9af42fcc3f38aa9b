"""Replaces files that people edit: all of them or none, and never a file by nothing.

While several files are replaced, a record beside them says which. The next run finds it: each file
that is still as it was before gets its new text, which is on the disk already. A record is data
that anybody can commit, so it only counts for files that the run writes anyway.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from gatekeeper.errors import WriteError
from gatekeeper.reports.redact import environment_redactor

_PREFIX = ".gatekeeper."
"""What the names of temporary files begin with."""
_RECORD = ".gatekeeper.unfinished."
_MOST_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class _Replacement:
    """A file that is replaced: its path from the root, the name of the temporary file in its
    folder, and the digests of both texts; `before` is None if there was no file."""

    path: str
    temporary: Annotated[str, Field(pattern=r"^\.gatekeeper\.\w+$")]
    before: str | None
    after: str


def record_replacements(ready: Mapping[Path, Path], root: Path) -> Path:
    """Write which files are replaced by which temporary files, and return the record's path. Raises
    WriteError."""
    rows = [
        _Replacement(
            path.relative_to(root).as_posix(),
            temporary.name,
            _digest(path),
            _digest(temporary) or "",
        )
        for path, temporary in ready.items()
    ]
    try:
        descriptor, name = tempfile.mkstemp(prefix=_PREFIX, dir=root)
        record = root / f"{_RECORD}{Path(name).name.removeprefix(_PREFIX)}.json"
        with contextlib.ExitStack() as unfinished:
            unfinished.callback(os.unlink, name)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(_records().dump_json(rows).decode())
            os.rename(name, record)  # noqa: PTH104  # whole or not at all
            unfinished.pop_all()
    except OSError as error:
        raise WriteError(root, error) from error
    return record


def finish_replacements(root: Path, paths: Collection[str]) -> tuple[str, ...]:
    """Finish what a killed process began to write to files of these paths, and return sentences
    about it. Files that were changed since stay as they are."""
    said: list[str] = []
    for record in sorted(root.glob(f"{_RECORD}*.json")):
        rows = _read(record)
        if rows and {row.path for row in rows} <= set(paths):
            done = [row.path for row in rows if _finish(row, root)]
            said.append(_sentence(done, [row.path for row in rows if row.path not in done]))
            remove_files(record, *((root / row.path).parent / row.temporary for row in rows))
    return tuple(said)


def _sentence(finished: Sequence[str], kept: Sequence[str]) -> str:
    parts = ["An earlier run was interrupted while it wrote its files."]
    if finished:
        parts.append(
            f"These files now have the text of the interrupted run: {', '.join(finished)}."
        )
    if kept:
        parts.append(
            "These files changed after the interruption, so gatekeeper did not replace them: "
            f"{', '.join(kept)}."
        )
    return " ".join(parts)


def _finish(row: _Replacement, root: Path) -> bool:
    """Return whether the file has its new text now."""
    path = root / row.path
    temporary = path.parent / row.temporary
    now = _digest(path)
    if now == row.after:
        return True
    if now != row.before or temporary.is_symlink() or _digest(temporary) != row.after:
        return False
    with contextlib.suppress(OSError):
        temporary.replace(path)
        return True
    return False


def _read(record: Path) -> Sequence[_Replacement]:
    """Return what a record says; nothing if it is none."""
    try:
        if record.is_symlink() or record.stat().st_size > _MOST_BYTES:
            return ()
        return _records().validate_json(record.read_bytes())
    except (OSError, ValueError):
        return ()


@cache
def _records() -> TypeAdapter[list[_Replacement]]:
    return TypeAdapter(list[_Replacement])


def _digest(path: Path) -> str | None:
    """Return the digest of a file; None if there is none."""
    try:
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def remove_files(*paths: Path) -> None:
    """Remove what can be removed; a file that is gone already is no error."""
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink()


def replace_files(texts: Mapping[str, str], root: Path) -> None:
    """Write the texts to their paths below `root`, without secrets of the environment.

    Every text is on the disk before the first file is replaced. If a replacement fails or is
    interrupted, all are undone. A process that is killed between two of them leaves each file as it
    was or as it is to be, and `finish_replacements` makes them all as they are to be.

    Raises WriteError.
    """
    redact = environment_redactor()
    with contextlib.ExitStack() as unfinished:
        ready = {
            root / path: _write_beside(root / path, redact.text(text), unfinished)
            for path, text in texts.items()
        }
        earlier = {path: _write_copy(path, unfinished) for path in ready}
        if len(ready) > 1:
            unfinished.callback(remove_files, record_replacements(ready, root))
        done: list[Path] = []
        for path, temporary in ready.items():
            try:
                temporary.replace(path)
            except BaseException as error:  # also Ctrl-C, which may come just after the replacement
                for other in (*done, path):
                    _put_back(other, earlier[other])
                if isinstance(error, OSError):
                    raise WriteError(path, error) from error
                raise
            done.append(path)


def _write_beside(path: Path, text: str, unfinished: contextlib.ExitStack) -> Path:
    """Write a finished temporary file in the same folder, so that a rename puts it in place."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(path.parent, error) from error
    try:
        temporary = _temporary(path, unfinished)
        temporary.write_text(text, "utf-8", errors="replace", newline="\n")
        temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
    except OSError as error:
        raise WriteError(path, error) from error
    return temporary


def _write_copy(path: Path, unfinished: contextlib.ExitStack) -> Path | None:
    """Copy what is at the path now; None if nothing is."""
    if not path.exists():
        return None
    try:
        copy = _temporary(path, unfinished)
        shutil.copy2(path, copy)
    except OSError as error:
        raise WriteError(path, error) from error
    return copy


def _temporary(path: Path, unfinished: contextlib.ExitStack) -> Path:
    descriptor, name = tempfile.mkstemp(prefix=_PREFIX, dir=path.parent)
    os.close(descriptor)
    unfinished.callback(remove_files, Path(name))
    return Path(name)


def _put_back(path: Path, earlier: Path | None) -> None:
    with contextlib.suppress(OSError):
        if earlier is None:
            path.unlink()
        else:
            earlier.replace(path)
