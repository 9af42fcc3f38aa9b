"""Bootstrap intervals: of means, of rates by cluster, of paired differences, over time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference_values import cases, ends

from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.bootstrap import (
    block_bootstrap_interval,
    clustered_bootstrap_interval,
    mean_interval,
    politis_white_block_length,
)
from gatekeeper.stats.intervals.intervals import clustered_rate_interval


def seeded(seed=0):
    return np.random.default_rng(seed)


def autoregressive(n, share, seed):
    """Each value is `share` of the one before it plus noise of variance 1."""
    noise = seeded(seed).normal(size=n)
    values = np.empty(n)
    values[0] = noise[0] / math.sqrt(1 - share**2)
    for t in range(1, n):
        values[t] = share * values[t - 1] + noise[t]
    return values


small = st.floats(-1e6, 1e6)
samples_of = st.lists(small, min_size=2, max_size=40)


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


# --- paired differences ----------------------------------------------------------------------


def test_pairs_leave_out_what_fixtures_have_in_common():
    """Fixtures differ by seconds, the arms by 100 ms: the differences show it."""
    base = seeded(1).uniform(500, 9000, size=60)
    head = base + seeded(2).normal(100, 20, size=60)
    found = mean_interval((head - base).tolist(), 0.95, seeded())
    assert 85 < found.low < 100 < found.high < 115


@pytest.mark.parametrize(
    "case", [c for c in cases("difference_interval", "comparisons") if c["quantile"] is None]
)
def test_differences_agree_with_the_bootstrap_of_scipy(case):
    found = mean_interval(case["differences"], case["confidence"], seeded(1), resamples=20_000)
    assert ends(found) == pytest.approx(case["interval"], abs=1.0)


# --- clusters --------------------------------------------------------------------------------


def test_a_rate_needs_two_clusters_with_a_sample():
    assert clustered_bootstrap_interval([], [], 0.95, seeded()) is None
    assert clustered_bootstrap_interval([3, 0], [5, 0], 0.95, seeded()) is None
    assert clustered_bootstrap_interval([5, 5], [5, 5], 0.95, seeded()) == ConfidenceInterval(1, 1)


@given(
    st.lists(
        st.integers(1, 9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
        min_size=2,
        max_size=30,
    ),
    st.randoms(),
)
def test_the_order_of_clusters_and_empty_ones_do_not_matter(clusters, random):
    shuffled = [*clusters, (0, 0)]
    random.shuffle(shuffled)
    found, again = (
        clustered_bootstrap_interval(*zip(*order, strict=True), 0.9, seeded(), resamples=50)
        for order in (clusters, shuffled)
    )
    assert found == again
    rates = [k / n for k, n in clusters]
    assert min(rates) - 1e-12 <= found.low <= found.high <= max(rates) + 1e-12


def test_copies_of_a_sample_are_worth_nothing():
    once = clustered_bootstrap_interval([1] * 18 + [0] * 2, [1] * 20, 0.95, seeded())
    often = clustered_bootstrap_interval([40] * 18 + [0] * 2, [40] * 20, 0.95, seeded())
    assert once == often


def test_many_clusters_agree_with_the_ratio_estimator_of_the_survey_interval():
    rng = seeded(3)
    samples = rng.integers(2, 9, size=400)
    passed = rng.binomial(samples, rng.beta(6, 2, size=400))
    found = clustered_bootstrap_interval(passed.tolist(), samples.tolist(), 0.95, seeded(4))
    survey = clustered_rate_interval(passed.tolist(), samples.tolist())
    assert ends(found) == pytest.approx(ends(survey), abs=0.004)


@pytest.mark.parametrize("case", cases("cluster_interval", "comparisons"))
def test_a_rate_by_cluster_agrees_with_the_bootstrap_of_scipy(case):
    found = clustered_bootstrap_interval(
        case["passed"], case["samples"], case["confidence"], seeded(1), resamples=20_000
    )
    assert ends(found) == pytest.approx(case["interval"], abs=0.005)


# --- over time -------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("block_length", "comparisons"))
def test_the_block_length_agrees_with_arch(case):
    found = politis_white_block_length(case["values"])
    assert found == pytest.approx(max(1.0, case["circular"]), rel=1e-9)


@given(st.lists(st.floats(-1e100, 1e100), max_size=60))
def test_a_block_is_at_least_a_value_and_never_most_of_the_series(values):
    length = politis_white_block_length(values)
    if len(values) < 2:
        assert length is None
        return
    assert 1 <= length <= math.ceil(min(3 * math.sqrt(len(values)), len(values) / 3))


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=60), st.sampled_from([0.25, -8.0, 64.0]))
def test_the_block_length_has_no_unit(values, unit):
    scaled = politis_white_block_length([unit * v for v in values])
    assert scaled == pytest.approx(politis_white_block_length(values))


def test_slow_series_get_long_blocks_and_independent_values_short_ones():
    independent = np.mean(
        [politis_white_block_length(autoregressive(300, 0.0, s).tolist()) for s in range(20)]
    )
    slow = np.mean(
        [politis_white_block_length(autoregressive(300, 0.8, s).tolist()) for s in range(20)]
    )
    assert independent < 5 < 10 < slow


def test_a_series_whose_memory_does_not_end_gets_the_longest_block():
    assert politis_white_block_length([1.0, -1.0] * 20) == math.ceil(40 / 3)


def test_two_values_are_resampled_one_by_one():
    """Their correlations, 1 and twice -1/2, add up to nothing: the length divides by that."""
    assert politis_white_block_length([-1.0, 1.0]) == 1.0


def test_series_too_short_for_two_blocks_have_no_interval():
    assert block_bootstrap_interval([], 0.95, seeded()) is None
    assert block_bootstrap_interval([1.0], 0.95, seeded()) is None
    assert block_bootstrap_interval([1.0, 2.0, 3.0], 0.95, seeded(), block_length=2) is None
    assert block_bootstrap_interval([1.0, 2.0, 3.0, 4.0], 0.95, seeded(), block_length=2)


@given(samples_of, st.integers(1, 20))
def test_block_intervals_lie_among_the_values(values, block_length):
    found = block_bootstrap_interval(values, 0.9, seeded(), block_length, resamples=50)
    assert (found is None) == (len(values) < 2 * block_length)
    if found is not None:
        margin = 1e-9 * (max(values) - min(values))
        assert min(values) - margin <= found.low <= found.high <= max(values) + margin
    assert block_bootstrap_interval(values, 0.9, seeded(), resamples=50) is not None


def test_values_that_are_all_alike_stay_so_to_the_last_bit():
    found = block_bootstrap_interval([0.1] * 17, 0.95, seeded(), block_length=5)
    assert found == ConfidenceInterval(0.1, 0.1)


def test_blocks_of_one_value_are_the_ordinary_bootstrap():
    values = seeded(5).exponential(size=60)
    block = block_bootstrap_interval(values.tolist(), 0.95, seeded(6), 1, resamples=20_000)
    plain = mean_interval(values.tolist(), 0.95, seeded(7), resamples=20_000)
    assert ends(block) == pytest.approx(ends(plain), abs=0.02)


def test_resamples_are_as_long_as_the_series():
    """7 values in blocks of 3: two whole blocks and one of a single value, each from any of the
    7 starts on the ring. All 343 resamples are as likely."""
    values = seeded(1).exponential(size=7)
    ring = np.concatenate([values, values])
    sums = np.array([ring[s : s + 3].sum() for s in range(7)])
    means = (sums[:, None, None] + sums[None, :, None] + values[None, None, :]) / 7
    found = block_bootstrap_interval(values.tolist(), 0.8, seeded(), 3, resamples=40_000)
    assert ends(found) == pytest.approx(np.quantile(means, [0.1, 0.9]), abs=0.02)


@pytest.mark.parametrize("case", cases("block_interval", "comparisons"))
def test_an_interval_over_time_agrees_with_arch(case):
    found = block_bootstrap_interval(
        case["values"], case["confidence"], seeded(1), case["block_length"], resamples=20_000
    )
    assert ends(found) == pytest.approx(case["interval"], abs=0.03)


def test_an_interval_over_time_belongs_to_its_seed():
    values = autoregressive(80, 0.5, 1).tolist()
    first = block_bootstrap_interval(values, 0.9, seeded(3))
    assert first == block_bootstrap_interval(values, 0.9, seeded(3))
    assert first != block_bootstrap_interval(values, 0.9, seeded(4))


def test_blocks_cover_where_the_ordinary_bootstrap_does_not():
    """300 series of 200 values, each 0.7 of the one before it plus noise; the mean is 0."""
    covered = {"block": 0, "plain": 0}
    for seed in range(300):
        values = autoregressive(200, 0.7, seed).tolist()
        block = block_bootstrap_interval(values, 0.95, seeded(seed), resamples=400)
        plain = mean_interval(values, 0.95, seeded(seed), resamples=400)
        covered["block"] += block.low <= 0 <= block.high
        covered["plain"] += plain.low <= 0 <= plain.high
    assert covered["plain"] < 0.7 * 300
    assert covered["block"] > 0.83 * 300


def test_long_series_are_resampled_in_parts(monkeypatch):
    values = seeded(8).normal(size=3000).tolist()
    whole = block_bootstrap_interval(values, 0.95, seeded(9))
    monkeypatch.setattr("gatekeeper.stats.intervals.bootstrap._BLOCK", 5000)
    assert block_bootstrap_interval(values, 0.95, seeded(9)) == whole
