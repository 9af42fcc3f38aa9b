"""Refuses a change that modifies the history that applies to it."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from gatekeeper.contract.policies.policy import NO_HISTORY
from gatekeeper.contract.values.change import Change
from gatekeeper.errors import UsageError


def refuse_own_history(location: str, change: Change) -> None:
    """Refuse a history file that the change itself writes: its runs could refill an error budget.

    Args:
        location: The location of the history; a path is relative to the root of the repository.
        change: The change to test. The checkout may hold the files of its head.

    Raises:
        UsageError: The change adds, edits or removes the file, or a link that leads to it.
    """
    if location == NO_HISTORY or location.startswith("branch:") or "://" in location:
        return
    revisions = (change.base, change.head)
    for name in _read_with(posixpath.normpath(location)):
        found = [revision.entries.get(name) for revision in revisions]
        if any(entry is not None and entry.kind != "file" for entry in found):
            raise UsageError(
                f"history {location}: {name} is a link or a submodule, so a pull request could "
                f"change the file that {name} leads to; give the path of the file itself"
            )
        if found[-1] not in found[:-1]:
            raise UsageError(
                f"history {location}: the change modifies {name}, but a change must not write the "
                "history of its own error budget; remove this file from the change"
            )


def _read_with(path: str) -> Iterator[str]:
    """Return the paths that decide what is read: the file, links that lead to it, and files that
    SQLite reads too."""
    yield path
    yield from (f"{path}{suffix}" for suffix in ("-journal", "-wal", "-shm"))
    yield from map(str, PurePosixPath(path).parents)


def paths_in_repository(location: str, root: Path) -> tuple[str, ...]:
    """Return the paths from the repository's root that a location on this machine may be.

    There are two if a link leads to it, and none if it lies outside of the repository.
    """
    places = {Path(os.path.abspath(location)), Path(os.path.realpath(location))}  # noqa: PTH100
    roots = {Path(os.path.abspath(root)), root.resolve()}  # noqa: PTH100
    return tuple(
        sorted(
            {
                place.relative_to(top).as_posix()
                for place in places
                for top in roots
                if place.is_relative_to(top)
            }
        )
    )
