"""A run that is kept: its counts go to the history, and its budgets count them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.errors import GatekeeperError
from gatekeeper.gate.objectives.error_budgets import error_budgets, most_pressing
from gatekeeper.gate.pipeline import Measurement
from gatekeeper.gate.results.result import ContractResult, Waiver
from gatekeeper.gate.work import Work

if TYPE_CHECKING:
    from gatekeeper.history.record import Trigger
    from gatekeeper.history.store import HistoryStore, Past

MergedWaivers = tuple[Sequence[Waiver], Sequence[str]]
"""The waivers of the merged change, and a notice if they are not known."""


@dataclass(frozen=True, slots=True)
class Keep:
    """How to keep a run: its trigger, and a function that finds the waivers of its merge."""

    trigger: Trigger
    merged_waivers: Callable[[], MergedWaivers] = lambda: ((), ())


def keep_run(
    store: HistoryStore,
    past: Past,
    work: Work,
    found: Measurement,
    keep: Keep,
    old_names: Mapping[str, str],
) -> Measurement:
    """Add the run's counts to the store, and return the result with the budgets that `gatekeeper
    budget` prints after it.

    If the counts could not be added, a notice says so; no verdict changes. `past` are the contents
    of the store when the run began, and `old_names` the names that contracts had in it.
    """
    from gatekeeper.history.record import events_of

    if not found.contracts:
        return replace(found, notices=(*found.notices, *past.missing_notice))
    waivers, notices = keep.merged_waivers()
    found = _with_waivers(found, waivers)
    said = _remember(store, past, work, found, keep, old_names)
    found = replace(found, notices=(*found.notices, *notices, *said))
    now_known = store.read()
    if now_known.unread:
        return found
    spending, now = events_of(now_known.records), datetime.now(UTC)
    contracts = {job.contract.name: job.contract for job in work.jobs}
    drifted = _drift_notices(now_known, [*contracts])
    found = replace(found, notices=(*found.notices, *drifted))

    def counted(result: ContractResult) -> ContractResult:
        contract = contracts.get(result.name)
        if contract is None:
            return result
        budgets = error_budgets(contract, spending, work.policy, now)
        return replace(result, error_budgets=budgets, error_budget=most_pressing(budgets))

    return replace(found, contracts=tuple(map(counted, found.contracts)))


def _drift_notices(known: Past, names: Sequence[str]) -> list[str]:
    """Return a notice for each contract whose model is certain to have changed."""
    from gatekeeper.history.drift import drifts
    from gatekeeper.reports.described.drift import drift_news

    return [f"{news.contract}: {news.text}" for news in drift_news(drifts(known.records, names))]


def _with_waivers(found: Measurement, waivers: Sequence[Waiver]) -> Measurement:
    """Add to each contract the waiver that it was merged with, for the record only."""
    if not waivers:
        return found
    contracts = tuple(
        replace(c, waiver=next((w for w in waivers if w.contract in (c.name, None)), None))
        for c in found.contracts
    )
    return replace(found, contracts=contracts)


def _remember(
    store: HistoryStore,
    past: Past,
    work: Work,
    found: Measurement,
    keep: Keep,
    old_names: Mapping[str, str],
) -> tuple[str, ...]:
    """Add the counts, and return notices about the history."""
    from gatekeeper.history.record import records_of
    from gatekeeper.history.selftests import with_selftest

    jobs = {job.contract.name: job for job in work.jobs}
    try:
        records = [
            with_selftest(record, jobs[record.contract], past.records)
            for record in records_of(found, keep.trigger)
        ]
        added = store.append([replace(r, was=old_names.get(r.contract)) for r in records])
    except GatekeeperError as error:
        return (*past.missing_notice, f"This run is missing in the history: {error}.")
    if not added or past.missing is None:
        return past.missing_notice
    counted = numbers.count(added, "record")
    return (f"The history {past.missing} begins with this run: {counted} added.",)
