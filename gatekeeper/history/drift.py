"""Decides from each contract's history whether a model changed although the prompt did not.

Each run of a contract on the default branch counts as a night. A stretch is a series of nights with
the same prompt, contract and model name. A change of one of them starts a new stretch, because the
cause of a difference is then known. The statistics are those of `stats.nights.drift`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Literal

from gatekeeper import numbers
from gatekeeper.contract.meaning.digests import short_digest
from gatekeeper.history.record import Record
from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.nights.control_chart import LEARNED_NIGHTS, NIGHTS_PER_FALSE_ALARM
from gatekeeper.stats.nights.drift import ALPHA, Drift, Night, find_drift, homogeneity_p

DriftStatus = Literal["drifted", "watch", "steady", "learning"]
WatchReason = Literal["tonight", "evidence", "first_nights"]
NIGHTS_NEEDED = LEARNED_NIGHTS + 1
"""The number of nights that define the usual range. None of them can be outside of it."""
WATCHED_E_VALUE = 20.0
"""How strong the evidence must be. If nothing changes, it ever gets so strong with a
probability of at most 5 %."""
_FIRST_NIGHTS_LEVEL = 0.01
_NOT_MEASURED = (0, 0)
_FIRST_NIGHTS_WATCHED = 4 * NIGHTS_NEEDED
"""The number of nights after which the usual range depends on more than the first ones."""


@dataclass(frozen=True, slots=True)
class CertainChange:
    """A change that is certain: its first night, the night on which it became certain, and the pass
    rate since then minus the one before."""

    id: str
    since: datetime
    detected: datetime
    direction: Literal["worse", "better"]
    size: Estimate


@dataclass(frozen=True, slots=True)
class ContractDrift:
    """The state of one contract's current stretch.

    `status` is `drifted` if a change is certain, `watch` if something may have changed, for the
    `watch_reason`, `steady` if neither is, `learning` if there are too few nights: `measured` of
    `NIGHTS_NEEDED`. `outside` are all nights outside of the control chart's limits. `rate` is the
    last night's pass rate, `e_value` the capital that started as 1 and bets against "nothing
    changed": `1 / alpha` proves a change. `new_models` are the nights on which another fingerprint
    answered first.
    """

    contract: str
    model: str
    nights: int
    first: datetime
    last: datetime
    status: DriftStatus
    rate: float | None
    e_value: float
    change: CertainChange | None
    new_models: tuple[datetime, ...]
    series: Drift
    measured: int
    outside: tuple[datetime, ...] = ()
    watch_reason: WatchReason | None = None


def drifts(records: Iterable[Record], names: Sequence[str] = ()) -> tuple[ContractDrift, ...]:
    """Return each contract of the records, by name; only those of `names` if any is given. Nights
    on which a judge drifted are left out: they say nothing of the model."""
    by_contract: dict[str, list[Record]] = defaultdict(list)
    graded = (record for record in records if not record.judge_drifted)
    for record in sorted(graded, key=lambda record: record.time):
        by_contract[record.contract].append(record)
    return tuple(
        _of_contract(stretch(mine))
        for name, mine in sorted(by_contract.items())
        if not names or name in names
    )


def stretch(records: Sequence[Record]) -> tuple[Record, ...]:
    """Return the latest of a contract's runs, in order, as long as prompt, contract, fixtures and
    model were the same."""
    tonight = _same(records[-1])
    latest = takewhile(lambda record: _same(record) == tonight, reversed(records))
    return tuple(reversed(tuple(latest)))


def _same(record: Record) -> tuple[object, ...]:
    return record.prompt_digest, record.contract_digest, record.model


def _of_contract(nights: Sequence[Record]) -> ContractDrift:
    first, last = nights[0], nights[-1]
    fixtures = sorted({fixture for record in nights for fixture in record.fixtures})
    found = find_drift([_night(record, fixtures) for record in nights])
    change = _change(found, nights)
    measured = sum(rate is not None for rate in found.rates)
    watch_reason = _watch_reason(found, nights, measured)
    return ContractDrift(
        contract=last.contract,
        model=last.model,
        nights=len(nights),
        first=first.time,
        last=last.time,
        status=_status(found, measured, watch_reason),
        rate=found.rates[-1],
        e_value=found.e_values[-1],
        change=change,
        new_models=tuple(nights[number].time for number in found.new_models),
        series=found,
        measured=measured,
        outside=tuple(
            night.time
            for night, point in zip(nights, found.chart, strict=True)
            if point is not None and point.signal
        ),
        watch_reason=watch_reason,
    )


def _night(record: Record, fixtures: Sequence[str]) -> Night:
    counts = [record.fixtures.get(fixture, _NOT_MEASURED) for fixture in fixtures]
    # Lists, because generators take twice as long for a year of nights.
    return Night(
        passed=tuple([events - failed for events, failed in counts]),
        samples=tuple([events for events, _ in counts]),
        model=" ".join(record.fingerprints) or None,
    )


def _status(found: Drift, measured: int, watch_reason: WatchReason | None) -> DriftStatus:
    if found.change is not None:
        return "drifted"
    if measured < NIGHTS_NEEDED:
        return "learning"
    return "watch" if watch_reason else "steady"


def _watch_reason(found: Drift, nights: Sequence[Record], measured: int) -> WatchReason | None:
    """Return why something may have changed, although it is not certain."""
    if found.change is not None or measured < NIGHTS_NEEDED:
        return None
    point = found.chart[-1]
    if point is not None and point.signal:
        return "tonight"
    if found.e_values[-1] >= WATCHED_E_VALUE:
        return "evidence"
    if measured >= _FIRST_NIGHTS_WATCHED:
        return None
    # A change while the usual range was learned has become a part of that range.
    sampled = [
        (min(1.0, max(0.0, rate)), sum(events for events, _ in record.fixtures.values()))
        for rate, record in zip(found.rates, nights, strict=True)
        if rate is not None
    ]
    rates, samples = zip(*sampled[:NIGHTS_NEEDED], strict=True)
    return "first_nights" if homogeneity_p(rates, samples) < _FIRST_NIGHTS_LEVEL else None


def _change(found: Drift, nights: Sequence[Record]) -> CertainChange | None:
    change = found.change
    if change is None:
        return None
    since, detected = nights[change.since].time, nights[change.detected].time
    # The first certain night of a stretch never changes, while its estimates do night by night.
    known = f"{nights[0].contract}|{detected.isoformat()}|{change.direction}"
    name = short_digest(known)
    return CertainChange(name, since, detected, change.direction, change.size)


FALSE_ALARMS = (
    "If the model does not change, and the order of the nights is random, each contract is "
    f"wrongly reported as drifted with a probability of at most {numbers.percent(ALPHA)} until "
    "its prompt changes. The chart raises a false alarm about once in "
    f"{numbers.number(NIGHTS_PER_FALSE_ALARM)} nights."
)
