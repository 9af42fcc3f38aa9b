"""Weights from earlier runs: what they are, that the test keeps its level, and what they show."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sequential_designs import LEVELS, drawn, every_sign, plan, run, table

from gatekeeper.stats.paired.fixture_weights import fixture_weights
from gatekeeper.stats.paired.sign_flip import sign_flip_test

COUNTS = st.integers(0, 200).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
WEIGHTS = st.lists(st.integers(1, 8), min_size=7, max_size=7).map(tuple)


def test_by_hand():
    """8 nights: (8.5/9, 4.5/9) have variances of 0.125 and 0.52, so the ratio is 1.92 of 8."""
    assert fixture_weights([(8, 0), (8, 4)], 1) == (8, 2)
    assert fixture_weights([(80, 0), (80, 40), (80, 8)], 10) == (8, 2, 4)


@given(st.lists(COUNTS, max_size=20), st.integers(1, 20))
def test_they_are_whole_numbers_and_the_steadiest_has_the_most(counts, rounds):
    weights = fixture_weights(counts, rounds)
    if not weights:
        return
    assert len(weights) == len(counts)
    assert max(weights) == 8
    assert min(weights) >= 1
    rates = [abs((n - failed + 0.5) / (n + 1) - 0.5) for n, failed in counts]
    assert weights[rates.index(max(rates))] == 8


@pytest.mark.parametrize("counts", [[], [(8, 1)] * 5, [(8, 0), (8, 8)], [(0, 0)] * 3])
def test_where_all_are_as_steady_there_are_none(counts):
    assert fixture_weights(counts, 3) == ()


@settings(max_examples=20, deadline=None)
@given(drawn(), WEIGHTS, LEVELS)
def test_weights_keep_the_level_over_all_choices_of_signs(differences, weights, level):
    test = plan(len(differences), differences.shape[1], level, 0.3)
    test = replace(test, weights=weights[: len(differences)])
    ways = list(every_sign(differences))
    found = [test.evaluate(way, way[:, 0]) for way in ways]
    stops = [run(test, way)[0] == "regressed" for way in ways]
    assert sum(stops) <= level * len(ways) + 1e-9
    for p in {f.p_value for f in found if f.regressed}:
        assert sum(f.p_value <= p for f in found) <= p * len(ways) * (1 + 1e-9)
    last = replace(test, early=False)
    assert not any(last.evaluate(way, way[:, 0]).regressed for way in ways if way.sum() <= 0)


@settings(max_examples=20, deadline=None)
@given(drawn(), st.integers(1, 8), LEVELS)
def test_equal_weights_change_nothing(differences, weight, level):
    for early in (True, False):
        test = plan(len(differences), differences.shape[1], level, 0.3, early=early)
        same = replace(test, weights=(weight,) * len(differences))
        assert run(test, differences) == run(same, differences)
        plain, weighed = (t.evaluate(differences, differences[:, 0]) for t in (test, same))
        assert plain.regressed == weighed.regressed
        assert weighed.p_value == pytest.approx(plain.p_value)


@settings(max_examples=20, deadline=None)
@given(drawn(fewest=1), WEIGHTS)
def test_a_single_look_is_the_sign_flip_test_of_the_weighted_differences(differences, weights):
    test = plan(len(differences), differences.shape[1], early=False)
    test = replace(test, weights=weights[: len(differences)])
    totals = differences.sum(axis=1, dtype=int)
    counted = totals * test.weights if totals.sum() > 0 else totals
    expected = sign_flip_test(counted.tolist())
    assert test.evaluate(differences, differences[:, 0]).p_value == expected


def flickering_suite():
    """Of 20 fixtures, 8 broke for good; 12 flicker, 6 each way."""
    return table([[1]] * 8 + [[1], [-1]] * 6)


def test_a_drop_that_flicker_hides_is_found():
    differences = flickering_suite()
    plain = plan(20, 1, early=False)
    weighed = replace(plain, weights=(8,) * 8 + (1,) * 12)
    assert not plain.evaluate(differences, differences[:, 0]).regressed
    assert weighed.evaluate(differences, differences[:, 0]).regressed


def test_head_is_not_worse_where_it_passes_more_often():
    """Twelve that flickered were fixed, and eight steady ones broke: on the whole a gain."""
    differences = table([[1]] * 8 + [[-1]] * 12)
    test = replace(plan(20, 1, early=False), weights=(8,) * 8 + (1,) * 12)
    assert not test.evaluate(differences, differences[:, 0]).regressed
    assert test.evaluate(-differences, -differences[:, 0]).p_value > 0.05


def test_more_samples_are_not_futile_where_only_the_flicker_hides_a_drop():
    seen = table([[1]] * 8 + [[1], [-1], [-1]] * 40 + [[0]] * 100)
    plain = plan(len(seen), 20)
    weighed = replace(plain, weights=(8,) * 8 + (1,) * 120 + (8,) * 100)
    assert [test.is_futile(seen, seen[:0, 0]) for test in (plain, weighed)] == [True, False]
