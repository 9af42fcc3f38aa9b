"""What the arguments name in a repository: the change, the history, an unfinished run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.errors import UsageError

if TYPE_CHECKING:
    from gatekeeper.contract.values.change import Change
    from gatekeeper.git import Repository
    from gatekeeper.history.store import HistoryStore
    from gatekeeper.runs.library.arguments import SuiteArguments
    from gatekeeper.runs.unfinished import UnfinishedRun


def change_of(repository: Repository, base: str | None, head: str | None, worktree: bool) -> Change:
    """Return the change from `base` to `head`, or to the files of the work tree."""
    if worktree:
        return repository.worktree_change(base)
    return repository.change(base, head)


def history_of(location: str | None, repository: Repository) -> HistoryStore | None:
    """Return the history at the location, not yet read. Raises UsageError."""
    if location is None:
        return None
    from gatekeeper.history.open import open_history

    return open_history(location, repository)


def require_history_folder(history: str | None) -> None:
    """Raise UsageError, before any call is made, if the history's file cannot be written."""
    if history is None or ":" in history:
        return
    file = Path(history)
    if file.is_dir() or not file.parent.is_dir():
        raise UsageError(f"--history {history}: name a file in an existing folder")


def unfinished_of(given: SuiteArguments, repository: Repository) -> UnfinishedRun | None:
    """Return the unfinished run to resume; None if none is to be resumed. Raises UsageError."""
    if not given.resume or given.out is None:
        return None
    from gatekeeper.runs.unfinished import FILE, read_unfinished

    return read_unfinished(given.out / FILE, tracked_by(repository))


def tracked_by(repository: Repository) -> Callable[[Path], bool]:
    """Return a function that says whether git tracks a file."""
    from gatekeeper.history.tampering import paths_in_repository

    root = repository.root or Path()
    return lambda path: repository.tracks(paths_in_repository(str(path), root))
