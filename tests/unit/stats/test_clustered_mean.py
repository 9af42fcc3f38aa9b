"""The interval of a mean over clusters, against scipy's t interval and against its coverage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gatekeeper.stats.intervals import clustered_mean_interval

values = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30)


@given(values, st.sampled_from([0.9, 0.95, 0.999]))
def test_with_one_sample_a_cluster_it_is_the_t_interval(totals, confidence):
    found = clustered_mean_interval(totals, [1] * len(totals), confidence)
    error = stats.sem(totals)
    half = error * stats.t.ppf((1 + confidence) / 2, len(totals) - 1)
    assert found.low == pytest.approx(np.mean(totals) - half, abs=1e-6)
    assert found.high == pytest.approx(np.mean(totals) + half, abs=1e-6)


@given(values, st.integers(2, 9))
def test_copies_of_a_cluster_are_no_new_evidence(totals, copies):
    once = clustered_mean_interval(totals, [1] * len(totals))
    often = clustered_mean_interval([copies * t for t in totals], [copies] * len(totals))
    assert (often.low, often.high) == pytest.approx((once.low, once.high), abs=1e-6)


@pytest.mark.parametrize(("totals", "samples"), [([], []), ([3.0], [1]), ([3.0, 0.0], [2, 0])])
def test_below_two_clusters_there_is_none(totals, samples):
    assert clustered_mean_interval(totals, samples) is None


@pytest.mark.parametrize(("most", "least_covered"), [(4, 0.935), (7, 0.91)])
def test_it_covers_the_mean(most, least_covered):
    """Of clusters of one size as often as promised; where their sizes differ, nearly so."""
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(1000):
        sizes = rng.integers(4 if most == 4 else 1, most + 1, 20)
        totals = [float((rng.normal(10, 2) + rng.normal(0, 1, n)).sum()) for n in sizes]
        found = clustered_mean_interval(totals, [int(n) for n in sizes])
        covered += found.low <= 10 <= found.high
    assert covered >= 1000 * least_covered
