"""How many broken fixtures are too many for chance."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from gatekeeper.stats.paired.mcnemar import critical_counts

CASES = json.loads((Path(__file__).parents[2] / "reference" / "sequential.json").read_text())
LEVELS = st.floats(1e-6, 0.9)


@pytest.mark.parametrize("case", CASES["critical_counts"]["cases"])
def test_it_agrees_with_scipys_quantiles(case):
    assert critical_counts([case["level"]] * case["n"])[-1] == case["fewest"]


@given(st.lists(LEVELS, min_size=1, max_size=60))
def test_they_are_the_fewest_that_chance_gives_seldom_enough(levels):
    levels = sorted(levels, reverse=True)
    found = critical_counts(levels)
    assert found[0] == 1  # of no changed fixture not even "all" is one too many
    for n, (level, fewest) in enumerate(zip(levels, found[1:], strict=True), start=1):
        assert binom.sf(fewest - 1, n, 0.5) <= level * (1 + 1e-9)
        assert binom.sf(fewest - 2, n, 0.5) > level * (1 - 1e-9)


@given(LEVELS, st.integers(1, 300))
def test_they_grow_by_no_more_than_the_fixtures_do(level, n):
    found = critical_counts([level] * n)
    assert all(0 <= b - a <= 1 for a, b in pairwise(found))


def test_too_few_fixtures_are_never_enough():
    assert critical_counts([0.05] * 5) == [1, 2, 3, 4, 5, 5]


def test_a_level_is_reached_by_equality():
    assert critical_counts([0.5, 0.25, 0.125]) == [1, 1, 2, 3]


@pytest.mark.parametrize("level", [1e-17, 1e-50, 5e-324])
def test_a_level_too_small_for_the_sums_to_hold_still_ends(level):
    """Beyond all n nothing is left of the tail but rounding, which such a level lies below."""
    found = critical_counts([level] * 300)
    assert len(found) == 301
    assert all(few <= n + 1 for n, few in enumerate(found))
    assert found[1:60] == list(range(2, 61)) or level > 2.0**-59


def test_no_level_gives_the_empty_walk():
    assert critical_counts([]) == [1]


def test_rounding_does_not_add_up():
    assert critical_counts([0.05] * 5000)[-1] == int(binom.isf(0.05, 5000, 0.5)) + 1
