"""What arguments name: a change, a history, files of answers, the folder for the reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.errors import UsageError

if TYPE_CHECKING:
    from gatekeeper.contract.values.change import Change
    from gatekeeper.git import Repository
    from gatekeeper.history.store import HistoryStore


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


def tracked_by(repository: Repository) -> Callable[[Path], bool]:
    """Return a function that says whether git tracks a file."""
    from gatekeeper.history.tampering import paths_in_repository

    root = repository.root or Path()
    return lambda path: repository.tracks(paths_in_repository(str(path), root))


def require_writable(out: Path | None, models: Iterable[str], replay: Path | None) -> None:
    """Raise WriteError if a model is to be called and the reports could not be written to `out`.

    Recordings cost nothing: their result is shown even if it cannot be written.
    """
    from gatekeeper.contract.files.references import recording_path
    from gatekeeper.reports import write

    if out is not None and replay is None and any(recording_path(m) is None for m in models):
        write.require_writable(out)
