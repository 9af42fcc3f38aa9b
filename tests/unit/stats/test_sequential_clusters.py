"""The sequential test over clusters counts totals of several fixtures. Its level is a theorem about
ways to choose the clusters' signs, so it is held against all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.sequential_designs import LEVELS, ROUNDS, every_sign, plan

from gatekeeper.stats.paired.sign_flip import sign_flip_test


def totals(rows):
    return np.array(rows, dtype=np.int64)


@st.composite
def clusters(draw, rounds):
    """Sizes, and totals of shape (clusters, rounds) within them."""
    sizes = draw(st.lists(st.integers(1, 10), min_size=1, max_size=7))
    whole = [
        draw(
            st.one_of(
                st.sampled_from([-size, 0, size]).map(lambda d: [d] * rounds),
                st.lists(st.integers(-size, size), min_size=rounds, max_size=rounds),
            )
        )
        for size in sizes
    ]
    return totals(sizes), totals(whole).reshape(len(sizes), rounds)


def stop_of(test, drawn, sizes):
    early = test.after_pairs(drawn[:, 0], drawn[:, 0], sizes)
    if early:
        return early[0]
    for done in range(1, test.rounds + 1):
        stop = test.after_round(drawn[:, :done], drawn[:, :done], sizes)
        if stop:
            return stop
    raise AssertionError("it must end when all is drawn")


def keeps_its_level(sizes, drawn, level, margin):
    test = plan(len(drawn), drawn.shape[1], level, margin)
    ways = list(every_sign(drawn))
    stops = [stop_of(test, way, sizes) for way in ways]
    assert stops.count("regressed") <= level * len(ways) + 1e-9
    found = [test.evaluate(way, way[:, 0]) for way in ways]
    assert sum(f.regressed for f in found) <= level * len(ways) + 1e-9
    for p in {f.p_value for f in found if f.regressed}:
        assert sum(f.p_value <= p for f in found) <= p * len(ways) * (1 + 1e-9)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_of_all_ways_to_choose_the_signs_no_more_than_the_level_regress(rounds):
    @settings(max_examples=15, deadline=None)
    @given(clusters(rounds), LEVELS, st.sampled_from([0.0, 0.3]))
    @example((totals([10] * 7), totals([[10] * rounds] * 7)), 0.05, 0.3)
    @example((totals([9, 1, 1, 1, 3, 3]), totals([[9], [1], [1], [-1], [3], [2]])), 0.2, 0.0)
    def check(drawn, level, margin):
        keeps_its_level(*drawn, level, margin)

    check()


@given(clusters(1), st.sampled_from([0.05, 0.2]))
@settings(max_examples=40, deadline=None)
def test_not_early_it_is_the_sign_flip_test_on_totals(drawn, level):
    _, rows = drawn
    found = plan(len(rows), 1, level, early=False).evaluate(rows, rows[:, 0])
    assert found.p_value == sign_flip_test(rows[:, 0].tolist())


def test_not_worse_needs_clusters_and_not_fixtures():
    def stop(number, size):
        rows = np.zeros((number, 1), dtype=np.int64)
        return stop_of(plan(number, 1), rows, np.full(number, size))

    assert stop(72, 1) == stop(72, 10) == "not_worse"
    assert stop(71, 10) == "exhausted"


def test_a_large_cluster_that_broke_stands_against_not_worse():
    rows = np.zeros((200, 1), dtype=np.int64)
    rows[0] = 20
    sizes = np.ones(200, dtype=np.int64)
    sizes[0] = 20
    assert stop_of(plan(200, 1, margin=0.1), rows, sizes) == "not_worse"
    assert stop_of(plan(200, 1, margin=0.09), rows, sizes) == "exhausted"
