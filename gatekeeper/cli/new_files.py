"""Writes files that do not exist yet."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from gatekeeper.errors import WriteError


def write_new_files(texts: Mapping[Path, str], *, make_folders: bool = False) -> None:
    """Write the files: all of them, or none if one exists already or cannot be written. Folders
    have to exist unless `make_folders`. Raises WriteError."""
    with ExitStack() as unfinished:
        for path, text in texts.items():
            try:
                if make_folders:
                    path.parent.mkdir(parents=True, exist_ok=True)
                with path.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
                    unfinished.callback(partial(path.unlink, missing_ok=True))
                    file.write(text)
            except OSError as error:
                raise WriteError(path, error) from error
        unfinished.pop_all()
