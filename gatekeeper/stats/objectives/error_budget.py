"""Error budgets and burn rates, as in Google's SRE books.

The budget is (1 - S) x events for an objective S; the burn rate is the observed failure
rate divided by (1 - S): 1 spends the budget exactly within the window. Sources: Beyer, B.
et al. (2018), The Site Reliability Workbook, chapters 2 and 5.

An objective of exactly 1 allows no failure: its budget is 0, the first failure overspends
it (`left` is negative), and a burn rate would divide by zero. It is None there, even if
nothing failed: 0/0 is not zero. `ErrorBudget.state` stays meaningful.

An overspent budget can be chance: a prompt that meets its objective exactly overspends its budget
half of the time. So the failures of the window are compared with
a boundary that may be looked at after every run (`gatekeeper.stats.objectives.rate_boundary`).

The window rolls: what happened leaves it again after its length, good events as well as
failures. Both dates, of exhaustion and of the end of a freeze, take that into account.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import Literal, TypeAlias

from gatekeeper.stats.objectives.objective import parse_window
from gatekeeper.stats.objectives.rate_boundary import (
    NIGHTS_NEEDED,
    Evidence,
    Look,
    compare_nights,
    shows_more,
    weigh_nights,
)

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
    enough. `frozen_until` is when an overspent budget is no longer overspent at the latest, if
    nothing fails from now on, whatever else runs; None if the budget is not overspent.
    """

    window: str
    events: int
    budget: float
    spent: float
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
    kept = [e for e in events if e.events and now - length < e.time <= now + CLOCK_SKEW]
    total = sum(event.events for event in kept)
    budget, spent = Fraction(allowed) * total, _failing(kept) * total
    shorter = [name for name in BURN_WINDOWS if parse_window(name) < length]
    burn_rate = {
        name: _burn([e for e in kept if e.time > now - span], allowed)
        for name, span in _spans(*shorter, window)
    }
    recent = parse_window("7d") if "7d" in shorter else length
    freezes_at = None if alpha is None else _freezes_at(kept, allowed, length, alpha)
    found = ErrorBudget(
        window=window,
        events=total,
        budget=float(budget),
        spent=float(spent),
        left=float(budget - spent),
        burn_rate=burn_rate,
        projected_burn_rate=_projected(head_interval, allowed),
        objective=name,
        exhausted_at=_exhausted_at(kept, Fraction(allowed), length, recent, now),
        freezes_at=freezes_at,
    )
    if found.overspent:
        found = replace(found, frozen_until=_frozen_until(kept, allowed, length))
    limits = {each: _threshold(each, window, thresholds or {}) for each in burn_rate}
    burning = () if alpha is None else _burning(kept, found, limits, allowed, now, alpha)
    return replace(found, burning=burning)


def _freezes_at(
    kept: Sequence[Event], allowed: Decimal, length: timedelta, alpha: float
) -> int | None:
    """Return the fewest failures of the window that chance does not explain, if more is spent than
    the budget."""
    failing = _failing(kept)
    if not kept or failing <= allowed:
        return None
    total = sum(event.events for event in kept)
    found = compare_nights(_nights(kept, length), float(max(allowed, LEAST_ALLOWED)), alpha)
    if found is None:
        return None
    spent, most = math.floor(failing * total), math.ceil(found.freezing_rate * total)
    return min(most, spent) if found.frozen else max(most, spent + 1)


