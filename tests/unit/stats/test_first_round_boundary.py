"""The boundary that the first draw of each fixture is watched with."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper.stats.paired.first_round_boundary import (
    Walk,
    first_crossing,
    walk_boundary,
    walk_p_value,
)
from gatekeeper.stats.paired.mcnemar import critical_counts, mcnemar_exact

LEVELS = st.sampled_from([0.004, 0.02, 0.05, 0.1, 0.3, 0.6])


def walks(n):
    return list(product([1, -1], repeat=n))


def slow_crossing(walk, differences):
    """Step by step, as the boundary reads."""
    changed = broke = 0
    for pairs, d in enumerate(differences, start=1):
        changed, broke = changed + (d != 0), broke + (d > 0)
        if broke >= walk.fewest[changed]:
            return pairs
    return None


@settings(max_examples=25)
@given(st.integers(0, 11), LEVELS)
def test_a_harmless_change_crosses_with_the_chance_it_states(n, level):
    walk = walk_boundary(n, level)
    crossed = [first_crossing(walk, way) for way in walks(n)]
    for k in range(n + 1):
        share = sum(c is not None and c <= k for c in crossed) / len(crossed)
        assert walk.spent[k] == pytest.approx(share, abs=1e-12)
    assert walk.spent[n] <= level


@settings(max_examples=20)
@given(st.integers(0, 200), st.floats(1e-4, 0.9))
def test_the_level_is_kept_for_every_number_of_fixtures(n, level):
    walk = walk_boundary(n, level)
    assert len(walk.fewest) == len(walk.spent) == n + 1
    assert walk.spent[0] == 0
    assert (np.diff(walk.spent) >= 0).all()
    assert walk.spent[-1] <= level
    assert ((walk.fewest >= 1) & (walk.fewest <= np.arange(n + 1) + 1)).all()


def test_with_many_fixtures_nearly_all_of_the_level_is_spent():
    assert all(walk_boundary(n, 0.02).spent[-1] > 0.9 * 0.02 for n in (50, 100, 400))


def test_a_broken_prompt_is_found_by_a_handful_of_pairs():
    assert first_crossing(walk_boundary(100, 0.02), [1] * 100) <= 9


@settings(max_examples=20)
@given(st.integers(0, 150), st.integers(1, 12), st.sampled_from([0.01, 0.05, 0.1]))
def test_a_stricter_boundary_lies_within_a_looser_one(n, m, alpha):
    loose, strict = walk_boundary(n, 0.4 * alpha / m), walk_boundary(n, 0.4 * alpha / (m + 1))
    assert (strict.fewest >= loose.fewest).all()
    assert (strict.spent <= loose.spent).all()


@settings(max_examples=20)
@given(st.integers(1, 60), LEVELS, st.data())
def test_it_crosses_where_the_count_of_broken_reaches_the_boundary(n, level, data):
    walk = walk_boundary(n, level)
    signs = st.sampled_from([-1, 0, 1, 1, 1])
    differences = data.draw(st.lists(signs, max_size=n))
    found = first_crossing(walk, differences)
    assert found == slow_crossing(walk, differences)
    assert found == first_crossing(walk, np.array(differences, dtype=np.int8))
    unchanged = [d for d in differences if d]
    if found is None:
        assert first_crossing(walk, unchanged) is None
    else:
        seen = differences[:found]
        assert first_crossing(walk, unchanged) == sum(d != 0 for d in seen)
        assert first_crossing(walk, seen) == found


@settings(max_examples=20)
@given(st.integers(0, 10), LEVELS, st.data())
def test_the_p_value_counts_those_that_cross_and_those_that_end_as_far(n, level, data):
    walk = walk_boundary(n, level)
    broke = data.draw(st.integers(0, n))
    ways = walks(n)
    as_far = sum(
        first_crossing(walk, way) is not None or way.count(1) >= broke for way in ways
    ) / len(ways)
    assert walk_p_value(walk, n, broke) == pytest.approx(as_far, abs=1e-12)


@settings(max_examples=20)
@given(st.integers(1, 200), LEVELS, st.data())
def test_the_p_value_lies_between_mcnemars_and_that_plus_what_was_spent(n, level, data):
    walk = walk_boundary(n, level)
    changed = data.draw(st.integers(0, n))
    broke = data.draw(st.integers(0, changed))
    alone = mcnemar_exact(broke, changed - broke)
    p = walk_p_value(walk, changed, broke)
    assert alone - 1e-12 <= p <= min(1, alone + walk.spent[changed]) + 1e-12


@pytest.mark.parametrize("level", [1e-50, 1e-300])
def test_a_tiny_level_has_a_boundary_that_keeps_it(level):
    walk = walk_boundary(200, level)
    assert walk.spent[-1] <= level
    assert first_crossing(walk, [1] * 50) is None


def test_no_fixture_never_crosses():
    walk = walk_boundary(0, 0.05)
    assert walk.fewest.tolist() == [1]
    assert walk.spent.tolist() == [0]
    assert first_crossing(walk, []) is None
    assert walk_p_value(walk, 0, 0) == 1


def test_one_fixture_is_never_enough():
    walk = walk_boundary(1, 0.05)
    assert first_crossing(walk, [1]) is None
    assert walk_p_value(walk, 1, 1) == 0.5


def test_a_boundary_of_ones_own_is_read_alike():
    fewest = np.array(critical_counts([0.05] * 6))
    walk = Walk(fewest, np.zeros(7))
    assert first_crossing(walk, [0, 1, 1, 0, 1, 1, 1]) == 7
    assert first_crossing(walk, [-1, 1, 1, 1, 1, 1]) is None
