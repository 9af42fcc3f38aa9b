"""A year of a repository: runs, merges, a bad week, a provider that drifts, and its budgets.

Two contracts: `nightly` runs every night and after every merge, `pushed` after its merges alone,
so that nothing runs while it is frozen. Every sample is kept one by one, and what the budgets say
of a day is compared with a recount of all of them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom
from support.outcomes import contract

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.gate.objectives.error_budgets import ContractBudgets, contract_budgets
from gatekeeper.history.record import Record, events_of

pytestmark = pytest.mark.long

START = datetime(2025, 1, 1, tzinfo=UTC)
DAYS, SAMPLES = 365, 40
BAD_WEEK = range(90, 97)
DRIFT_FROM = 250
HOURS = {"1d": 24, "7d": 7 * 24, "14d": 14 * 24, "28d": 28 * 24}
SLO = read_objectives(
    {
        "success_rate": 0.95,
        "checks": {"valid-json": 0.99},
        "latency_p95_ms": {"target": 900, "window": "14d"},
        "repair_rate": 0.1,
        "cost_per_call_usd": 0.01,
        "categories": {"billing": {"success_rate": {"target": 0.9, "window": "7d"}}},
    }
)
GOOD_SHARE = {
    "success_rate": "0.95",
    "checks.valid-json": "0.99",
    "latency_p95_ms": "0.95",
    "repair_rate": "0.9",
    "categories.billing.success_rate": "0.9",
}
SURE = 0.05 / len(GOOD_SHARE)
"""What the objectives share. Looking every day asks for more than a binomial test would."""
WINDOW = {"latency_p95_ms": "14d", "categories.billing.success_rate": "7d"}


@dataclass
class Life:
    """One contract's year: its records, and every single sample as (hour, objective, failed)."""

    name: str
    records: list[Record] = field(default_factory=list)
    hours: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, list[bool]] = field(default_factory=dict)
    arrays: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def run(self, at: datetime, trigger: str, chances: dict[str, float], rng: random.Random):
        counts = {}
        for name, chance in chances.items():
            n = SAMPLES // 4 if name.startswith("categories.") else SAMPLES
            fates = [rng.random() < chance for _ in range(n)]
            counts[name] = (n, sum(fates))
            self.hours.setdefault(name, []).extend([(at - START) / timedelta(hours=1)] * n)
            self.failed.setdefault(name, []).extend(fates)
        samples, failed = counts["success_rate"]
        self.records.append(
            Record(
                id=f"{self.name}{len(self.records)}",
                time=at,
                trigger=trigger,
                sha="0" * 40,
                contract=self.name,
                model="m",
                version="1",
                samples=samples,
                failed=failed,
                interval=None,
                calls=SAMPLES,
                failed_calls=0,
                objectives=counts,
            )
        )

    def budgets(self, now: datetime) -> ContractBudgets:
        known = [r for r in self.records if now - timedelta(days=40) < r.time <= now]
        spending = events_of(known)
        return contract_budgets(contract(name=self.name, slo=SLO), spending, Policy(), now)

    def samples(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        hours = self.hours.get(name, [])
        if len(self.arrays.get(name, ((),))[0]) != len(hours):
            self.arrays[name] = np.array(hours), np.array(self.failed[name])
        return self.arrays.get(name, (np.array([]), np.array([], dtype=bool)))

    def recount(self, name: str, now: datetime, window: str) -> tuple[int, int]:
        at = (now - START) / timedelta(hours=1)
        hours, failed = self.samples(name)
        inside = (hours > at - HOURS[window]) & (hours <= at)
        return int(inside.sum()), int(failed[inside].sum())

    def left(self, name: str, now: datetime) -> Fraction:
        events, failed = self.recount(name, now, WINDOW.get(name, "28d"))
        return (1 - Fraction(GOOD_SHARE[name])) * events - failed

    def tail(self, name: str, now: datetime) -> float:
        """The chance that a prompt exactly at the objective fails as often in one window."""
        events, failed = self.recount(name, now, WINDOW.get(name, "28d"))
        return float(binom.sf(failed - 1, events, 1 - float(GOOD_SHARE[name])))


def chances(quality: float, slow: float) -> dict[str, float]:
    return {
        "success_rate": 1 - quality,
        "checks.valid-json": (1 - quality) / 8,
        "latency_p95_ms": slow,
        "repair_rate": 0.02,
        "categories.billing.success_rate": 1 - quality,
    }


@dataclass
class Day:
    now: datetime
    nightly: ContractBudgets
    pushed: ContractBudgets


@pytest.fixture(scope="module")
def year() -> tuple[dict[str, Life], list[Day]]:
    """Merges come on two days of three; a bad one lands on the first day of the bad week and is
    mended, surely better, on its last. From `DRIFT_FROM` on the provider answers slowly."""
    rng = random.Random(20250101)  # noqa: S311
    lives = {name: Life(name) for name in ("nightly", "pushed")}
    days = []
    for number in range(DAYS):
        midnight = START + timedelta(days=number)
        quality = 0.7 if number in BAD_WEEK else 0.985
        slow = 0.12 if number >= DRIFT_FROM else 0.01
        now = midnight + timedelta(hours=23)
        for name, life in lives.items():
            merges = [9.5, 13.25, 16.75][: rng.choice([0, 1, 3])]
            for hour in merges:
                at = midnight + timedelta(hours=hour)
                mends = number == BAD_WEEK[-1] + 1
                if mends or not life.budgets(at).frozen:
                    life.run(at, "push", chances(quality, slow), rng)
            if name == "nightly":
                nightly = midnight + timedelta(hours=3)
                life.run(nightly, "schedule", chances(quality, slow), rng)
        days.append(Day(now, *(life.budgets(now) for life in lives.values())))
    return lives, days


@pytest.mark.parametrize("name", ["nightly", "pushed"])
def test_every_day_is_what_a_recount_of_all_samples_says(year, name):
    lives, days = year
    life = lives[name]
    for day in days:
        found: ContractBudgets = getattr(day, name)
        assert [budget.objective for budget in found.budgets] == list(GOOD_SHARE)
        assert found.frozen == any(budget.overspent for budget in found.budgets)
        for budget in found.budgets:
            share = 1 - Fraction(GOOD_SHARE[budget.objective])
            window = WINDOW.get(budget.objective, "28d")
            events, spent = life.recount(budget.objective, day.now, window)
            assert (budget.window, budget.events, budget.spent) == (window, events, spent)
            assert budget.left == float(share * events - spent)
            tail = life.tail(budget.objective, day.now)
            assert tail <= SURE or not budget.overspent
            for burning, rate in budget.burn_rate.items():
                n, k = life.recount(budget.objective, day.now, burning)
                assert rate == (None if n == 0 else pytest.approx(float(Fraction(k, n) / share)))


def test_the_bad_week_freezes_and_the_rest_of_the_spring_does_not(year):
    lives, days = year
    for name in lives:
        frozen = [n for n, day in enumerate(days[:DRIFT_FROM]) if getattr(day, name).frozen]
        assert frozen
        assert BAD_WEEK[0] <= frozen[0] <= BAD_WEEK[4]
        assert frozen[-1] <= BAD_WEEK[-1] + 30


def test_the_drift_spends_the_latency_and_nothing_else(year):
    _, days = year
    spent = {
        budget.objective
        for day in days[DRIFT_FROM + 20 :]
        for budget in day.nightly.budgets
        if budget.overspent
    }
    assert spent == {"latency_p95_ms"}
    assert days[-1].nightly.frozen


def test_a_prompt_that_does_not_run_thaws_by_the_moment_that_was_promised(year):
    lives, days = year
    life, promises = lives["pushed"], []
    for day in days:
        for budget in day.pushed.budgets:
            promise = budget.frozen_until
            if promise is None:
                continue
            ran = [r for r in life.records if day.now < r.time <= promise]
            if ran:
                continue
            promises.append(promise)
            then = [b for b in life.budgets(promise).budgets if b.objective == budget.objective]
            assert not then[0].overspent
    assert promises


def test_a_promise_is_kept_or_beaten_wherever_nothing_more_failed(year):
    lives, days = year
    checked = 0
    for name, life in lives.items():
        for day in days:
            for budget in getattr(day, name).budgets:
                until = budget.frozen_until
                if until is None or until > days[-1].now:
                    continue
                after = [r for r in life.records if day.now < r.time <= until]
                if sum(r.objectives[budget.objective][1] for r in after):
                    continue
                later = [b for b in life.budgets(until).budgets if b.objective == budget.objective]
                assert not later[0].overspent
                checked += 1
    assert checked


def test_the_end_was_foretold_while_the_drift_went_on(year):
    """The budget of a provider that turned slow ends within days of the date that was named."""
    _, days = year
    latency = [
        next(b for b in day.nightly.budgets if b.objective == "latency_p95_ms") for day in days
    ]
    first = next(n for n in range(DRIFT_FROM, DAYS) if latency[n].left <= 0)
    foretold = latency[first - 2].exhausted_at
    assert foretold is not None
    assert abs(foretold - days[first].now) < timedelta(days=6)
