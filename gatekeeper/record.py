"""What is remembered of a run: one record for each contract measured on the default branch.

Small on purpose: counts, digests and intervals, and no output of a model. Objectives over a
window, error budgets, drift and trends are all made from records and from nothing else.
None always means "not known", never zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from gatekeeper.result import Waiver
from gatekeeper.stats.interval import ConfidenceInterval

Trigger = Literal["push", "schedule", "manual"]


@dataclass(frozen=True, slots=True)
class Count:
    """`failed` of `events`: samples that failed a check, calls slower than an objective allows."""

    events: int
    failed: int


@dataclass(frozen=True, slots=True)
class Record:
    """One contract in one run.

    `id` is the same for the same contract of the same run, however often it arrives.
    `samples` were judged and `failed` of them failed; `calls` had an answer or not, `failed_calls`
    had none. `objectives` counts, by objective, the events that spend its budget: such as
    `success_rate`, `latency_p95_ms` (slower than its target), `checks.NAME`, `repair_rate`, and
    `categories.NAME.OBJECTIVE`. `fixtures` maps a short digest of each fixture to its samples.
    `fingerprints` is what the provider said answered, sorted; empty where it says nothing.
    Latencies in milliseconds, by quantile (`p50`, `p95`); costs in US dollars.
    """

    id: str
    time: datetime
    trigger: Trigger
    sha: str
    contract: str
    model: str
    version: str
    samples: int
    failed: int
    interval: ConfidenceInterval | None
    calls: int
    failed_calls: int
    prompt_digest: str | None = None
    contract_digest: str | None = None
    fingerprints: tuple[str, ...] = ()
    objectives: Mapping[str, Count] = field(default_factory=dict)
    checks: Mapping[str, Count] = field(default_factory=dict)
    categories: Mapping[str, Count] = field(default_factory=dict)
    fixtures: Mapping[str, Count] = field(default_factory=dict)
    repaired: int | None = None
    latency_ms: Mapping[str, float] = field(default_factory=dict)
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    waiver: Waiver | None = None

    @property
    def success_rate(self) -> float | None:
        """The share of judged samples that passed; None where none was judged."""
        return 1 - self.failed / self.samples if self.samples else None
