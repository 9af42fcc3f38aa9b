"""Which budgets a contract has, which presses most, and whom the policy exempts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from support.outcomes import contract

from gatekeeper.contract.policies.policy import BudgetPolicy, Policy
from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.gate.objectives.error_budgets import (
    contract_budgets,
    error_budgets,
    is_exempt,
    most_pressing,
)
from gatekeeper.stats.objectives.error_budget import ErrorBudget, Event

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONTRACT = contract(
    slo=read_objectives({"success_rate": 0.95, "cost_per_call_usd": 1, "latency_p99_ms": 100})
)


def spent(failed: int):
    """Ten nights, a hundred samples in all."""
    shares = [failed // 10 + (night < failed % 10) for night in range(10)]
    events = [Event(NOW - timedelta(days=d, hours=1), 10, k) for d, k in enumerate(shares)]
    return {"words": {"success_rate": events}}


def test_each_objective_that_counts_events_has_one():
    rate, latency = error_budgets(CONTRACT, spent(7), Policy(), NOW, {"success_rate": (0.9, 0.95)})
    assert (rate.objective, rate.budget, rate.spent) == ("success_rate", 5.0, 7)
    assert rate.projected_burn_rate == pytest.approx((1.0, 2.0))
    assert (latency.objective, latency.events) == ("latency_p99_ms", 0)


def test_the_policys_thresholds_mark_what_burns():
    strict = Policy(error_budget=BudgetPolicy(burn_rate={"1d": 1.0, "7d": 1.0, "window": 1.0}))
    lax = Policy(error_budget=BudgetPolicy(burn_rate={"1d": 9.0, "7d": 9.0, "window": 9.0}))
    assert error_budgets(CONTRACT, spent(20), strict, NOW)[0].burning == ("7d", "28d")
    assert error_budgets(CONTRACT, spent(20), lax, NOW)[0].burning == ()


@pytest.mark.parametrize(
    ("pattern", "exempt"),
    [
        ("words", True),
        ("w*", True),
        ("contracts/**", True),
        ("prompts/p.txt", True),
        ("prompts/other.txt", False),
        ("word", False),
    ],
)
def test_a_contract_is_exempt_by_its_name_or_its_paths(pattern, exempt):
    policy = Policy(error_budget=BudgetPolicy(exempt=("nothing", pattern)))
    assert is_exempt(CONTRACT, policy) is exempt
    found = contract_budgets(CONTRACT, spent(17), policy, NOW)
    assert (found.frozen, found.exempt) == (not exempt, exempt)


@pytest.mark.parametrize(
    ("failed", "freeze", "frozen"),
    [(17, True, True), (17, False, False), (7, True, False), (4, True, False)],
)
def test_a_contract_is_frozen_where_the_policy_says_so(failed, freeze, frozen):
    assert (
        contract_budgets(
            CONTRACT, spent(failed), Policy(error_budget=BudgetPolicy(freeze)), NOW
        ).frozen
        is frozen
    )


def test_the_most_pressing_is_the_one_with_least_left():
    half, tenth = ErrorBudget("28d", 100, 10, 5, 5.0), ErrorBudget("28d", 1000, 100, 90, 10.0)
    unknown, certain = ErrorBudget("28d", 0, 0, 0, 0.0), ErrorBudget("28d", 9, 0, 0, 0.0)
    over = ErrorBudget("28d", 9, 0, 1, -1.0)
    assert most_pressing([unknown, certain, half, tenth]) is tenth
    assert most_pressing([tenth, over]) is over
    assert most_pressing([unknown, certain]) is certain
    assert most_pressing([unknown]) is unknown
    assert most_pressing([]) is None
