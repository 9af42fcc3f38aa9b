"""Error budgets and burn rates, as in Google's SRE books.

The budget is (1 - S) x events for an objective S; the burn rate is the observed failure
rate divided by (1 - S): 1 spends the budget exactly within the window. Sources: Beyer, B.
et al. (2018), The Site Reliability Workbook, chapters 2 and 5.

An objective of exactly 1 allows no failure: its budget is 0, the first failure overspends
it (`left` is negative), and a burn rate would divide by zero. It is None there, also where
nothing failed: 0/0 is not zero. `ErrorBudget.spent_up` stays meaningful.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from gatekeeper.slo.objectives import parse_window

BURN_WINDOWS = ("1d", "7d")
"""Shown beside the objective's own window, where they are shorter than it."""

CLOCK_SKEW = timedelta(days=1)
"""An event up to this far ahead happened now, by a clock that is fast; a later one is wrong."""


@dataclass(frozen=True, slots=True)
class Event:
    """One run on the default branch: `failed` of `events` samples failed at `time`."""

    time: datetime
    events: int
    failed: int

    def __post_init__(self) -> None:
        if self.time.tzinfo is None:
            raise ValueError(f"time: must have a time zone, got {self.time.isoformat()}")
        if not 0 <= self.failed <= self.events:
            raise ValueError(
                f"failed: must lie from 0 to events = {self.events}, got {self.failed}"
            )


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """`budget`, `spent` and `left` count failed events; `left` may be negative.

    `burn_rate` maps a window such as `1d` to its rate, None where it saw no event or the
    objective is 1; `projected_burn_rate` is what merging head would burn, `(low, high)` from
    head's interval.
    """

    window: str
    events: int
    budget: float
    spent: int
    left: float
    burn_rate: Mapping[str, float | None] = field(default_factory=dict)
    projected_burn_rate: tuple[float, float] | None = None

    @property
    def spent_up(self) -> bool | None:
        """Whether failures took all of the budget; None where the window saw no event."""
        if self.events == 0:
            return None
        return self.spent > 0 and self.left <= 0


def error_budget(
    events: Iterable[Event],
    objective: float,
    window: str,
    now: datetime,
    head_interval: tuple[float, float] | None = None,
) -> ErrorBudget:
    """The budget over the `window` that ends at `now`: after its start, up to and with `now`.
    An event later than that by no more than `CLOCK_SKEW` counts as one of now.

    `head_interval` is the interval of head's success rate, `(low, high)`.
    """
    if now.tzinfo is None:
        raise ValueError(f"now: must have a time zone, got {now.isoformat()}")
    length = parse_window(window)
    allowed = _allowed(objective)
    kept = [event for event in events if now - length < event.time <= now + CLOCK_SKEW]
    total, spent = _count(kept)
    budget = allowed * total
    shorter = [name for name in BURN_WINDOWS if parse_window(name) < length]
    return ErrorBudget(
        window=window,
        events=total,
        budget=float(budget),
        spent=spent,
        left=float(budget - spent),
        burn_rate={
            name: _burn(*_count(e for e in kept if e.time > now - span), allowed)
            for name, span in _spans(*shorter, window)
        },
        projected_burn_rate=_projected(head_interval, allowed),
    )


def _allowed(objective: float) -> Decimal:
    """1 - S as the author wrote S: in binary 1 - 0.95 is more than 0.05, and a budget that
    is spent to the last event would seem to have something left."""
    if not 0 <= objective <= 1:
        raise ValueError(f"objective: must lie between 0 and 1, got {objective!r}")
    return 1 - Decimal(str(objective))


def _spans(*windows: str) -> list[tuple[str, timedelta]]:
    return [(window, parse_window(window)) for window in windows]


def _count(events: Iterable[Event]) -> tuple[int, int]:
    total = failed = 0
    for event in events:
        total += event.events
        failed += event.failed
    return total, failed


def _burn(events: int, failed: int, allowed: Decimal) -> float | None:
    if events == 0 or allowed == 0:
        return None
    return float(failed / (allowed * events))


def _projected(
    head_interval: tuple[float, float] | None, allowed: Decimal
) -> tuple[float, float] | None:
    if head_interval is None:
        return None
    low, high = head_interval
    if not 0 <= low <= high <= 1:
        raise ValueError(f"head_interval: must be low <= high within 0 to 1, got {head_interval}")
    if allowed == 0:
        return None
    share = float(allowed)
    return (1 - high) / share, (1 - low) / share
