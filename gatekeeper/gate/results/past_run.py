"""What the history has of earlier runs, as a part of a result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.objectives.error_budget import Event


@dataclass(frozen=True, slots=True)
class PastRun:
    """The record of one contract in an earlier run on the default branch.

    `failed` of `samples` evaluated samples failed; `events` are those of the error budgets, by
    objective.
    """

    contract: str
    time: datetime
    sha: str
    samples: int
    failed: int
    interval: ConfidenceInterval | None
    events: Mapping[str, Event] = field(default_factory=dict)
    fixtures: int = 0
    selftest: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """How often the gate blocked changes that were made up (gate/selftest.py)."""
    prompt_digest: str | None = None

    @property
    def success_rate(self) -> float | None:
        """Return the share of samples that passed; None if nothing was evaluated."""
        return 1 - self.failed / self.samples if self.samples else None
