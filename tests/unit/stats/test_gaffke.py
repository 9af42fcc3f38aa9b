"""Gaffke's bound: against Clopper-Pearson, against weights drawn at random, and its level."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest

from gatekeeper.stats.intervals.gaffke import (
    chance_below,
    gaffke_interval,
    inputs_needed,
    proven_side,
)

shares = st.lists(st.floats(0, 1), min_size=1, max_size=40)
levels = st.sampled_from([0.5, 0.9, 0.95, 0.999])


@pytest.mark.parametrize(("n", "passed"), [(1, 0), (1, 1), (7, 3), (40, 38), (40, 40), (900, 890)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.9995])
def test_of_two_values_it_is_clopper_and_pearson(n, passed, confidence):
    found = gaffke_interval([1.0] * passed + [0.0] * (n - passed), 0, 1, confidence)
    wanted = binomtest(passed, n).proportion_ci(confidence, "exact")
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-6)


@pytest.mark.parametrize("mean", [0.001, 0.2, 0.5, 0.8, 0.9, 0.99, 0.9999])
@pytest.mark.parametrize(("n", "passed"), [(1, 1), (2, 1), (20, 19), (300, 297)])
def test_its_p_value_is_that_of_the_binomial_test(mean, n, passed):
    found = chance_below([1.0] * passed + [0.0] * (n - passed), mean)
    assert found == pytest.approx(beta.cdf(mean, passed, n - passed + 1), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    "values",
    [
        [0.2, 0.9, 0.5],
        [0.999] * 30 + [0.1],
        list(np.random.default_rng(0).beta(4, 1, 25)),
        [1e-6, 1e3, 2.0, 5.0, 5.0, 0.0],
    ],
)
def test_it_is_the_weighted_mean_with_weights_drawn_at_random(values):
    """As in Learned-Miller and Thomas (2020), algorithm 1."""
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.ones(len(values) + 1), 100_000)
    means = weights @ np.array([0.0, *values])
    for quantile in (0.02, 0.3, 0.8):
        at = float(np.quantile(means, quantile))
        assert chance_below(values, at) == pytest.approx(quantile, abs=0.006)


@pytest.mark.parametrize("mean", [5e-324, 1e-200, 1e-100])
def test_a_mean_next_to_nothing_is_hardly_ever_above(mean):
    assert chance_below([0.5, 1.0], mean) == pytest.approx(0, abs=1e-60)
    assert chance_below([mean / 2, 1e300], mean) < 1e-50


@given(shares, levels)
@example([0.0, 9.284863057141404e-223], 0.5)
@example([0.0, 5e-324, 1.0], 0.95)
def test_it_mirrors_and_moves_and_stretches_with_the_values(values, confidence):
    found = gaffke_interval(values, 0, 1, confidence)
    mirrored = gaffke_interval([1 - v for v in values], 0, 1, confidence)
    moved = gaffke_interval([5 + 10 * v for v in values], 5, 15, confidence)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low), abs=1e-5)
    assert (moved.low, moved.high) == pytest.approx(
        (5 + 10 * found.low, 5 + 10 * found.high), abs=1e-4
    )
    assert 0 <= found.low <= math.fsum(values) / len(values) + 1e-6 <= found.high + 2e-6
    assert found.low < found.high


@given(shares, st.integers(0, 39), st.floats(0, 1))
def test_a_better_value_never_lowers_it(values, place, better):
    place %= len(values)
    raised = [*values[:place], max(values[place], better), *values[place + 1 :]]
    before, after = gaffke_interval(values, 0, 1), gaffke_interval(raised, 0, 1)
    assert after.low >= before.low - 1e-6
    assert after.high >= before.high - 1e-6


@given(shares, st.randoms())
def test_the_order_says_nothing(values, random):
    mixed = random.sample(values, len(values))
    found, other = gaffke_interval(values, 0, 1), gaffke_interval(mixed, 0, 1)
    assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=1e-12)


@given(shares, st.sampled_from([0.0, 0.1, 0.5, 0.9, 0.95, 1.0]), levels)
def test_a_side_is_proven_where_the_interval_lies_on_it(values, target, confidence):
    found, side = gaffke_interval(values, 0, 1, confidence), proven_side(values, target, confidence)
    if abs(found.low - target) > 1e-5 and abs(found.high - target) > 1e-5:
        wanted = "above" if found.low > target else "below" if found.high < target else None
        assert side == wanted


@given(st.floats(0.01, 0.9995), levels)
def test_so_many_inputs_prove_a_target_and_one_fewer_does_not(target, confidence):
    needed = inputs_needed(target, confidence)
    tail = (1 - confidence) / 2
    assert tail ** (1 / needed) >= target
    assert needed == 1 or tail ** (1 / (needed - 1)) < target


def test_what_the_usual_targets_need():
    assert [inputs_needed(t, 0.95) for t in (0.8, 0.9, 0.95, 0.98, 0.99)] == [17, 36, 72, 183, 368]
    assert (inputs_needed(1.0, 0.95), inputs_needed(0.0, 0.95)) == (None, 1)
    assert proven_side([1.0] * 72, 0.95) == "above"
    assert proven_side([1.0] * 71, 0.95) is None


def test_nothing_is_known_of_nothing():
    assert gaffke_interval([], 0, 1) is None
    assert gaffke_interval([2.0], 2, 2) is None
    assert proven_side([], 0.5) is None


@pytest.mark.parametrize(
    ("shape", "inputs"),
    [
        ("rare", 60),
        pytest.param("rare", 200, marks=pytest.mark.long),
        ("flat", 15),
        ("half", 30),
        ("one", 8),
    ],
)
def test_it_seldom_proves_what_is_exactly_so(shape, inputs):
    """Hard shapes, each with a mean of exactly the target: 1,500 draws of each."""
    rng = np.random.default_rng(5)
    runs, target = 1500, 0.95
    above = below = 0
    for _ in range(runs):
        u = rng.random(inputs)
        values = {
            "rare": np.where(u < 0.045, 0.0, 0.95 / 0.955),
            "flat": 0.9 + 0.1 * u,
            "half": np.where(u < 0.1, 0.5, 1.0),
            "one": u ** (1 / 19),
        }[shape]
        side = proven_side(values.tolist(), target)
        above, below = above + (side == "above"), below + (side == "below")
    # More than 55 of 1,500 has a chance of 0.2 % where the rate is 2.5 %.
    assert max(above, below) <= 55
