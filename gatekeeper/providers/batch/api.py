"""What the batch interfaces of OpenAI and Anthropic have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

from gatekeeper.errors import CallFailed


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One request of a batch: its name in the batch, and the body of the same request alone."""

    name: str
    body: bytes


@dataclass(frozen=True, slots=True)
class BatchState:
    """How far a batch is. `places` are the addresses of its results once it has ended. `fault` says
    why it was not begun at all, and so is not billed. `done` counts the requests that have ended,
    if the provider says so."""

    ended: bool
    places: tuple[str, ...] = ()
    fault: str | None = None
    done: int | None = None


def count_done(state: Mapping[str, Any], *kinds: str) -> int | None:
    """Return how many requests of a batch have ended in one of these ways; None if the provider
    does not say."""
    counts = state.get("request_counts")
    found = [counts.get(kind) for kind in kinds] if isinstance(counts, Mapping) else [None]
    known = [number for number in found if type(number) is int and number >= 0]
    return sum(known) if len(known) == len(found) else None


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What came of one request: an HTTP status and a body as of the same request alone; or `fault`,
    if it was never answered, and whether asking again may help."""

    name: str
    status: int = 0
    body: Any = None
    fault: str | None = None
    retryable: bool = False


class SubmissionLost(Exception):
    """The provider got the batch and its answer was lost: it may have begun or not."""

    def __init__(self, failure: CallFailed) -> None:
        super().__init__(str(failure))
        self.failure = failure


class BatchUnknown(Exception):
    """The provider does not say whether it has a batch: it may have begun or not."""


class BatchApi(Protocol):
    """The batch interface of one provider, for requests that go to one address with one key.

    All raise CallFailed if the provider does not answer.
    """

    async def submit(self, items: Sequence[BatchItem], key: str) -> str:
        """Submit a batch and return its id. Raises SubmissionLost."""
        ...

    async def find(self, key: str) -> str | None:
        """Return the id of the batch that was submitted with the key; None if there is none. Raises
        BatchUnknown."""
        ...

    async def state(self, batch: str) -> BatchState:
        """Return how far the batch is."""
        ...

    def read_result(self, row: Mapping[str, Any]) -> ItemResult | None:
        """Read one line of the results; None if it is none."""
        ...

    def how_to_cancel(self, batch: str) -> str:
        """Return the request that cancels the batch."""
        ...


def unknown_status(batch: str, status: object) -> CallFailed:
    """Return the failure of a batch that goes on, or has ended, in a way that is not known. It may
    be billed, so nothing of it is asked again."""
    said = f"the batch {batch} has the status {str(status)[:40]!r}, but no results"
    return CallFailed(said, fatal=True, billable=True)


def quote_id(found: object) -> str:
    """Return an id for use in an address. Raises CallFailed for what is none."""
    return quote(read_id(found), safe="")


def read_id(found: object) -> str:
    """Return the id of a batch or a file. Raises CallFailed for anything else."""
    if not isinstance(found, str) or not _ID.fullmatch(found):
        raise CallFailed("the provider's answer contains no id", billable=True)
    return found


_ID = re.compile(r"[!-~]{1,200}")


# The batches of a run that has not ended, so that a killed run finds them again. A record is kept
# before a batch is submitted, and another one the moment that its id is known.


@dataclass(slots=True)
class KnownBatch:
    """A batch that was submitted, or was about to be: then `batch`, its id, is None. `names` are
    those of its requests."""

    key: str
    model: str
    names: frozenset[str]
    batch: str | None = None


class BatchJournal:
    """Keeps records with `note`, which raises MeasurementError if it cannot, and says in messages
    that they are in `place`. `known` are the batches of earlier processes and of this one."""

    def __init__(self, known: Iterable[KnownBatch] = ()) -> None:
        self.known = list(known)
        self.note: Callable[[Mapping[str, Any]], object] = lambda _: None
        self.place = "the file of answers"

    def intend(self, key: str, model: str, names: Sequence[str]) -> None:
        """Note a batch that is about to be submitted."""
        self.note({"intended": key, "model": model, "names": list(names)})
        self.known.append(KnownBatch(key, model, frozenset(names)))

    def submitted(self, key: str, batch: str) -> None:
        """Note the id of the batch."""
        self.note({"submitted": key, "batch": batch})
        next(found for found in self.known if found.key == key).batch = batch