def _nights(kept: Sequence[Event], length: timedelta) -> list[Look]:
    """Return the runs by night: those within one part of the window."""
    first = min(event.time for event in kept)
    nights: dict[int, list[Event]] = {}
    for event in sorted(kept, key=_time):
        part = min(_LOOKS, _LOOKS * (event.time - first) // length)
        nights.setdefault(part, []).append(event)
    return [
        Look(
            runs=len(runs),
            failing=math.fsum(event.failed / event.events for event in runs),
            inverse=math.fsum(1 / event.events for event in runs),
            elapsed=part / _LOOKS,
        )
        for part, runs in nights.items()
    ]


def _frozen_until(kept: Sequence[Event], allowed: Decimal, length: timedelta) -> datetime:
    """Return when so much has left the window that what stays fails no more than is allowed.

    The freeze may end earlier, because what stays may be chance by then. But this can be promised:
    good samples only lower the rate, and no number of nights makes a rate that is allowed too high.
    """
    most = Fraction(max(allowed, LEAST_ALLOWED))
    staying = sorted(kept, key=_time)
    first = staying[0].time
    while _failing(staying) > most:
        first = staying[0].time
        staying = [event for event in staying if event.time > first]
    return first + length


def _exhausted_at(
    kept: Sequence[Event],
    allowed: Fraction,
    length: timedelta,
    recent: timedelta,
    now: datetime,
) -> datetime | None:
    """Return when the budget reaches zero, if events leave the window in time and new events come
    evenly, as many and as bad as in the `recent` past.

    Between two departures the level runs along a straight line. Time is counted in microseconds
    and shares in fractions, so that the result is exact.
    """
    lately = [event for event in kept if event.time > now - recent]
    ticks = recent // _TICK
    level = _not_spent(kept, allowed) * ticks
    slope = _not_spent(lately, allowed)
    if not any(event.failed for event in lately) or level <= 0:
        return None
    at = 0
    for time, runs in groupby(sorted(kept, key=_time), key=_time):
        until = (min(time, now) + length - now) // _TICK
        if level + slope * (until - at) <= 0:
            break
        level += slope * (until - at) - _not_spent([*runs], allowed) * ticks
        at = until
        if level <= 0:
            return now + at * _TICK
    if slope >= 0:
        return None
    return now + math.ceil(at - level / slope) * _TICK


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


def _failing(runs: Collection[Event]) -> Fraction:
    """Return the mean share of failed events over runs. Each run counts the same: one that clearly
    fails stops early, and its few events would hide it behind the many of a good one."""
    return _shares(runs) / len(runs) if runs else Fraction()


def _shares(runs: Iterable[Event]) -> Fraction:
    """Return the sum of the shares of failed events."""
    failed: dict[int, int] = defaultdict(int)
    for event in runs:
        failed[event.events] += event.failed
    return sum((Fraction(bad, events) for events, bad in failed.items()), Fraction())


def _not_spent(runs: Collection[Event], allowed: Fraction) -> Fraction:
    return len(runs) * allowed - _shares(runs)


def _burn(runs: Collection[Event], allowed: Decimal) -> float | None:
    if not runs or allowed == 0:
        return None
    return float(_failing(runs) / Fraction(allowed))


def _burning(
    kept: Sequence[Event],
    budget: ErrorBudget,
    limits: Mapping[str, float],
    allowed: Decimal,
    now: datetime,
    alpha: float,
) -> tuple[str, ...]:
    """Return the windows in which more failed than chance explains, and whose burn rate has reached
    its limit over their whole length and lately: in their last twelfth, or in the last run if that
    is older. A burn that has ended is not marked for the rest of the window: The Site Reliability
    Workbook, chapter 5, "Multiwindow, Multi-Burn-Rate Alerts"."""
    length = parse_window(budget.window)
    last = max((event.time for event in kept), default=now)
    found = []
    for name, limit in limits.items():
        span = parse_window(name)
        runs = [e for e in kept if e.time > now - span]
        lately = [e for e in runs if e.time > now - span / _SHORT or e.time == last]
        rates = _burn(runs, allowed), _burn(lately, allowed)
        if any(rate is None or rate < limit for rate in rates):
            continue
        part = alpha * (span / length)
        if budget.overspent if span == length else _burst(kept, runs, length, allowed, part):
            found.append(name)
    return tuple(found)


def _burst(
    kept: Sequence[Event],
    runs: Collection[Event],
    length: timedelta,
    allowed: Decimal,
    alpha: float,
) -> bool:
    """Return whether more of the latest runs failed than chance explains. The nights before them
    say how much nights vary."""
    least, start = float(max(allowed, LEAST_ALLOWED)), min(event.time for event in runs)
    before = [event for event in kept if event.time < start]
    nights = _nights(before or kept, length)
    if len(nights) < NIGHTS_NEEDED:
        nights = _nights(kept, length)
    each = weigh_nights(nights, least).samples / sum(night.runs for night in nights)
    most = len(runs) ** 2 / math.fsum(1 / event.events for event in runs)
    evidence = Evidence(float(_failing(runs)), min(most, each * len(runs)))
    return shows_more(evidence, least, alpha)


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
