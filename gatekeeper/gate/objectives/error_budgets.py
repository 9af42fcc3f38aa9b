"""The error budgets of a contract: its objectives, the events on the default branch, the policy.

All code that shows or enforces a budget uses this module, so that the terminal and a verdict always
agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.values.definition import Contract
from gatekeeper.stats.objectives.error_budget import (
    FREEZE_ERROR,
    ErrorBudget,
    Spending,
    error_budget,
)

Shares = Mapping[str, tuple[float, float]]
"""The interval of the share of good events, `(low, high)`, by objective."""

_NONE: Shares = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ContractBudgets:
    """How a contract stands. `frozen` says that only what is significantly better may merge,
    `exempt` that the policy would let its changes through a spent budget."""

    name: str
    path: str
    budgets: tuple[ErrorBudget, ...]
    frozen: bool
    exempt: bool


def contract_budgets(
    contract: Contract, spending: Spending, policy: Policy, now: datetime
) -> ContractBudgets:
    budgets = error_budgets(contract, spending, policy, now)
    frozen = is_frozen(budgets, contract, policy)
    exempt = is_exempt(contract, policy)
    return ContractBudgets(contract.name, contract.path, budgets, frozen, exempt)


def error_budgets(
    contract: Contract, spending: Spending, policy: Policy, now: datetime, on_head: Shares = _NONE
) -> tuple[ErrorBudget, ...]:
    """Return the budget of each objective that counts events, in the contract's order; those of a
    mean (cost, tokens, score) have none. `on_head` is the share of good events that merging would
    add, as an interval for each objective. The objectives share the probability of a false freeze
    in equal parts (Bonferroni)."""
    events = spending.get(contract.name, {})
    budgeted = sum(objective.good_share is not None for objective in contract.slo)
    return tuple(
        error_budget(
            events.get(objective.name, ()),
            objective.good_share,
            objective.window,
            now,
            on_head.get(objective.name),
            name=objective.name,
            thresholds=policy.error_budget.burn_rate,
            alpha=FREEZE_ERROR / budgeted,
        )
        for objective in contract.slo
        if objective.good_share is not None
    )


def by_pressure(budgets: Sequence[ErrorBudget]) -> list[ErrorBudget]:
    """Sort budgets: the smallest share left first, those without an event last."""
    return sorted(budgets, key=_share_left)


def most_pressing(budgets: Sequence[ErrorBudget]) -> ErrorBudget | None:
    return next(iter(by_pressure(budgets)), None)


def is_frozen(budgets: Sequence[ErrorBudget], contract: Contract, policy: Policy) -> bool:
    """Return whether only a significant improvement may merge: more failed than chance explains."""
    overspent = any(budget.overspent for budget in budgets)
    return policy.error_budget.freeze and overspent and not is_exempt(contract, policy)


def is_exempt(contract: Contract, policy: Policy) -> bool:
    """Return whether the policy exempts the contract from freezes."""
    names = (contract.name, contract.path, contract.target.prompt.path)
    return any(any(matching(names, pattern)) for pattern in policy.error_budget.exempt)


def _share_left(budget: ErrorBudget) -> float:
    if budget.events == 0:
        return math.inf
    if budget.budget == 0:
        return -math.inf if budget.spent else 1.0
    return budget.left / budget.budget
