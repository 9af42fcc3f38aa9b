"""Intervals of quantiles and paired differences."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference_values import cases, ends

from gatekeeper.stats.intervals.intervals import paired_difference_interval, quantile_bounds

rates = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.floats(0.01, 0.999)
tables = st.tuples(*[st.integers(0, 60)] * 4)


@pytest.mark.parametrize("case", cases("quantile_ranks"))
def test_quantile_ends_are_the_right_order_statistics(case):
    values = list(range(1, case["n"] + 1))
    assert list(quantile_bounds(values, case["q"], case["confidence"])) == case["ranks"]


def test_an_end_out_of_reach_is_not_known():
    assert quantile_bounds(list(range(71)), 0.95) == (62, None)
    assert quantile_bounds(list(range(72)), 0.95) == (63, 71)
    assert quantile_bounds([], 0.5) == (None, None)
    assert quantile_bounds([1.0], 0.5) == (None, None)


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=120), st.floats(0.05, 0.95), st.randoms()
)
def test_quantile_ends_are_values_and_ignore_their_order(values, q, random):
    shuffled = list(values)
    random.shuffle(shuffled)
    found = quantile_bounds(values, q)
    assert found == quantile_bounds(shuffled, q)
    low, high = found
    assert low is None or low in values
    assert high is None or high in values
    if low is not None and high is not None:
        assert low <= high


def test_calls_that_never_came_back_count_as_infinitely_slow():
    values = [*map(float, range(70)), math.inf, math.inf]
    low, high = quantile_bounds(values, 0.95)
    assert low == 63.0
    assert high == math.inf


def test_quantile_bounds_cover_as_promised():
    """2,000 skewed samples of 100: misses are binomial, at most 5 % expected."""
    rng = np.random.default_rng(7)
    truth = -math.log(0.1)  # the 90 % quantile of the exponential distribution
    misses = 0
    for sample in rng.exponential(size=(2000, 100)):
        low, high = quantile_bounds(sample.tolist(), 0.9)
        assert low is not None
        assert high is not None
        misses += not low <= truth <= high
    assert 0.02 * 2000 <= misses <= (0.05 + 3 * math.sqrt(0.05 * 0.95 / 2000)) * 2000


# --- paired differences ----------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("paired_uncorrelated"))
def test_without_correlation_it_is_the_unpaired_interval_of_statsmodels(case):
    found = paired_difference_interval(*case["table"])
    assert ends(found) == pytest.approx(case["interval"], abs=1e-9)


@pytest.mark.parametrize("case", cases("paired_published"))
def test_it_agrees_with_the_published_interval(case):
    found = paired_difference_interval(*case["table"])
    assert [round(end, 4) for end in ends(found)] == case["interval"]


def test_no_fixture_has_no_difference():
    assert paired_difference_interval(0, 0, 0, 0) is None


@given(tables)
def test_the_difference_lies_inside_within_minus_1_and_1(table):
    found = paired_difference_interval(*table)
    if found is not None:
        _, broke, fixed, _ = table
        assert -1 <= found.low <= (fixed - broke) / sum(table) + 1e-12
        assert (fixed - broke) / sum(table) - 1e-12 <= found.high <= 1


@given(tables)
def test_swapping_the_arms_swaps_the_signs(table):
    both, broke, fixed, neither = table
    one = paired_difference_interval(both, broke, fixed, neither)
    other = paired_difference_interval(both, fixed, broke, neither)
    if one is not None:
        assert ends(one) == pytest.approx((-other.high, -other.low), abs=1e-12)


def test_agreement_of_the_arms_sharpens_the_difference():
    agreeing = paired_difference_interval(45, 3, 0, 52)
    unrelated = paired_difference_interval(22, 26, 23, 29)
    assert agreeing.high - agreeing.low < (unrelated.high - unrelated.low) / 2


@pytest.mark.parametrize(
    ("n", "shares"), [(40, (0.8, 0.1, 0.05, 0.05)), (80, (0.5, 0.15, 0.15, 0.2))]
)
def test_paired_intervals_cover_as_promised(n, shares):
    """4,000 simulated runs; each distinct table is worked out once."""
    rng = np.random.default_rng(11)
    drawn, counts = np.unique(rng.multinomial(n, shares, size=4000), axis=0, return_counts=True)
    truth = shares[2] - shares[1]
    covered = 0
    for table, count in zip(drawn.tolist(), counts.tolist(), strict=True):
        found = paired_difference_interval(*table)
        covered += count * (found.low <= truth <= found.high)
    assert 0.935 <= covered / 4000 <= 0.98


def test_every_small_table_has_ordered_ends():
    for table in itertools.product(range(4), repeat=4):
        found = paired_difference_interval(*table)
        assert found is None or found.low <= found.high
