"""What a run does with past runs: the month's limit, names that changed, keeping the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from gatekeeper import numbers
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.files.contract_files import renamed_contracts
from gatekeeper.contract.policies.policy import POLICY_PATH
from gatekeeper.errors import GatekeeperError, MeasurementError, UsageError
from gatekeeper.gate.objectives.error_budgets import error_budgets, most_pressing
from gatekeeper.gate.results.result import ContractResult, Measurement, Waiver
from gatekeeper.gate.work import Work
from gatekeeper.history.costs import MonthSpending, month_spending
from gatekeeper.history.drift import drifts
from gatekeeper.history.lineage import commits_of_the_gone, under_new_names, with_groups_of
from gatekeeper.history.record import events_of, records_of
from gatekeeper.history.selftests import with_selftest
from gatekeeper.history.stores.store import HistoryStore, Past
from gatekeeper.providers.models.cost_estimate import FREE
from gatekeeper.reports.described.drift import drift_news
from gatekeeper.runs.run_plan import Keep, Since

# The policy's `limits.month_usd`: full suites do not start when the month's money is spent.
#
# It never holds back the check of a pull request.


def require_month_limit(work: Work, past: Past | None, now: datetime) -> tuple[str, ...]:
    """Refuse a full suite if the base policy's limit of the month is reached.

    Returns what to say of the limit. `past` is the history; None if the run has none. Raises
    UsageError if the limit is reached, and MeasurementError if nobody knows what was spent.
    """
    limit = work.policy.limits.month_usd
    if limit is None or not any(not m.startswith(FREE) for m in work.called_models):
        return ()
    if past is None:
        return (
            (
                "limits.month_usd has no effect on this run: without a history, "
                "gatekeeper does not know what was spent this month."
            ),
        )
    if past.unread:
        faults = "; ".join(past.faults)
        raise MeasurementError(
            "gatekeeper does not know what was spent this month, so it cannot "
            f"apply limits.month_usd of {POLICY_PATH}, and no model was called: "
            f"{faults}"
        )

    spent = month_spending(past.records, now)
    reached = spent.reached(limit)
    if reached == 1:
        raise UsageError(f"{_limit_reached(spent, limit)}. No model was called")
    return tuple(_notices(spent, limit, damaged=bool(past.faults)))


def describe_reached(spent: MonthSpending, limit: float) -> str | None:
    """Say that the warning level or the limit is reached; None if neither is."""
    reached = spent.reached(limit)
    if reached is None:
        return None
    text = _limit_reached(spent, limit) if reached == 1 else _limit_near(spent, limit)
    return f"{text[0].upper()}{text[1:]}."


def _notices(spent: MonthSpending, limit: float, *, damaged: bool) -> list[str]:
    said = describe_reached(spent, limit)
    notices = [said] if said else []
    if damaged:
        notices.append(
            "A part of the history cannot be read, so the real amount of this month may be higher."
        )
    if spent.unpriced:
        records = numbers.count(spent.unpriced, "record")
        notices.append(
            f"The cost of {records} of this month is not known, so limits.month_usd "
            f"counts only {numbers.dollars(spent.usd)}, but the real amount is higher."
        )
    return notices


def _limit_near(spent: MonthSpending, limit: float) -> str:
    return (
        f"{_spent(spent, limit)}, so {numbers.percent(spent.usd / limit)} of the limit is used. "
        f"If the limit is reached, full suites do not start until {numbers.moment(spent.ends)}"
    )


def _limit_reached(spent: MonthSpending, limit: float) -> str:
    return (
        f"{_spent(spent, limit)}, so full suites do not start until {numbers.moment(spent.ends)}; "
        "gatekeeper checks pull requests as before. To run full suites sooner, raise "
        f"limits.month_usd in {POLICY_PATH} of the base branch"
    )


def _spent(spent: MonthSpending, limit: float) -> str:
    least = "at least " if spent.unpriced else ""
    return (
        f"{least}{numbers.dollars(spent.usd)} were spent this month, and limits.month_usd is "
        f"{numbers.dollars(limit)}"
    )


# Gives contracts that were renamed the past that the history keeps under their old names.


def with_old_names(past: Past, work: Work, since: Since | None) -> tuple[Past, Mapping[str, str]]:
    """Return the past under the present names, and the old name of each contract that has been
    renamed since it was last measured."""
    if since is None or not past.records:
        return past, {}
    names = _names(work)
    known = {record.contract for record in past.records}
    found: dict[str, str] = {}
    for sha in commits_of_the_gone(past.records, names):
        change = since(sha)
        if change is None:
            continue
        renamed = renamed_contracts(change, work.policy, SHAPES)
        for new, old in with_groups_of(renamed, past.records).items():
            if new not in known and old not in found.values():
                found.setdefault(new, old)
    return past._replace(records=under_new_names(past.records, found)), found


def _names(work: Work) -> set[str]:
    """Return the names of the contracts that the history is about: those of base, or of the
    revision that is measured."""
    affected = work.affected
    own = (c.head if work.kind == "run" else c.base for c in affected.contracts)
    return {*affected.others, *(contract.name for contract in own if contract)}


# A run that is kept: its counts go to the history, and its budgets count them.


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
