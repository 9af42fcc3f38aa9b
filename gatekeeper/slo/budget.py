"""Error budgets and burn rates, as in Google's SRE books.

The budget is (1 - S) x events for an objective S; the burn rate is the observed failure
rate divided by (1 - S): 1 spends the budget exactly within the window. Sources: Beyer, B.
et al. (2018), The Site Reliability Workbook, chapters 2 and 5.

An objective of exactly 1 allows no failure: its budget is 0, the first failure overspends
it (`left` is negative), and a burn rate would divide by zero. It is None there, also where
nothing failed: 0/0 is not zero. `ErrorBudget.spent_up` stays meaningful.

The window rolls: what happened leaves it again after its length, good events as well as
failures. Both dates, of exhaustion and of the end of a freeze, take that into account.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import TypeAlias

from gatekeeper.slo.objectives import parse_window

BURN_WINDOWS = ("1d", "7d")
"""Shown beside the objective's own window, where they are shorter than it."""

CLOCK_SKEW = timedelta(days=1)
"""An event up to this far ahead happened now, by a clock that is fast; a later one is wrong."""

_TICK = timedelta(microseconds=1)


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


Spending: TypeAlias = Mapping[str, Mapping[str, Sequence[Event]]]
"""The events of the default branch, by contract and by objective."""


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """`budget`, `spent` and `left` count failed events; `left` may be negative.

    `burn_rate` maps a window such as `1d` to its rate, None where it saw no event or the
    objective is 1; `burning` names those at or above their threshold. `projected_burn_rate` is
    what merging head would burn, `(low, high)` from head's interval.
    `exhausted_at` is when the budget ends if the coming days are as the last seven (or the
    window, where that is shorter); None where nothing fails, where that would never end it,
    and where it is spent. `frozen_until` is when a spent budget has something left again if
    nothing fails from now on; None where it is not spent.
    """

    window: str
    events: int
    budget: float
    spent: int
    left: float
    burn_rate: Mapping[str, float | None] = field(default_factory=dict)
    projected_burn_rate: tuple[float, float] | None = None
    objective: str = "success_rate"
    burning: tuple[str, ...] = ()
    exhausted_at: datetime | None = None
    frozen_until: datetime | None = None

    @property
    def spent_up(self) -> bool | None:
        """Whether failures took all of the budget; None where the window saw no event."""
        if self.events == 0:
            return None
        return _spent_up(self.spent, self.left)


def error_budget(
    events: Iterable[Event],
    objective: float | Decimal,
    window: str,
    now: datetime,
    head_interval: tuple[float, float] | None = None,
    *,
    name: str = "success_rate",
    thresholds: Mapping[str, float] | None = None,
) -> ErrorBudget:
    """The budget over the `window` that ends at `now`: after its start, up to and with `now`.
    An event later than that by no more than `CLOCK_SKEW` counts as one of now.

    `objective` is the share of events that must be good; `head_interval` the interval of that
    share on head, `(low, high)`. `thresholds` holds the burn rate from which a window is burning,
    the objective's own as `window`; nothing is burning at a window without one.
    """
    if now.tzinfo is None:
        raise ValueError(f"now: must have a time zone, got {now.isoformat()}")
    length = parse_window(window)
    allowed = _allowed(objective)
    kept = [event for event in events if now - length < event.time <= now + CLOCK_SKEW]
    total, spent = _count(kept)
    budget = allowed * total
    shorter = [name for name in BURN_WINDOWS if parse_window(name) < length]
    burn_rate = {
        name: _burn(*_count(e for e in kept if e.time > now - span), allowed)
        for name, span in _spans(*shorter, window)
    }
    recent = parse_window("7d") if "7d" in shorter else length
    return ErrorBudget(
        window=window,
        events=total,
        budget=float(budget),
        spent=spent,
        left=float(budget - spent),
        burn_rate=burn_rate,
        projected_burn_rate=_projected(head_interval, allowed),
        objective=name,
        burning=_burning(burn_rate, window, thresholds or {}),
        exhausted_at=_exhausted_at(kept, Fraction(allowed), length, recent, now),
        frozen_until=_frozen_until(kept, allowed, length),
    )


def _frozen_until(kept: Sequence[Event], allowed: Decimal, length: timedelta) -> datetime | None:
    """When enough failures have left the window. Good samples still to come only make it sooner."""
    total, spent = _count(kept)
    if not _spent_up(spent, allowed * total - spent):
        return None
    for time, leaving in groupby(sorted(kept, key=_time), key=_time):
        gone, failed = _count(leaving)
        total, spent = total - gone, spent - failed
        if not _spent_up(spent, allowed * total - spent):
            return time + length
    raise AssertionError("an empty window is never spent")


def _exhausted_at(
    kept: Sequence[Event],
    allowed: Fraction,
    length: timedelta,
    recent: timedelta,
    now: datetime,
) -> datetime | None:
    """When the level of the budget reaches zero, if what is in the window leaves it at its time
    and new events come evenly, as many and as bad as in the `recent` past.

    Between two departures the level runs along a straight line. In microseconds, exactly.
    """
    total, spent = _count(kept)
    events, failed = _count(e for e in kept if e.time > now - recent)
    level = allowed * total - spent
    if failed == 0 or level <= 0:
        return None
    slope = (allowed * events - failed) / (recent // _TICK)
    at = Fraction(0)
    for time, leaving in groupby(sorted(kept, key=_time), key=_time):
        until = Fraction((min(time, now) + length - now) // _TICK)
        if level + slope * (until - at) <= 0:
            break
        gone, bad = _count(leaving)
        level += slope * (until - at) - allowed * gone + bad
        at = until
        if level <= 0:
            return now + math.ceil(at) * _TICK
    if slope >= 0:
        return None
    return now + math.ceil(at - level / slope) * _TICK


def _time(event: Event) -> datetime:
    return event.time


def _spent_up(spent: int, left: float | Decimal) -> bool:
    return spent > 0 and left <= 0


def _allowed(objective: float | Decimal) -> Decimal:
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


def _burning(
    burn_rate: Mapping[str, float | None], window: str, thresholds: Mapping[str, float]
) -> tuple[str, ...]:
    def limit(name: str) -> float:
        return thresholds.get("window" if name == window else name, math.inf)

    return tuple(n for n, rate in burn_rate.items() if rate is not None and rate >= limit(n))


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
