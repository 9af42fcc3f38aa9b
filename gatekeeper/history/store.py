"""What every store of past runs can do, and how little that is: read all, append some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from gatekeeper.record import Record


class Past(NamedTuple):
    """What a store holds, oldest first, each record once; and what of it could not be read.
    `unread` says that nothing of it could: what is in it is not known, which is not nothing."""

    records: tuple[Record, ...] = ()
    notices: tuple[str, ...] = ()
    unread: bool = False


class HistoryStore(Protocol):
    """Append-only. Reading never fails: what cannot be read is named in a notice and left out,
    because a damaged history must not block a pull request, nor go unseen."""

    def read(self) -> Past:
        """Everything that can be read."""
        ...

    def append(self, records: Sequence[Record]) -> int:
        """How many were added: one that is there already, by its id, is not. Raises UsageError
        and MeasurementError where nothing was."""
        ...
