"""Replaces files that people edit: all of them or none, and never a file by nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from gatekeeper.author.generation.unfinished_files import (
    PREFIX,
    record_replacements,
    remove_files,
)
from gatekeeper.errors import WriteError
from gatekeeper.reports.redact import environment_redactor


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
    descriptor, name = tempfile.mkstemp(prefix=PREFIX, dir=path.parent)
    os.close(descriptor)
    unfinished.callback(remove_files, Path(name))
    return Path(name)


def _put_back(path: Path, earlier: Path | None) -> None:
    with contextlib.suppress(OSError):
        if earlier is None:
            path.unlink()
        else:
            earlier.replace(path)
