"""Could this run have seen a drop?"""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import bdtrc

from gatekeeper.stats.paired import power as power_module
from gatekeeper.stats.paired.mcnemar import mcnemar_exact
from gatekeeper.stats.paired.power import (
    fixtures_needed,
    minimum_detectable_effect,
    regression_power,
)

CASES = json.loads((Path(__file__).parents[2] / "reference" / "statistics.json").read_text())


@pytest.mark.parametrize("case", CASES["power"]["cases"])
def test_power_agrees_with_the_sum_over_every_table(case):
    found = regression_power(case["fixtures"], case["drop"], case["alpha"], case["fixed_rate"])
    assert found == pytest.approx(case["power"], rel=1e-9)


@given(
    st.integers(1, 2_000_000),
    st.one_of(st.floats(1e-9, 1.0), st.sampled_from([1e-6, 0.5, 1.0])),
    st.sampled_from([0.5, 0.25, 0.05, 0.001, 1e-9]),
)
def test_without_fixes_the_power_is_a_binomial_tail(fixtures, drop, alpha):
    least = next(n for n in range(1, 99) if mcnemar_exact(n, 0) <= alpha)
    expected = float(bdtrc(least - 1, fixtures, drop)) if fixtures >= least else 0.0
    found = regression_power(fixtures, drop, alpha)
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-12)
    assert 0 <= found <= 1


def test_without_fixtures_or_without_a_drop_nothing_is_found():
    assert regression_power(0, 0.5, 0.05) == 0
    assert regression_power(50, 0.0, 0.05) == 0
    assert regression_power(50, 0.0, 0.05, 0.3) == 0


def test_certain_catastrophe_is_certainly_found():
    assert regression_power(5, 1.0, 0.05) == pytest.approx(1)
    assert regression_power(4, 1.0, 0.05) == 0


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.025, 0.03125, 0.05, 0.2, 0.5])
def test_the_critical_values_are_those_of_the_test(alpha):
    critical = power_module._critical_values(150, alpha)
    for n, fewest in enumerate(critical):
        if fewest <= n:
            assert mcnemar_exact(fewest, n - fewest) <= alpha
        if fewest > 1:
            assert mcnemar_exact(fewest - 1, n - fewest + 1) > alpha


@given(st.integers(1, 120), st.floats(0, 0.6), st.floats(0, 0.2), st.floats(0, 0.2))
def test_a_greater_drop_is_easier_to_find(fixtures, drop, more, fixed_rate):
    less = regression_power(fixtures, drop, 0.05, fixed_rate)
    assert 0 <= less <= regression_power(fixtures, drop + more, 0.05, fixed_rate) + 1e-9 <= 1 + 1e-9


@given(st.integers(1, 300), st.sampled_from([0.01, 0.05, 0.1]), st.sampled_from([0.0, 0.1, 0.3]))
@settings(max_examples=50)
def test_the_minimum_detectable_effect_has_the_power_and_nothing_less_does(n, alpha, fixed_rate):
    found = minimum_detectable_effect(n, alpha, 0.8, fixed_rate)
    if found is None:
        assert regression_power(n, 1 - fixed_rate, alpha, fixed_rate) < 0.8
        return
    assert 0 < found <= 1 - fixed_rate
    assert regression_power(n, found, alpha, fixed_rate) >= 0.8
    assert regression_power(n, max(0, found - 1e-6), alpha, fixed_rate) < 0.8


def test_too_few_fixtures_can_see_nothing():
    assert minimum_detectable_effect(0, 0.05) is None
    assert minimum_detectable_effect(4, 0.05) is None
    assert minimum_detectable_effect(5, 0.05) == pytest.approx(0.8 ** (1 / 5), abs=1e-6)
    assert minimum_detectable_effect(6, 0.01) is None


@given(st.floats(0.02, 0.9), st.sampled_from([0.0, 0.01]), st.sampled_from([0.5, 0.8, 0.95]))
@settings(max_examples=40)
def test_fixtures_needed_are_enough_and_one_fewer_are_not(drop, fixed_rate, power):
    n = fixtures_needed(drop, 0.05, power, fixed_rate)
    assert n is not None
    assert regression_power(n, drop, 0.05, fixed_rate) >= power
    assert regression_power(n - 1, drop, 0.05, fixed_rate) < power


@pytest.mark.parametrize("alpha", [1e-50, 1e-300])
def test_a_tiny_alpha_is_answered_and_needs_many_fixtures(alpha):
    assert minimum_detectable_effect(100, alpha) is None
    seen = minimum_detectable_effect(2000, alpha)
    assert seen is None or minimum_detectable_effect(2000, 0.05) < seen <= 1


def test_some_drops_are_never_found(monkeypatch):
    assert fixtures_needed(0.1, 0.05, fixed_rate=0.1) is None
    monkeypatch.setattr(power_module, "MOST_FIXTURES", 100)
    assert fixtures_needed(0.05, 0.05) is None  # 134 would do
    assert fixtures_needed(0.1, 0.05) == 66
