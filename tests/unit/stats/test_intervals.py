"""Intervals: against other implementations, by their properties, and by simulation."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest
from support.reference_values import cases, ends

from gatekeeper.stats.intervals.intervals import (
    clustered_rate_interval,
    jeffreys,
    rate_interval,
    wilson,
)

rates = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.floats(0.01, 0.999)
tables = st.tuples(*[st.integers(0, 60)] * 4)


@pytest.mark.parametrize("case", cases("wilson"))
def test_wilson_agrees_with_statsmodels(case):
    found = wilson(case["passed"], case["n"], case["confidence"])
    assert ends(found) == pytest.approx(case["interval"], abs=1e-12)


@pytest.mark.parametrize("case", cases("jeffreys"))
def test_jeffreys_agrees_with_statsmodels_but_for_its_closed_ends(case):
    low, high = case["interval"]
    low = 0 if case["passed"] == 0 else low
    high = 1 if case["passed"] == case["n"] else high
    found = jeffreys(case["passed"], case["n"], case["confidence"])
    assert ends(found) == pytest.approx((low, high), abs=1e-9)


@given(rates, levels)
def test_a_rate_interval_holds_the_observed_rate_within_0_and_1(rate, confidence):
    passed, n = rate
    for method in (wilson, jeffreys, rate_interval):
        found = method(passed, n, confidence)
        if method is not jeffreys and passed not in (0, n) and n >= 10:
            assert found.low <= passed / n <= found.high
        assert 0 <= found.low <= found.high <= 1


@given(rates)
def test_failures_mirror_passes(rate):
    passed, n = rate
    for method in (wilson, jeffreys):
        one, other = method(passed, n), method(n - passed, n)
        assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low), abs=1e-9)


@given(rates)
def test_more_confidence_is_a_wider_interval(rate):
    for method in (wilson, jeffreys):
        narrow, wide = method(*rate, 0.8), method(*rate, 0.99)
        assert wide.low <= narrow.low
        assert narrow.high <= wide.high


@given(rates)
def test_one_more_pass_never_lowers_an_end(rate):
    passed, n = rate
    for method in (wilson, jeffreys):
        if passed < n:
            less, more = method(passed, n), method(passed + 1, n)
            assert less.low <= more.low
            assert less.high <= more.high


@pytest.mark.parametrize(
    ("passed", "n", "method"),
    [(5, 9, jeffreys), (5, 10, wilson), (0, 50, jeffreys), (50, 50, jeffreys), (49, 50, wilson)],
)
def test_the_gate_takes_jeffreys_for_few_samples_and_at_the_ends(passed, n, method):
    assert rate_interval(passed, n) == method(passed, n)


def test_no_sample_has_no_interval():
    assert rate_interval(0, 0) is None


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.98])
@pytest.mark.parametrize("n", [20, 100])
def test_wilson_covers_on_average_what_it_promises(n, rate):
    """Exact coverage, no simulation: over neighbouring rates it is 95 % within a point."""
    from scipy.stats import binom

    around = np.clip(np.linspace(rate - 0.05, rate + 0.05, 41), 0.01, 0.99)
    covered = np.zeros(len(around))
    for k in range(n + 1):
        found = wilson(k, n)
        inside = (found.low <= around) & (around <= found.high)
        covered += binom.pmf(k, n, around) * inside
    coverage = covered.mean()
    assert 0.94 <= coverage <= 0.97


# --- rates of clustered samples ----------------------------------------------------------------

outcomes = st.lists(st.booleans(), min_size=1, max_size=60)
clusters = st.lists(
    st.integers(0, 12).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=1,
    max_size=25,
)


def clustered(pairs, confidence=0.95):
    return clustered_rate_interval([k for k, _ in pairs], [n for _, n in pairs], confidence)


def exact(passed, n, confidence=0.95):
    return pytest.approx(tuple(binomtest(passed, n).proportion_ci(confidence, "exact")), abs=1e-9)


@given(outcomes, st.floats(0.5, 0.999))
def test_one_sample_a_cluster_is_clopper_pearson(passes, confidence):
    found = clustered([(int(passed), 1) for passed in passes], confidence)
    assert ends(found) == exact(sum(passes), len(passes), confidence)


@given(outcomes, st.integers(1, 40))
def test_repeating_the_same_outcomes_tells_nothing_new(passes, repetitions):
    found = clustered([(repetitions * passed, repetitions) for passed in passes])
    assert ends(found) == exact(sum(passes), len(passes))


def test_18_of_20_is_no_surer_with_40_samples_each():
    found = clustered([(40, 40)] * 18 + [(0, 40)] * 2)
    assert ends(found) == exact(18, 20)
    assert ends(found) == pytest.approx((0.6830, 0.9877), abs=1e-4)


@given(clusters, st.randoms())
def test_a_clustered_interval_holds_the_rate_and_ignores_the_order(pairs, random):
    assume(any(n for _, n in pairs))
    found = clustered(pairs)
    n, passed = sum(n for _, n in pairs), sum(k for k, _ in pairs)
    assert 0 <= found.low <= passed / n <= found.high <= 1
    random.shuffle(pairs)
    assert ends(clustered(pairs)) == pytest.approx(ends(found), abs=1e-12)


@given(clusters)
def test_clustered_samples_never_tell_more_than_independent_ones(pairs):
    assume(any(n for _, n in pairs))
    found = clustered(pairs)
    low, high = binomtest(sum(k for k, _ in pairs), sum(n for _, n in pairs)).proportion_ci()
    assert found.low <= low + 1e-9
    assert found.high >= high - 1e-9


@given(clusters)
def test_passes_and_failures_mirror_each_other(pairs):
    assume(any(n for _, n in pairs))
    found, mirrored = clustered(pairs), clustered([(n - k, n) for k, n in pairs])
    assert ends(mirrored) == pytest.approx((1 - found.high, 1 - found.low), abs=1e-9)


def test_a_cluster_without_a_sample_is_none():
    assert clustered([]) is None
    assert clustered([(0, 0), (0, 0)]) is None
    assert clustered([(3, 4), (0, 0), (1, 4)]) == clustered([(3, 4), (1, 4)])


def test_one_cluster_is_worth_one_sample():
    assert ends(clustered([(50, 50)])) == exact(1, 1)
    found = clustered([(25, 50)])
    assert found.low < 0.05
    assert found.high > 0.95


def test_where_all_passed_each_cluster_counts_once():
    assert ends(clustered([(40, 40), (1, 1), (7, 7)])) == exact(3, 3)
    assert ends(clustered([(0, 40), (0, 1), (0, 7)])) == exact(0, 3)


@pytest.mark.parametrize(("m", "k"), [(5, 10), (20, 5), (40, 3)])
@pytest.mark.parametrize("likeness", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("target", [0.8, 0.95])
def test_a_target_met_exactly_is_seldom_called_missed(m, k, likeness, target):
    """1,000 suites of m fixtures, k samples each, whose outcomes correlate by `likeness`."""
    rng = np.random.default_rng(11)
    runs = 1000
    if likeness in (0, 1):
        own = rng.random((runs, m)) < target if likeness else np.full((runs, m), target)
    else:
        size = (1 - likeness) / likeness
        own = rng.beta(target * size, (1 - target) * size, (runs, m))
    passed = rng.binomial(k, own.astype(float))
    missed = sum(clustered_rate_interval(row, [k] * m).high < target for row in passed.tolist())
    assert missed <= (0.025 + 3 * math.sqrt(0.025 * 0.975 / runs)) * runs


# --- quantiles -------------------------------------------------------------------------------
