"""The forecast of when a test stops, against simulations of the test and against any results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sequential_designs import plan, run

from gatekeeper.stats.paired.futility import is_look
from gatekeeper.stats.paired.stopping_time import ASSUMED_PASS_RATE, stopping_time

DESIGNS = [(40, 1, 0.2), (60, 5, 0.1), (200, 1, 0.05), (1000, 3, 0.05)]


def taken(test, differences) -> int:
    _, rounds, pairs = run(test, differences)
    first = differences[:, 0]
    looks = (n for n in range(1, test.fixtures) if is_look(n, test.fixtures))
    futile = (
        n
        for n in looks
        if test.is_futile(differences[:, :0], first[:n]) and first[:n].mean() <= test.margin
    )
    return min(
        test.fixtures * rounds if rounds else pairs, next(futile, test.fixtures * test.rounds)
    )


def flicker(test, rate, rng):
    shape = (2, test.fixtures, test.rounds)
    base, head = (rng.random(shape) < rate).astype(np.int8)
    return base - head


@pytest.mark.parametrize(("fixtures", "rounds", "margin"), DESIGNS)
def test_the_expected_number_is_the_mean_of_other_harmless_changes(fixtures, rounds, margin):
    test = plan(fixtures, rounds, margin=margin)
    rng = np.random.default_rng(99)
    seen = [taken(test, flicker(test, ASSUMED_PASS_RATE, rng)) for _ in range(60)]
    error = float(np.std(seen)) * (2 / 60) ** 0.5
    assert stopping_time(test).expected == pytest.approx(np.mean(seen), abs=4 * error + 1e-9)


@given(
    st.sampled_from([(1, 3, 0.05), (6, 2, 0.6), (20, 5, 0.3), (60, 1, 0.1), (60, 3, 0.3)]),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 10**6),
)
def test_nothing_stops_sooner_than_the_fewest(design, base, head, seed):
    fixtures, rounds, margin = design
    test = plan(fixtures, rounds, margin=margin)
    rng = np.random.default_rng(seed)
    shape = (fixtures, rounds)
    differences = (rng.random(shape) < base).astype(np.int8) - (rng.random(shape) < head)
    found = stopping_time(test)
    pairs = taken(test, differences.astype(np.int8))
    assert found.fewest <= pairs <= found.most == fixtures * rounds
    assert found.fewest <= found.expected <= found.most
    if run(test, differences.astype(np.int8))[0] == "regressed":
        assert found.fewest_regressed <= pairs


def test_a_test_that_looks_once_takes_all():
    found = stopping_time(plan(30, 4, early=False))
    assert (found.fewest, found.expected, found.most) == (120, 120, 120)


def test_objectives_need_the_first_round_unless_head_regressed():
    test = plan(400, 1, margin=0.2)
    alone, with_objectives = stopping_time(test), stopping_time(test, first_round=True)
    assert alone.expected < 400
    assert with_objectives.expected == 400
    assert with_objectives.fewest == with_objectives.fewest_regressed < 400


@pytest.mark.parametrize(("fixtures", "rounds"), [(40, 2), (20, 10), (30, 3)])
def test_a_harmless_change_is_expected_to_end_when_more_is_futile(fixtures, rounds):
    found = stopping_time(plan(fixtures, rounds, margin=0.05), first_round=True)
    assert fixtures <= found.expected < 0.8 * found.most
