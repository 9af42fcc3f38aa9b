"""Which change a spent error budget lets through, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from support.evaluations import arm, evidence_of
from support.random_comparisons import compared, once
from support.verdicts import called_for, paired, summary

from gatekeeper.contract.policies.policy import BudgetPolicy, Policy
from gatekeeper.gate.decision.reasons import (
    EvaluationSummary,
    budget_reasons,
)
from gatekeeper.gate.objectives.error_budgets import Burn
from gatekeeper.stats.objectives.error_budget import ErrorBudget

UNTIL = datetime(2026, 3, 1, 13, tzinfo=timezone(timedelta(hours=1)))
SPENT = ErrorBudget("28d", 100, 5.0, 14, -9.0, freezes_at=13, frozen_until=UNTIL)


COULD_BE_CHANCE = replace(SPENT, freezes_at=15)


@pytest.mark.parametrize(
    ("budget", "found", "freeze", "fails"),
    [
        (SPENT, once(same=9), True, True),
        (SPENT, once(fixed=9), True, False),
        (SPENT, once(fixed=9, unknown=9), True, True),
        (SPENT, once(same=9), False, False),
        (COULD_BE_CHANCE, once(same=9), True, False),
        (ErrorBudget("28d", 100, 5.0, 2, 3.0), once(same=9), True, False),
        (ErrorBudget("28d", 0, 0.0, 0, 0.0), once(same=9), True, False),
        (None, once(same=9), True, False),
    ],
)
def test_a_spent_budget_lets_only_better_changes_through(budget, found, freeze, fails):
    budgets = [budget] if budget else []
    reasons = budget_reasons(
        budgets, [summary(compared(found))], Policy(error_budget=BudgetPolicy(freeze))
    )

    assert [r.code for r in reasons if r.verdict == "fail"] == (["budget"] if fails else [])


def test_better_must_hold_for_every_contract_that_checks():
    both = [summary(compared(once(fixed=9))), summary(compared(once(fixed=1)))]
    reasons = budget_reasons([SPENT], both, Policy())

    assert [reason.code for reason in reasons] == ["budget"]


def test_unknown_fixtures_may_all_have_broken():
    found = paired(broke=1, unknown=2, difference=-1 / 38, p_value=0.9)

    (reason,) = called_for(found, largest_drop=3 / 40)

    assert (reason.code, reason.verdict) == ("undecided", "inconclusive")


def test_nothing_compared_is_not_better():
    assert [r.code for r in budget_reasons([SPENT], [summary(None)], Policy())] == ["budget"]


class TestABudgetOfAnotherObjective:
    SLOW = replace(SPENT, objective="latency_p95_ms")

    def evaluated(self, p_better: float | None, **fields) -> EvaluationSummary:
        """Fixtures pass as they did; the latency objective is better with that p-value."""
        burning = {"latency_p95_ms": Burn(None, p_better)}
        evidence = evidence_of(head=arm(9, 9), burns=burning)
        return replace(summary(compared(once(same=9))), evidence=evidence, **fields)

    @pytest.mark.parametrize(("p_better", "fails"), [(0.05, False), (0.06, True), (None, True)])
    def test_it_asks_for_less_of_what_spent_it(self, p_better, fails):
        reasons = budget_reasons([self.SLOW], [self.evaluated(p_better)], Policy())
        (reason,) = reasons
        assert (reason.code, reason.verdict) == ("budget", "fail" if fails else "pass")
        assert ("the freeze does not apply" in reason.text) != fails

    def test_every_contract_that_has_it_must_find_so(self):
        both = [self.evaluated(0.001), self.evaluated(0.5)]
        (reason,) = budget_reasons([self.SLOW], both, Policy())
        assert reason.verdict == "fail"

    def test_who_does_not_have_it_is_not_asked(self):
        silent = self.evaluated(0.5)
        silent = replace(silent, evidence=replace(silent.evidence, burns={}))
        (lifted,) = budget_reasons([self.SLOW], [silent, self.evaluated(0.001)], Policy())
        assert lifted.verdict == "pass"
        (frozen,) = budget_reasons([self.SLOW], [silent], Policy())
        assert frozen.verdict == "fail"

    def test_a_better_pass_rate_is_no_better_latency(self):
        better = replace(self.evaluated(0.5), comparison=compared(once(fixed=9)))
        lifted, frozen = budget_reasons([SPENT, self.SLOW], [better], Policy())
        assert (lifted.verdict, frozen.verdict) == ("pass", "fail")
        assert "latency p95" in frozen.text


def test_the_reason_of_a_freeze_says_what_is_spent_and_until_when():
    spent = replace(SPENT, objective="checks.valid-json")
    (reason,) = budget_reasons([spent], [], Policy())
    assert reason.verdict == "fail"
    assert "14 of 100 samples failed in 28d; the budget allows 5," in reason.text
    assert "chance explains at most 12)" in reason.text
    assert "only a change that significantly improves this objective may merge" in reason.text
    assert "Until 2026-03-01 12:00 UTC at the latest" in reason.text


def test_what_the_policy_exempts_passes_and_is_told():
    (reason,) = budget_reasons([SPENT], [], Policy(), exempt=True)
    assert (reason.code, reason.verdict) == ("budget", "pass")
    assert "exempts" in reason.text
