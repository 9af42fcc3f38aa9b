"""The error budgets of a contract: its objectives, the events on the default branch, the policy.

All code that shows or enforces a budget uses this module, so that the terminal and a verdict always
agree.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from types import MappingProxyType

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.reading.globs import matching
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.events import each_answer_once, is_good
from gatekeeper.contract.values.objectives import Objective
from gatekeeper.contract.values.trial import Arm, Outcome
from gatekeeper.gate.objectives.objectives import concerned
from gatekeeper.gate.plan.plan import Evaluation
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.gaffke import gaffke_interval
from gatekeeper.stats.objectives.error_budget import (
    FREEZE_ERROR,
    ErrorBudget,
    Spending,
    error_budget,
)
from gatekeeper.stats.paired.sign_flip import sign_flip_test

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


# Computes what head's samples would spend of each error budget, and whether it is less than
# base's. Pure.


@dataclass(frozen=True, slots=True)
class Burn:
    """`good` is the interval of the share of head's events that are good; None without one.
    `p_better` is the p-value that head spends less than base, None if nothing was compared."""

    good: ConfidenceInterval | None
    p_better: float | None


def burns(evaluation: Evaluation, outcomes: Sequence[Outcome]) -> dict[str, Burn]:
    """Return the burn rate that each objective with an error budget has in these outcomes, by its
    name."""
    found = {}
    for objective in evaluation.contract.slo:
        if objective.good_share is not None:
            own = concerned(evaluation.contract, objective, outcomes)
            own = each_answer_once(own, evaluation.same_input)
            good = _good(objective, evaluation, own)
            found[objective.name] = Burn(good, _p_better(objective, evaluation, own))
    return found


def _good(
    objective: Objective, evaluation: Evaluation, outcomes: Sequence[Outcome]
) -> ConfidenceInterval | None:
    """Return the interval of the good share over units. What comes after the merge are other
    inputs, so several samples of one input are no additional evidence."""
    known: dict[str, list[bool]] = defaultdict(list)
    for outcome in outcomes:
        trial = outcome.sample.trial
        good = is_good(objective, outcome)
        if trial.arm == "head" and good is not None:
            known[evaluation.counts_with.get(trial.fixture, trial.fixture)].append(good)
    return gaffke_interval([fmean(each) for each in known.values()], 0.0, 1.0)


def _p_better(
    objective: Objective, evaluation: Evaluation, outcomes: Sequence[Outcome]
) -> float | None:
    """Return the one-sided p-value that more events were bad on base, by the sign-flip test over
    distinct units. What could not be measured counts against head."""
    if evaluation.base is None:
        return None
    bad: dict[tuple[str, int, Arm], bool] = {}
    for outcome in outcomes:
        trial = outcome.sample.trial
        good = is_good(objective, outcome)
        worst = trial.arm == "head" if good is None else not good
        bad[trial.fixture, trial.repetition, trial.arm] = worst
    fewer: dict[str, int] = {}
    for key, fixtures in evaluation.units().items():
        pairs = [
            (before, bad[fixture, repetition, "head"])
            for (fixture, repetition, arm), before in bad.items()
            if arm == "base" and fixture in fixtures and (fixture, repetition, "head") in bad
        ]
        if pairs:
            fewer[key] = sum(before - after for before, after in pairs)
    return sign_flip_test(list(fewer.values())) if fewer else None
