"""The interface of every store of past runs: read all records, append some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from gatekeeper.history.record import Record


class Past(NamedTuple):
    """The contents of a store, and the errors while reading it.

    Attributes:
        records: The records, oldest first, each of them once.
        faults: Sentences about what could not be read.
        unread: Whether nothing could be read; the contents are then not known, which differs from
            an empty store.
        missing: The name of a store that does not exist yet.
    """

    records: tuple[Record, ...] = ()
    faults: tuple[str, ...] = ()
    unread: bool = False
    missing: str | None = None

    @property
    def notices(self) -> tuple[str, ...]:
        """Return the notices for the reader of the history."""
        return (*self.missing_notice, *self.faults)

    @property
    def missing_notice(self) -> tuple[str, ...]:
        """Return a sentence that says that there is no history yet; empty if there is one."""
        return () if self.missing is None else (f"{self.missing}: there is no history yet",)


class HistoryStore(Protocol):
    """Append-only. Reading never fails: unreadable parts are named in a notice and left out,
    because a damaged history must not block a pull request, nor stay unnoticed."""

    def read(self) -> Past:
        """Return everything that can be read."""
        ...

    def append(self, records: Sequence[Record]) -> int:
        """Add the records and return how many were new, by their ids.

        Raises UsageError and MeasurementError if nothing was added.
        """
        ...
