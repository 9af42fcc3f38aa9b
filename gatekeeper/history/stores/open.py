"""Opens a store from the string that names its location.

| location | store |
| --- | --- |
| `branch:gatekeeper-data` | a branch of the repository's remote that holds nothing else |
| `runs.jsonl` | a file |
| `runs.sqlite`, `runs.db` | an SQLite file |
| `postgresql://user@host/name` | PostgreSQL; needs the extra `postgres` |
"""

from __future__ import annotations

import errno
import importlib.util
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gatekeeper.errors import UsageError
from gatekeeper.history.stores.branch_store import BranchHistory
from gatekeeper.history.stores.file_store import FileHistory
from gatekeeper.history.stores.store import HistoryStore

if TYPE_CHECKING:
    from gatekeeper.git.data_branch import DataBranch

BRANCH = "branch:"
DATABASE = "postgresql://"
_LINES = ".jsonl"
_SQLITE = (".sqlite", ".db")
KINDS = "branch:NAME, NAME.jsonl, NAME.sqlite or postgresql://USER@HOST/NAME"


class HasBranches(Protocol):
    """A repository whose remote can keep data."""

    def data_branch(self, name: str) -> AbstractContextManager[DataBranch]:
        """Return the store on a branch. Raises UsageError for a name that no branch can have."""
        ...


def open_history(location: str, repository: HasBranches, folder: Path = Path()) -> HistoryStore:
    """Return the store at `location`; a path is relative to `folder`.

    Nothing is read, created or connected yet. Raises UsageError for an invalid location.
    """
    if location.startswith(BRANCH):
        return _branch(location.removeprefix(BRANCH), repository)
    path = file_of(location, folder)
    if path is None:
        return _postgresql(location)
    return FileHistory(path) if path.suffix == _LINES else _sqlite(path)


def file_of(location: str, folder: Path = Path(), given_as: str = "history") -> Path | None:
    """Return the file of a history, which need not exist; None for a branch and a database.

    Raises UsageError for an invalid location, which names the key or option that it was `given_as`.
    """
    if not is_file(location):
        return None
    path = folder / location
    if "://" in location or path.suffix not in (_LINES, *_SQLITE):
        raise UsageError(f"{given_as} {_shown(location)}: not a valid location; give {KINDS}")
    try:
        path.lstat()
    except ValueError as error:
        raise UsageError(f"{given_as} {_shown(location)}: {error}; give {KINDS}") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise UsageError(
                f"{given_as} {_shown(location)}: the name is too long; give a shorter name"
            ) from None
    return path


def require_history(location: str, option: str) -> None:
    """Refuse a file that does not exist, for commands that only read: a misspelt name must not look
    like a history without runs. Raises UsageError.

    A branch or a database may hold no record yet: the first run makes them.
    """
    path = file_of(location, given_as=option)
    if path is None or path.exists():
        return
    raise UsageError(
        f"{option} {_shown(location)}: the file does not exist; `gatekeeper run --history` "
        "creates it"
    )


def is_file(location: str) -> bool:
    """Return whether the location is that of a file, and not of a branch or a database."""
    return not location.startswith((BRANCH, DATABASE))


def _branch(name: str, repository: HasBranches) -> HistoryStore:
    repository.data_branch(name)  # refuses what is no name of a branch
    return BranchHistory(name, lambda: repository.data_branch(name))


def _sqlite(path: Path) -> HistoryStore:
    from sqlalchemy import URL

    from gatekeeper.history.stores.database_store import DatabaseHistory

    return DatabaseHistory(URL.create("sqlite", database=str(path)), str(path))


def _postgresql(location: str) -> HistoryStore:
    if importlib.util.find_spec("psycopg") is None:
        raise UsageError(
            "a history in PostgreSQL needs a driver; run `pip install 'gatekeeper[postgres]'`"
        )
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    from gatekeeper.history.stores.database_store import DatabaseHistory

    try:
        url = make_url(location)
    except (ArgumentError, ValueError):
        raise UsageError(
            "history postgresql://…: not an address; write "
            "postgresql://USER@HOST/NAME, and set the password in the variable "
            "PGPASSWORD"
        ) from None
    shown = url.set(query={}).render_as_string(hide_password=True)
    return DatabaseHistory(url.set(drivername="postgresql+psycopg"), shown)


def _shown(location: str) -> str:
    """Return the address without a possible password."""
    return repr(location if "@" not in location else location.rsplit("@", 1)[1])
