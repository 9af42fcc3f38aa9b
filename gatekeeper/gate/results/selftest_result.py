"""How often the gate errs on a suite (selftest.py), as a value and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gatekeeper import numbers
from gatekeeper.stats.intervals.intervals import wilson

Count = tuple[int, int]
"""How many runs there were, and how many of them were blocked."""


@dataclass(frozen=True, slots=True)
class Change:
    """What head does worse than base: `broken` fixtures always fail, or `drop` of the samples of
    all fixtures fail."""

    name: str
    broken: int = 0
    drop: float = 0.0


HARMLESS = Change("harmless")
CHANGES = (
    HARMLESS,
    Change("broken_1", broken=1),
    Change("drop_5", drop=0.05),
    Change("drop_10", drop=0.1),
)


OPEN = "open"


@dataclass(frozen=True, slots=True)
class Selftest:
    """How often each change was blocked, by its name: the number of runs, and of those that failed.
    `OPEN` counts the runs of a harmless change that ended inconclusive. `calls` is the mean number
    of calls of a harmless change, and `planned` the most without fresh samples; None if they are
    not known."""

    fixtures: int
    counts: Mapping[str, Count]
    calls: float | None = None
    planned: int | None = None


def selftest_of(counts: Mapping[str, Count], fixtures: int) -> Selftest | None:
    """Return what these counts of a history say; None if they say nothing of harmless changes."""
    known = {OPEN, *(change.name for change in CHANGES)}
    kept = {name: count for name, count in counts.items() if name in known and count[0]}
    return Selftest(fixtures, kept) if HARMLESS.name in kept else None


def selftest_sentence(found: Selftest) -> str:
    """Say what was measured, from counts that have harmless changes."""
    told = [
        f"{_size(change, found.fixtures)} in {numbers.percent(counted[1] / counted[0])}"
        for change in CHANGES
        if change != HARMLESS and (counted := found.counts.get(change.name))
    ]
    runs, blocked = found.counts[HARMLESS.name]
    interval = numbers.percent_interval(wilson(blocked, runs))
    harmless = f"harmless changes were blocked {blocked:,} of {runs:,} times ({interval})"
    seen = f"this is found: {', '.join(told)}; " if told else ""
    return f"on this suite, {seen}{harmless}"


def selftest_lines(found: Selftest) -> Iterator[str]:
    """Yield a line for each change, with 95 % intervals, and what a harmless one takes."""
    for change in CHANGES:
        counted = found.counts.get(change.name)
        if counted is None:
            continue
        runs, blocked = counted
        if change == HARMLESS:
            _, unclear = found.counts.get(OPEN, (runs, 0))
            interval = numbers.percent_interval(wilson(blocked, runs))
            open_ = numbers.percent(unclear / runs)
            yield f"harmless change: blocked {blocked:,} of {runs:,} times ({interval})"
            yield f"harmless change: inconclusive in {open_}"
        else:
            interval = numbers.percent_interval(wilson(blocked, runs))
            share = numbers.percent(blocked / runs)
            yield f"{_size(change, found.fixtures)}: found in {share} ({interval})"
    if found.calls is not None:
        most = numbers.count(found.planned or 0, "call")
        yield f"harmless change: {found.calls:,.0f} of {most} on average"


def _size(change: Change, fixtures: int) -> str:
    if not change.broken:
        return f"{numbers.size_in_points(change.drop)} spread over all inputs"
    return f"{change.broken:,} of {fixtures:,} broken"
