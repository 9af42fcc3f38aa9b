"""The regression test: exact values, its properties, and its false-alarm rate."""

import json
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference_values import cases

from gatekeeper.stats.paired.mcnemar import mcnemar_chi_square, mcnemar_exact

CASES = json.loads((Path(__file__).parents[2] / "reference" / "statistics.json").read_text())

counts = st.integers(0, 300)


@pytest.mark.parametrize("case", CASES["mcnemar"]["cases"])
def test_it_agrees_with_scipy_and_statsmodels(case):
    broke, fixed = case["broke"], case["fixed"]
    assert mcnemar_exact(broke, fixed) == pytest.approx(case["worse"], rel=1e-10)
    assert mcnemar_exact(broke, fixed, "two-sided") == pytest.approx(case["two_sided"], rel=1e-10)


@pytest.mark.parametrize("alternative", ["worse", "two-sided"])
def test_without_a_changed_fixture_there_is_no_evidence(alternative):
    assert mcnemar_exact(0, 0, alternative) == 1.0


@given(st.integers(0, 60), st.integers(0, 60))
def test_it_is_the_binomial_tail_to_the_last_bit(broke, fixed):
    n = broke + fixed
    tail = Fraction(sum(comb(n, k) for k in range(broke, n + 1)), 2**n)
    assert mcnemar_exact(broke, fixed) == float(tail)


def test_five_broken_of_five_is_exactly_one_in_32():
    assert mcnemar_exact(5, 0) == 0.03125
    assert mcnemar_exact(4, 0) == 0.0625


@given(counts, counts)
def test_more_broken_is_more_evidence_and_more_fixed_is_less(broke, fixed):
    p = mcnemar_exact(broke, fixed)
    assert 0 <= mcnemar_exact(broke + 1, fixed) <= p <= mcnemar_exact(broke, fixed + 1) <= 1


@given(counts, counts)
def test_two_sided_knows_no_side_and_doubles_the_smaller_tail(broke, fixed):
    both = mcnemar_exact(broke, fixed, "two-sided")
    assert both == mcnemar_exact(fixed, broke, "two-sided")
    assert both == min(1.0, 2 * min(mcnemar_exact(broke, fixed), mcnemar_exact(fixed, broke)))


@pytest.mark.parametrize(("broke", "fixed"), [(1000, 1000), (1090, 910), (1, 1999), (2000, 0)])
def test_large_counts_join_small_ones_without_a_step(broke, fixed):
    from scipy.stats import binom

    for extra in (0, 1):
        tail = binom.sf(broke - 1, broke + fixed + extra, 0.5)
        assert mcnemar_exact(broke, fixed + extra) == pytest.approx(tail, rel=1e-9, abs=1e-300)


def test_a_million_changed_fixtures_are_answered():
    assert 0 < mcnemar_exact(502_000, 498_000) < 1e-4


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_false_alarms_stay_below_alpha_and_do_happen(alpha):
    """20,000 harmless changes to 60 fixtures of which a fifth flips either way by chance.

    The exact rate is a sum over the binomial distribution; the simulation must agree within
    4 standard errors, and may exceed alpha by no more.
    """
    rng = np.random.default_rng(2024)
    runs = 20_000
    drawn = rng.multinomial(60, [0.1, 0.1, 0.8], size=runs)[:, :2]
    pairs, times = np.unique(drawn, axis=0, return_counts=True)
    alarms = sum(
        count
        for (broke, fixed), count in zip(pairs.tolist(), times.tolist(), strict=True)
        if mcnemar_exact(broke, fixed) <= alpha
    )
    band = 4 * (alpha * (1 - alpha) / runs) ** 0.5
    assert alpha / 4 < alarms / runs < alpha + band


# --- the chi-squares, which stand beside the exact test


@pytest.mark.parametrize("case", cases("chi_square", "comparisons"))
def test_the_chi_squares_agree_with_statsmodels(case):
    broke, fixed = case["broke"], case["fixed"]
    found = mcnemar_chi_square(broke, fixed, corrected=False)
    assert found == pytest.approx(case["uncorrected"], rel=1e-10)
    if "corrected" in case:
        assert mcnemar_chi_square(broke, fixed) == pytest.approx(case["corrected"], rel=1e-10)


@pytest.mark.parametrize("case", cases("mcnemar_published", "comparisons"))
def test_all_three_are_the_published_ones(case):
    broke, fixed = case["broke"], case["fixed"]
    found = {
        "uncorrected": mcnemar_chi_square(broke, fixed, corrected=False),
        "corrected": mcnemar_chi_square(broke, fixed),
        "exact": mcnemar_exact(broke, fixed, "two-sided"),
    }
    assert found == {name: pytest.approx(case[name], abs=5e-7) for name in found}


def test_without_a_changed_fixture_no_chi_square_is_evidence():
    assert mcnemar_chi_square(0, 0) == mcnemar_chi_square(0, 0, corrected=False) == 1.0


@given(st.integers(0, 300), st.integers(0, 300))
def test_the_correction_is_careful_and_no_side_matters(broke, fixed):
    plain, corrected = (mcnemar_chi_square(broke, fixed, c) for c in (False, True))
    assert 0 <= plain <= corrected <= 1
    assert corrected == mcnemar_chi_square(fixed, broke)
    if broke == fixed:
        assert plain == corrected == 1.0
