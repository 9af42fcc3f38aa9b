"""The simulation behind the drift section of error-rates.md computes what it says it does."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import drift as bench

PAGE = Path(__file__).parents[3] / "benchmarks" / "error-rates.md"


def rng():
    return np.random.default_rng(7)


def rate(nights):
    passed = sum(sum(night.passed) for night in nights)
    return passed / sum(sum(night.samples) for night in nights)


@pytest.mark.parametrize("drop", bench.DROPS)
@pytest.mark.parametrize("setting", bench.DRIFTING, ids=lambda setting: setting.name)
def test_the_pass_rate_drops_by_what_it_says(setting, drop):
    nights = bench.simulate_nights(setting, rng(), 1000, change=500, drop=drop)
    assert rate(nights[:500]) - rate(nights[500:]) == pytest.approx(drop, abs=0.04)


def test_without_a_drop_the_rates_stay():
    nights = bench.simulate_nights(bench.MIXED, rng(), 1000)
    assert rate(nights[:500]) == pytest.approx(rate(nights[500:]), abs=0.01)


def test_a_night_depends_on_the_night_before():
    nights = bench.simulate_nights(bench.DEPENDENT[-1], rng(), 400)
    rates = np.array([rate([night]) for night in nights])
    assert np.corrcoef(rates[1:], rates[:-1])[0, 1] > 0.2


def test_calls_fail_at_random():
    nights = bench.simulate_nights(bench.FAILING, rng(), 50)
    measured = np.mean([night.samples for night in nights])
    assert measured == pytest.approx(0.95, abs=0.01)


def test_a_drop_at_temperature_0_is_timed_from_its_first_night():
    sure, alarm = bench.delays(bench.TEMPERATURE_0, 0.2, np.random.SeedSequence(1))
    assert (sure, alarm) == (5, 1)
    assert bench.delays(bench.NOISY, 0.0, np.random.SeedSequence(1))[0] == np.inf


def test_a_quiet_year_at_temperature_0_is_quiet():
    assert bench.quiet_year(bench.TEMPERATURE_0, np.random.SeedSequence(1)) == (False, 0)


def test_broken_promises_are_told():
    kept = {bench.MIXED: [(False,) * 99 + (True,), (1,) * 100]}
    assert not list(bench._broken_promises(kept))
    cries_wolf = {bench.MIXED: [(False,) * 90 + (True,) * 10, (3,) * 100]}
    assert len(list(bench._broken_promises(cries_wolf))) == 2
    bad_nights = {bench.BAD_NIGHTS: [(False,) * 100, (9,) * 100]}
    assert not list(bench._broken_promises(bad_nights))
    assert not list(bench._broken_promises(dict.fromkeys(bench.DEPENDENT, cries_wolf[bench.MIXED])))


def test_the_tables_have_a_row_for_each_setting():
    quiet = {setting: [(False, True), (0, 3)] for setting in bench.QUIET}
    drifts = {(bench.MIXED, drop): np.array([[4, 1], [6, np.inf]]) for drop in bench.DROPS}
    text = bench.tables(quiet, drifts, runs=2, seed=1)
    assert all(f"| {s.name} | 50.0 | 1.50 |" in text for s in bench.QUIET)
    assert "| easy and hard fixtures |" + " 4 (6) / 1 (–) |" * 4 in text


def test_the_page_has_a_place_for_the_tables():
    before, _, rest = PAGE.read_text("utf-8").partition(bench.BEGIN)
    assert before
    assert bench.END in rest
