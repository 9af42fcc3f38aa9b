"""Error budgets and burn rates, as in Google's SRE books.

The budget is (1 - S) x events for an objective S; the burn rate is the observed failure
rate divided by (1 - S): 1 spends the budget exactly within the window. Sources: Beyer, B.
et al. (2018), The Site Reliability Workbook, chapters 2 and 5.

An objective of exactly 1 allows no failure: its budget is 0, the first failure overspends
it (`left` is negative), and a burn rate would divide by zero. It is None there, even if
nothing failed: 0/0 is not zero. `ErrorBudget.state` stays meaningful.

An overspent budget can be chance: a prompt that meets its objective exactly overspends its budget
half of the time. So the failures of the window are compared with
a boundary that may be looked at after every run (`gatekeeper.stats.rate_boundary`).

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
from typing import Literal, TypeAlias

from gatekeeper.stats.objective import parse_window
from gatekeeper.stats.rate_boundary import fewest_failures

BURN_WINDOWS = ("1d", "7d")
"""These windows are shown in addition to the objective's own window, if they are shorter than
it."""

CLOCK_SKEW = timedelta(days=1)
"""An event up to this far in the future counts as happening now, because of a fast clock; a later
one is invalid."""

FREEZE_ERROR = 0.05
"""The probability that a budget is called overspent within one window although the objective is met
exactly."""

LEAST_ALLOWED = Decimal("0.001")
"""A stricter objective is tested as if it were 99.9 %. At 100 %, no failure could be chance,
and a single fault outside of the prompt would freeze it."""

State = Literal["unknown", "left", "spent", "overspent"]
"""No event in the window; something is left, or exactly nothing; more failed than the budget
allows, but that could be chance; more than chance explains."""

_LOOKS = 56
"""Into how many parts the window is divided: runs within one part are one look, such as 12 hours of
28 days."""

_SHORT = 12
"""The short window of a pair is that part of the long one."""

_THRESHOLDS_ARE_FOR = timedelta(days=28)

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
                f"failed: must be from 0 to `events` = {self.events}, got {self.failed}"
            )


Spending: TypeAlias = Mapping[str, Mapping[str, Sequence[Event]]]
"""The events of the default branch, by contract and by objective."""


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """`budget`, `spent` and `left` count failed events; `left` may be negative.

    `burn_rate` maps a window such as `1d` to its rate, None if it saw no event or the objective is
    1; `burning` names those at or above their threshold. `projected_burn_rate` is what merging head
    would burn, `(low, high)` from head's interval. `exhausted_at` is when the budget ends if the
    coming days are as the last seven (or the window, if that is shorter); None if nothing fails, if
    that would never end it, and if it is spent. `freezes_at` is how many failures of these events
    would be more than chance explains; None if less is spent than the budget, or if no number is
    enough. `frozen_until` is when enough failures have left the window, if nothing fails and
    nothing runs from now on; None if the budget is not overspent.
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
    freezes_at: int | None = None
    frozen_until: datetime | None = None

    @property
    def state(self) -> State:
        if self.events == 0:
            return "unknown"
        if self.left >= 0:
            return "left"
        beyond_chance = self.freezes_at is not None and self.spent >= self.freezes_at
        return "overspent" if beyond_chance else "spent"

    @property
    def overspent(self) -> bool:
        """Whether more failed than the budget and chance explain."""
        return self.state == "overspent"


