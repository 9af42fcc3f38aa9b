"""Durkalski's clustered McNemar test."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference_values import cases

from gatekeeper.stats.durkalski import durkalski
from gatekeeper.stats.mcnemar import mcnemar_chi_square

clusters = st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=30)


def compare(of):
    """The test of (broke, fixed, unchanged) of each cluster."""
    return durkalski([b for b, _, _ in of], [c for _, c, _ in of], [sum(one) for one in of])


@pytest.mark.parametrize("case", cases("durkalski", "comparisons"), ids=lambda case: case["name"])
def test_it_agrees_with_fractions(case):
    found = durkalski(case["broke"], case["fixed"], case["pairs"])
    assert found.statistic == pytest.approx(case["statistic"], rel=1e-12)
    assert found.p_value == pytest.approx(case["p_value"], rel=1e-10)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 10))
def test_with_one_pair_a_cluster_it_is_the_uncorrected_chi_square(broke, fixed, same):
    found = compare([(1, 0, 0)] * broke + [(0, 1, 0)] * fixed + [(0, 0, 1)] * same)
    if broke + fixed == 0 or broke + fixed + same < 2:
        assert found is None
        return
    assert found.p_value == pytest.approx(mcnemar_chi_square(broke, fixed, corrected=False))


@given(clusters, st.randoms())
def test_neither_order_nor_side_nor_empty_clusters_matter(of, random):
    found = compare(of)
    shuffled = [*of, (0, 0, 0)]
    random.shuffle(shuffled)
    assert compare(shuffled) == found
    assert compare([(c, b, same) for b, c, same in of]) == found
    if found is not None:
        assert found.statistic >= 0
        assert 0 <= found.p_value <= 1


@given(clusters, st.integers(2, 5))
def test_repeating_every_sample_adds_no_evidence(of, times):
    found, repeated = compare(of), compare([tuple(times * count for count in one) for one in of])
    if found is None:
        assert repeated is None
    else:
        assert repeated.p_value == pytest.approx(found.p_value, rel=1e-6, abs=1e-12)


@given(st.integers(2, 60))
def test_more_clusters_of_one_kind_are_more_evidence(n):
    assert compare([(1, 0, 4)] * (n + 1)).p_value < compare([(1, 0, 4)] * n).p_value


def test_without_two_clusters_or_a_difference_there_is_no_statistic():
    assert durkalski([], [], []) is None
    assert durkalski([3], [0], [5]) is None
    assert durkalski([3, 0], [0, 0], [5, 0]) is None
    assert durkalski([0, 0, 2], [0, 0, 2], [5, 5, 4]) is None


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (([1], [1, 0], [2, 2]), "pairs"),
        (([1, 0], [1, 0], [2]), "pairs"),
        (([2], [1], [2]), "pairs"),
        (([-1], [1], [2]), "broke"),
        (([1], [0.5], [2]), "fixed"),
        (([0], [0], [-2]), "pairs"),
    ],
)
def test_a_wrong_argument_is_named(arguments, named):
    with pytest.raises(ValueError, match=rf"^{named}: "):
        durkalski(*arguments)
