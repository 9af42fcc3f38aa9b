"""Intervals: against other implementations, by their properties, and by simulation."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals import (
    clustered_rate_interval,
    jeffreys,
    mean_interval,
    paired_difference_interval,
    quantile_bounds,
    rate_interval,
    wilson,
)

REFERENCE = json.loads((Path(__file__).parents[2] / "reference" / "statistics.json").read_text())

rates = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.floats(0.01, 0.999)
tables = st.tuples(*[st.integers(0, 60)] * 4)


def cases(group):
    return REFERENCE[group]["cases"]


def ends(interval):
    return (interval.low, interval.high)


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


@pytest.mark.parametrize("method", [wilson, jeffreys])
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((3, 2), "passed"),
        ((-1, 2), "passed"),
        ((0, -1), "n"),
        ((0, 0), "n"),
        ((1.0, 2), "passed"),
        ((True, 2), "passed"),
        ((1, 2, 0.0), "confidence"),
        ((1, 2, 1.0), "confidence"),
        ((1, 2, math.nan), "confidence"),
    ],
)
def test_a_wrong_argument_is_named(method, arguments, named):
    with pytest.raises(ValueError, match=rf"^{named}: "):
        method(*arguments)


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


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (([1], [1, 2]), "samples"),
        (([2], [1]), "passed"),
        (([-1], [1]), "passed"),
        (([0.5], [1]), "passed"),
        (([1], [1], 1.0), "confidence"),
    ],
)
def test_clusters_name_a_wrong_argument(arguments, named):
    with pytest.raises(ValueError, match=rf"^{named}: "):
        clustered_rate_interval(*arguments)


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


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (([1.0, math.nan], 0.5), "values"),
        (([1.0], 0.0), "q"),
        (([1.0], 1.0), "q"),
        (([1.0], 0.5, 2.0), "confidence"),
    ],
)
def test_quantiles_name_a_wrong_argument(arguments, named):
    with pytest.raises(ValueError, match=rf"^{named}: "):
        quantile_bounds(*arguments)


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


# --- means -----------------------------------------------------------------------------------


def test_a_mean_needs_two_values():
    rng = np.random.default_rng(0)
    assert mean_interval([], 0.95, rng) is None
    assert mean_interval([3.0], 0.95, rng) is None
    assert mean_interval([3.0, 3.0], 0.95, rng) == ConfidenceInterval(3.0, 3.0)


def test_a_mean_interval_is_that_of_its_seed_whatever_the_order():
    values = np.random.default_rng(0).normal(size=30).tolist()
    first = mean_interval(values, 0.9, np.random.default_rng(3))
    assert first == mean_interval(values[::-1], 0.9, np.random.default_rng(3))
    assert first != mean_interval(values, 0.9, np.random.default_rng(4))


def test_resampling_in_blocks_agrees_with_theory():
    """4,000 values are resampled 500 at a time; the bootstrap then is nearly normal."""
    values = np.random.default_rng(1).normal(10, 2, size=4000)
    found = mean_interval(values.tolist(), 0.95, np.random.default_rng(2))
    half = 1.959964 * values.std() / math.sqrt(len(values))
    assert ends(found) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.01)


def test_a_mean_interval_agrees_with_the_bootstrap_of_scipy():
    from scipy.stats import bootstrap

    values = np.random.default_rng(5).exponential(size=40)
    found = mean_interval(values.tolist(), 0.95, np.random.default_rng(6), resamples=20_000)
    theirs = bootstrap(
        (values,), np.mean, method="percentile", n_resamples=20_000, rng=np.random.default_rng(8)
    ).confidence_interval
    assert ends(found) == pytest.approx((theirs.low, theirs.high), abs=0.02)


@pytest.mark.parametrize(
    ("values", "options", "named"),
    [
        ([1.0, math.inf], {}, "values"),
        ([1.0, 2.0], {"confidence": 1.5}, "confidence"),
        ([1.0, 2.0], {"resamples": 0}, "resamples"),
        ([1.0, 2.0], {"resamples": True}, "resamples"),
    ],
)
def test_means_name_a_wrong_argument(values, options, named):
    arguments = {"confidence": 0.95, "rng": np.random.default_rng(0), **options}
    with pytest.raises(ValueError, match=rf"^{named}: "):
        mean_interval(values, **arguments)


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


@pytest.mark.parametrize("position", range(4))
def test_a_negative_count_is_named(position):
    counts = [1, 1, 1, 1]
    counts[position] = -1
    name = ("both", "broke", "fixed", "neither")[position]
    with pytest.raises(ValueError, match=rf"^{name}: "):
        paired_difference_interval(*counts)


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