def error_budget(
    events: Iterable[Event],
    objective: float | Decimal,
    window: str,
    now: datetime,
    head_interval: tuple[float, float] | None = None,
    *,
    name: str = "success_rate",
    thresholds: Mapping[str, float] | None = None,
    alpha: float | None = FREEZE_ERROR,
) -> ErrorBudget:
    """Return the budget over the `window` that ends at `now`: after its start, up to and including
    `now`. An event later than that by no more than `CLOCK_SKEW` counts as one of now.

    `objective` is the share of events that must be good; `head_interval` the interval of that share
    on head, `(low, high)`. `thresholds` holds the burn rate from which a window is burning, the
    objective's own as `window`; nothing is burning at a window without one. `alpha` is the chance
    of a false freeze within a window; with None it is not tested whether the budget is overspent.
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
        burning=_burning(kept, burn_rate, window, thresholds or {}, allowed, now),
        exhausted_at=_exhausted_at(kept, Fraction(allowed), length, recent, now),
        freezes_at=None if alpha is None else _freezes_at(kept, allowed, length, alpha),
        frozen_until=None if alpha is None else _frozen_until(kept, allowed, length, alpha),
    )


def _freezes_at(
    kept: Sequence[Event], allowed: Decimal, length: timedelta, alpha: float
) -> int | None:
    """Return the fewest failures of the window that chance does not explain, if it is overspent."""
    total, spent = _count(kept)
    if spent <= allowed * total:
        return None
    first = min(event.time for event in kept)
    looks: dict[int, int] = {}
    for event in sorted(kept, key=_time):
        part = min(_LOOKS, _LOOKS * (event.time - first) // length)
        looks[part] = looks.get(part, 0) + event.events
    return fewest_failures(
        [(samples, part / _LOOKS) for part, samples in looks.items()],
        float(max(allowed, LEAST_ALLOWED)),
        alpha,
    )


def _frozen_until(
    kept: Sequence[Event], allowed: Decimal, length: timedelta, alpha: float
) -> datetime | None:
    """Return when enough failures have left the window.

    Future good samples can only make it sooner.
    """
    staying = sorted(kept, key=_time)
    until: datetime | None = None
    while staying:
        fewest = _freezes_at(staying, allowed, length, alpha)
        if fewest is None or _count(staying)[1] < fewest:
            return until
        first = staying[0].time
        until = first + length
        staying = [event for event in staying if event.time > first]
    return until


def _exhausted_at(
    kept: Sequence[Event],
    allowed: Fraction,
    length: timedelta,
    recent: timedelta,
    now: datetime,
) -> datetime | None:
    """Return when the budget reaches zero, if events leave the window in time and new events come
    evenly, as many and as bad as in the `recent` past.

    Between two departures the level runs along a straight line. It is counted in whole numbers of
    the smallest part that occurs, and time in microseconds, so that the result is exact.
    """
    total, spent = _count(kept)
    events, failed = _count(e for e in kept if e.time > now - recent)
    good, whole, ticks = allowed.numerator, allowed.denominator, recent // _TICK
    level = (good * total - whole * spent) * ticks
    if failed == 0 or level <= 0:
        return None
    slope = good * events - whole * failed
    at = 0
    for time, leaving in groupby(sorted(kept, key=_time), key=_time):
        until = (min(time, now) + length - now) // _TICK
        if level + slope * (until - at) <= 0:
            break
        gone, bad = _count(leaving)
        level += slope * (until - at) - (good * gone - whole * bad) * ticks
        at = until
        if level <= 0:
            return now + at * _TICK
    if slope >= 0:
        return None
    return now + math.ceil(at - Fraction(level, slope)) * _TICK


def _time(event: Event) -> datetime:
    return event.time


def _allowed(objective: float | Decimal) -> Decimal:
    """Return 1 - S as the author wrote S: in binary, 1 - 0.95 is more than 0.05, and a budget that
    is completely spent would seem to have something left."""
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
    kept: Sequence[Event],
    burn_rate: Mapping[str, float | None],
    window: str,
    thresholds: Mapping[str, float],
    allowed: Decimal,
    now: datetime,
) -> tuple[str, ...]:
    """Return the windows whose burn rate has reached its threshold over their whole length and
    lately: in their last twelfth, or in the last run if that is older. A burn that has ended is not
    marked for the rest of the window: The Site Reliability Workbook, chapter 5, "Multiwindow,
    Multi-Burn-Rate Alerts"."""
    last = max((event.time for event in kept), default=now)
    found = []
    for name, rate in burn_rate.items():
        short = parse_window(name) / _SHORT
        lately = _burn(*_count(e for e in kept if e.time > now - short or e.time == last), allowed)
        limit = _threshold(name, window, thresholds)
        if rate is not None and lately is not None and min(rate, lately) >= limit:
            found.append(name)
    return tuple(found)


def _threshold(name: str, window: str, thresholds: Mapping[str, float]) -> float:
    """Return the burn rate from which a window is marked.

    Those of the shorter windows are given for an objective over 28 days: a share of the budget that
    is used in a day is a higher rate if the budget has to last longer. At a rate below 1 no budget
    ends early, so no threshold is scaled below 1.
    """
    if name == window:
        return thresholds.get("window", math.inf)
    limit = thresholds.get(name, math.inf)
    return max(min(limit, 1.0), limit * (parse_window(window) / _THRESHOLDS_ARE_FOR))


def _projected(
    head_interval: tuple[float, float] | None, allowed: Decimal
) -> tuple[float, float] | None:
    if head_interval is None:
        return None
    low, high = head_interval
    if not 0 <= low <= high <= 1:
        raise ValueError(f"head_interval: must obey `0 <= low <= high <= 1`, got {head_interval}")
    if allowed == 0:
        return None
    share = float(allowed)
    return (1 - high) / share, (1 - low) / share
