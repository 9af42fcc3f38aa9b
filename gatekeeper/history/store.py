"""What every store of past runs can do, and how little that is: read all, append some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from gatekeeper.errors import GatekeeperError
from gatekeeper.gate.result import GateResult
from gatekeeper.history.record import Record, Trigger, records_of

NOT_BEGUN = "there is no history yet"


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


def remember(store: HistoryStore, result: GateResult, trigger: Trigger) -> GateResult:
    """The result, its counts added to the store. That they could not be is said, and changes no
    verdict; so is the begin of a history, in the place of the notice that there is none."""
    try:
        added = store.append(records_of(result, trigger))
    except GatekeeperError as error:
        notice = f"This run is missing in the history: {error}."
        return replace(result, notices=(*result.notices, notice))
    if not added:
        return result
    return replace(result, notices=tuple(_begun(notice, added) for notice in result.notices))


def _begun(notice: str, added: int) -> str:
    name, _, said = notice.rpartition(": ")
    if said != NOT_BEGUN:
        return notice
    records = f"{added:,} {'record' if added == 1 else 'records'}"
    return f"The history {name} begins with this run: {records} added."
