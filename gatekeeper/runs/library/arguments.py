"""What `check` and `run` take: the options of the command line, by the same names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from gatekeeper.errors import UsageError
from gatekeeper.reports.formats import Format

if TYPE_CHECKING:
    from gatekeeper.contract.values.change import Change
    from gatekeeper.git import Repository
    from gatekeeper.history.stores.store import HistoryStore


AnyPath = str | os.PathLike[str]
"""A path, relative to the current folder or absolute."""

ORDER_SEED = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteArguments:
    """What `check` and `run` share: the repository, the contracts, the reports, a recording, the
    order. Without `out`, no file is written, so an interrupted run cannot be resumed."""

    repo: Path
    contract: tuple[str, ...] = ()
    out: Path | None = None
    format: tuple[Format, ...] = ()
    history: str | None = None
    replay: Path | None = None
    resume: bool = False
    order_seed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckArguments(SuiteArguments):
    """What `check` takes."""

    base: str | None = None
    head: str | None = None
    worktree: bool = False
    cache: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArguments(SuiteArguments):
    """What `run` takes."""

    ref: str = "HEAD"
    batch: bool = False
    ray: str | None = None


def check_arguments(**given: Any) -> CheckArguments:
    """Return the arguments of `check`. Raises UsageError for values that exclude each other."""
    _require_one(given, "head", "worktree")
    return CheckArguments(**_suite(given))


def run_arguments(**given: Any) -> RunArguments:
    """Return the arguments of `run`. Raises UsageError for values that exclude each other."""
    _require_one(given, "batch", "ray")
    found = RunArguments(**_suite(given))
    if found.batch and found.out is None:
        raise UsageError("`batch` also needs `out`, the folder for the ids of the batches")
    return found


def _suite(given: dict[str, Any]) -> dict[str, Any]:
    _require_one(given, "resume", "order_seed")
    if given.get("resume") and given.get("out") is None:
        raise UsageError("`resume` also needs `out`, the folder of the unfinished run")
    seed = given.get("order_seed")
    if seed is not None and not ORDER_SEED.fullmatch(seed):
        raise UsageError(
            "`order_seed` must have 32 digits 0-9a-f; copy `order_seed` from an earlier result"
        )
    paths = [name for name in ("repo", "out", "replay", "cache") if given.get(name) is not None]
    return {
        **given,
        **{name: Path(given[name]) for name in paths},
        "contract": _several(given.get("contract", ())),
        "format": _formats(given.get("format", ())),
    }


def _formats(given: str | Sequence[str]) -> tuple[Format, ...]:
    found = _several(given)
    for name in found:
        if name not in get_args(Format):
            raise UsageError(f"format {name!r}: use one of {', '.join(get_args(Format))}")
    return cast(tuple[Format, ...], found)


def _several(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names; one name alone may come without a list."""
    return (given,) if isinstance(given, str) else tuple(given)


def _require_one(given: dict[str, Any], first: str, second: str) -> None:
    if given.get(first) and given.get(second):
        raise UsageError(f"`{first}` and `{second}` cannot be combined; use only one of them")


# What arguments name: a change, a history, files of answers, the folder for the reports.


def change_of(repository: Repository, base: str | None, head: str | None, worktree: bool) -> Change:
    """Return the change from `base` to `head`, or to the files of the work tree."""
    if worktree:
        return repository.worktree_change(base)
    return repository.change(base, head)


def history_of(location: str | None, repository: Repository) -> HistoryStore | None:
    """Return the history at the location, not yet read. Raises UsageError."""
    if location is None:
        return None
    from gatekeeper.history.stores.open import open_history

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
