"""A run that is kept: its counts go to the history, and its budgets count them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gatekeeper.gate.error_budgets import error_budgets, most_pressing
from gatekeeper.gate.result import ContractResult, GateResult
from gatekeeper.gate.work import Work

if TYPE_CHECKING:
    from gatekeeper.history.record import Trigger
    from gatekeeper.history.store import HistoryStore


def keep_run(store: HistoryStore, work: Work, result: GateResult, trigger: Trigger) -> GateResult:
    """Add the result's counts to the store. The budgets it comes back with are those that
    `gatekeeper budget` says from then on, this run included."""
    from gatekeeper.history.record import events_of
    from gatekeeper.history.store import remember
    from gatekeeper.reports.redact import environment_redactor

    result = remember(store, result, trigger)
    past = store.read()
    if past.unread:
        return result
    spending, now = events_of(past.records), datetime.now(UTC)
    contracts = {job.contract.name: job.contract for job in work.jobs}

    def counted(found: ContractResult) -> ContractResult:
        contract = contracts.get(found.name)
        if contract is None:
            return found
        budgets = error_budgets(contract, spending, work.policy, now)
        return replace(found, error_budgets=budgets, error_budget=most_pressing(budgets))

    result = replace(result, contracts=tuple(map(counted, result.contracts)))
    return environment_redactor().value(result)
