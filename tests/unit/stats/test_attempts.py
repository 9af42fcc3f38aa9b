"""How often all of k samples pass, or any of them: without bias, and seldom proven wrongly."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.stats.intervals.gaffke import proven_side
from gatekeeper.stats.objectives.attempts import all_of, any_of

SIZES = st.integers(1, 7).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n)))


@given(SIZES, st.data())
def test_they_are_the_shares_of_all_choices(size, data):
    k, n = size
    samples = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    choices = list(combinations(samples, k))
    passed = sum(samples)
    assert all_of(k, passed, n) == pytest.approx(sum(map(all, choices)) / len(choices))
    assert any_of(k, passed, n) == pytest.approx(sum(map(any, choices)) / len(choices))


@given(SIZES, st.fractions(0, 1, max_denominator=9))
def test_they_are_right_on_average_whatever_the_number_of_samples(size, chance):
    k, n = size
    each = [comb(n, c) * chance**c * (1 - chance) ** (n - c) for c in range(n + 1)]
    for estimate, truth in ((all_of, chance**k), (any_of, 1 - (1 - chance) ** k)):
        mean = sum(w * Fraction(estimate(k, c, n)) for c, w in enumerate(each))
        assert float(mean) == pytest.approx(float(truth), abs=1e-12)


@pytest.mark.parametrize(("k", "passed", "n"), [(0, 1, 2), (3, 2, 2), (1, 3, 2), (1, -1, 2)])
def test_impossible_counts_are_refused(k, passed, n):
    for estimate in (all_of, any_of):
        with pytest.raises(ValueError, match=r"k:|passed"):
            estimate(k, passed, n)


SHAPES = {
    "each input is sure or hopeless": lambda draw, n: draw.random(n) < 0.7,
    "every input flickers alike": lambda draw, n: np.full(n, 0.9),
    "most are sure, some flicker": lambda draw, n: np.where(draw.random(n) < 0.8, 1.0, 0.3),
    "rarely hopeless": lambda draw, n: np.where(draw.random(n) < 0.03, 0.0, 0.995),
    "all kinds": lambda draw, n: draw.beta(0.8, 0.4, n),
}


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("inputs", "k", "n"), [(12, 3, 3), (40, 4, 8)])
def test_a_target_that_holds_exactly_is_seldom_proven_met_or_missed(shape, inputs, k, n):
    """Each side errs in 2.5 % of runs at most; 28 of 600 has a chance below one in a thousand."""
    runs, draw = 600, np.random.default_rng(20261127)
    chances = SHAPES[shape](draw, 400_000)
    truths = {all_of: float((chances**k).mean()), any_of: float((1 - (1 - chances) ** k).mean())}
    proven = {(estimate, side): 0 for estimate in truths for side in ("above", "below", None)}
    for _ in range(runs):
        passed = draw.binomial(n, draw.choice(chances, inputs))
        for estimate, truth in truths.items():
            values = [estimate(k, int(c), n) for c in passed]
            proven[estimate, proven_side(values, truth, 0.95)] += 1
    assert all(proven[e, side] <= 28 for e in truths for side in ("above", "below"))
    # The bound is not empty: the same samples miss a target that is far too high.
    values = [all_of(k, int(c), n) for c in draw.binomial(n, np.full(inputs, 0.5))]
    assert proven_side(values, 0.95, 0.95) == "below"
