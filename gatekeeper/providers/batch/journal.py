"""The batches of a run that has not ended, so that a killed run finds them again.

A record is kept before a batch is submitted, and another one the moment that its id is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


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
