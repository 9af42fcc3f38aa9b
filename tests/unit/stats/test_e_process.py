"""The betting e-process for "not worse by the margin", and the interval of a mean score."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.stats.paired.noninferiority import not_worse_capital

MARGINS = [0.02, 0.05, 0.3, 0.9]
SAMPLES = st.lists(st.sampled_from([-1, 0, 1]), max_size=80)


def at_the_margin(margin, fixed):
    """The chances of 1, 0 and -1 with which the mean drop is the margin, by how many are fixed."""
    return {1: margin + fixed, 0: 1 - margin - 2 * fixed, -1: fixed}


DISTRIBUTIONS = [
    at_the_margin(margin, fixed * (1 - margin) / 2) for margin in MARGINS for fixed in (0, 0.3, 1)
]


def paths(distribution, n):
    """Every sequence of n differences with its chance."""
    for path in product(distribution, repeat=n):
        yield path, math.prod(distribution[x] for x in path)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("worse", [0, 0.2])
def test_at_the_margin_or_worse_nobody_gains_on_average(distribution, worse):
    margin = distribution[1] - distribution[-1]
    moved = worse * distribution[0]
    drop = {**distribution, 1: distribution[1] + moved, 0: distribution[0] - moved}
    expected = np.zeros(6)
    for path, chance in paths(drop, 6):
        expected += chance * not_worse_capital(path, margin)
    assert (expected <= 1 + 1e-9).all()
    if worse == 0:
        assert expected == pytest.approx(np.ones(6))  # every bet is fair


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_the_capital_ever_reaches_one_in_alpha_with_chance_alpha_at_most(distribution):
    margin = distribution[1] - distribution[-1]
    reached = dict.fromkeys([0.9, 0.75, 0.5, 0.2], 0.0)
    for path, chance in paths(distribution, 7):
        most = not_worse_capital(path, margin).max()
        for alpha in reached:
            reached[alpha] += chance * (most >= 1 / alpha)
    assert {alpha: found for alpha, found in reached.items() if found > alpha + 1e-9} == {}


def test_the_mean_may_be_the_margin_in_another_way_at_every_pair():
    """All that is asked for is the mean, given what came before."""
    margin = 0.1
    ways = [at_the_margin(margin, fixed) for fixed in (0.0, 0.4, 0.2, 0.0, 0.45)]
    expected = np.zeros(5)
    for path in product([1, 0, -1], repeat=5):
        chance = math.prod(way[x] for way, x in zip(ways, path, strict=True))
        expected += chance * not_worse_capital(path, margin)
    assert expected == pytest.approx(np.ones(5))


@given(SAMPLES, st.sampled_from([-1, 0, 1]), st.sampled_from(MARGINS))
def test_a_stake_is_made_before_the_pair_is_seen(before, last, margin):
    longer = not_worse_capital([*before, last], margin)
    assert longer[:-1] == pytest.approx(not_worse_capital(before, margin), rel=1e-12)


@given(SAMPLES, st.sampled_from(MARGINS))
def test_a_bet_is_won_where_the_fixture_drops_less_than_the_margin(before, margin):
    after = {x: not_worse_capital([*before, x], margin)[-1] for x in (-1, 0, 1)}
    assert after[-1] >= after[0] >= after[1] > 0
    start = not_worse_capital(before, margin)[-1] if before else 1.0
    assert after[0] >= start * (1 - 1e-12)
    assert after[1] >= 0.1 * start * (1 - 1e-9)  # a lost bet leaves some of the capital


@given(SAMPLES, st.floats(1e-6, 1 - 1e-6))
def test_the_capital_is_a_positive_number(differences, margin):
    capital = not_worse_capital(differences, margin)
    assert len(capital) == len(differences)
    assert np.isfinite(capital).all()
    assert (capital > 0).all()


def test_unchanged_fixtures_make_it_grow_without_end():
    capital = not_worse_capital([0] * 500, 0.05)
    assert (np.diff(capital) > 0).all()
    assert capital[-1] > 1e6


def test_nothing_seen_is_nothing_gained():
    assert not_worse_capital([], 0.05).tolist() == []


def test_arrays_and_lists_are_alike():
    differences = [0, 1, -1, 0, 0, 1]
    as_array = not_worse_capital(np.array(differences, dtype=np.int8), 0.2)
    assert as_array.tolist() == not_worse_capital(differences, 0.2).tolist()
