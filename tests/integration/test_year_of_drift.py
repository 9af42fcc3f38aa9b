"""A year of a repository whose prompts change and whose provider drifts: what the nights say.

Every sample is drawn one by one. Each day is looked at with the records that there are by then,
as a nightly run does, and the budget is compared with a recount of all samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom
from support.nightly_records import night
from support.outcomes import contract

from gatekeeper.action.alerts import newly_frozen
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.gate.objectives.error_budgets import contract_budgets
from gatekeeper.history.drift import ContractDrift, drifts
from gatekeeper.history.record import Record, events_of
from gatekeeper.reports.described.drift import drift_news

pytestmark = pytest.mark.long

START = datetime(2025, 1, 1, tzinfo=UTC)
DAYS, FIXTURES = 365, 100
MERGES = (40, 75, 150, 205, 330)
DRIFTS, DROP = 250, 0.1
WITHIN = 7
"""Nights in which benchmarks/error-rates.md finds nine of ten such drops."""
WATCHED = contract(name="words", slo=read_objectives({"success_rate": 0.85}))


@dataclass
class Day:
    number: int
    drift: ContractDrift
    frozen: bool
    news: list[str]


def run(at: datetime, prompt: int, chances: np.ndarray, rng: np.random.Generator) -> Record:
    failed = {f"f{i}": int(rng.random() >= chance) for i, chance in enumerate(chances)}
    return night(0, failed, id=at.isoformat(), time=at, prompt_digest=f"p{prompt}")


def easy_and_hard(rng: np.random.Generator) -> np.ndarray:
    return rng.beta(4.5, 0.5, FIXTURES)


@pytest.fixture(scope="module")
def year() -> tuple[list[Record], list[Day]]:
    """The prompt changes on five days. In the long stretch after the fourth the provider breaks
    one fixture in nine; the fifth mends the prompt for the model as it is then."""
    rng = np.random.default_rng(20250101)
    records: list[Record] = []
    days = []
    prompt, chances = 0, easy_and_hard(rng)
    sound = chances
    for number in range(DAYS):
        midnight = START + timedelta(days=number)
        if number == DRIFTS:
            sound = chances
            broken = rng.permutation(FIXTURES)[: round(FIXTURES * DROP / sound.mean())]
            chances = chances.copy()
            chances[broken] = 0.0
        started = midnight + timedelta(hours=3)
        records.append(run(started, prompt, chances, rng))
        found = newly_frozen([WATCHED], records, SimpleNamespace(started=started), Policy())
        (drift,) = drifts(records)
        budgets = contract_budgets(WATCHED, events_of(records), Policy(), started)
        kinds = [news.kind for news in (*found, *drift_news([drift]))]
        days.append(Day(number, drift, budgets.frozen, kinds))
        if number in MERGES:
            prompt += 1
            chances = sound if number > DRIFTS else easy_and_hard(rng)
            records.append(run(midnight + timedelta(hours=14), prompt, chances, rng))
    return records, days


def test_nothing_drifts_until_the_provider_does_and_it_is_sure_in_time(year):
    _, days = year
    sure = [day.number for day in days if day.drift.change]
    assert DRIFTS < sure[0] < DRIFTS + WITHIN
    assert sure == list(range(sure[0], MERGES[-1] + 1))
    assert {day.number for day in days if "drift" in day.news} == set(sure)
    assert sum(day.drift.status == "watch" for day in days[:DRIFTS]) <= 3


def test_it_keeps_one_name_and_says_since_when_and_how_much(year):
    _, days = year
    changes = [day.drift.change for day in days if day.drift.change]
    assert len({change.id for change in changes}) == 1
    last = changes[-1]
    assert abs(last.since - (START + timedelta(days=DRIFTS))) < timedelta(days=2)
    assert last.direction == "worse"
    assert last.size.interval.low < -DROP < last.size.interval.high


def test_the_drift_freezes_the_prompt_on_the_day_a_recount_says_and_tells_it_once(year):
    records, days = year
    window = timedelta(days=28)
    allowed, tails = 0.15, []
    for day in days:
        now = START + timedelta(days=day.number, hours=3)
        fates = [
            bool(failed)
            for record in records
            if now - window < record.time <= now
            for _, failed in record.fixtures.values()
        ]
        tails.append(binom.sf(sum(fates) - 1, len(fates), allowed))
    # Looking every night asks for more than a binomial test of that one night would.
    assert all(tail <= 0.05 or not day.frozen for day, tail in zip(days, tails, strict=True))
    assert all(tail > 1e-5 or day.frozen for day, tail in zip(days, tails, strict=True))
    first = [day.frozen for day in days].index(True)
    assert DRIFTS + WITHIN < first < MERGES[-1]
    assert [day.number for day in days if "freeze" in day.news] == [first]


def test_years_in_which_nothing_drifts_alarm_at_the_stated_rate():
    """Twenty years with a merge a month or so. The chart promises an alarm a year of nights, and
    the test one contract in a hundred for each prompt; most prompts are too short for it."""
    rng = np.random.default_rng(2)
    alarms = sure = nights = 0
    while nights < 20 * DAYS:
        chances, length = easy_and_hard(rng), int(rng.integers(10, 60))
        at = [START + timedelta(days=number) for number in range(length)]
        (found,) = drifts([run(time, 0, chances, rng) for time in at])
        signals = [point is not None and point.signal for point in found.series.chart]
        alarms += sum(
            now and not before for before, now in zip([False, *signals], signals, strict=False)
        )
        sure += found.change is not None
        nights += length
    assert sure <= 1
    assert 6 <= alarms <= 35
