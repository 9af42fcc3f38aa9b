"""The sequential test raises no more false alarms than it says. That is a theorem about ways to
choose the signs, so it is held against all of them."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.sequential_designs import LEVELS, ROUNDS, drawn, every_sign, plan, run, table

from gatekeeper.stats.paired import sequential
from gatekeeper.stats.paired.sign_flip import sign_flip_test

# --- the false alarm ----------------------------------------------------------------------------


def keeps_its_level(differences, level, margin):
    test = plan(len(differences), differences.shape[1], level, margin)
    ways = list(every_sign(differences))
    stops = [run(test, way)[0] for way in ways]
    assert stops.count("regressed") <= level * len(ways) + 1e-9
    found = [test.evaluate(way, way[:, 0]) for way in ways]
    assert sum(f.regressed for f in found) <= level * len(ways) + 1e-9
    # Where it alarms the p-value is one: no value is reached more often than it says.
    for p in {f.p_value for f in found if f.regressed}:
        assert sum(f.p_value <= p for f in found) <= p * len(ways) * (1 + 1e-9)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_of_all_ways_to_choose_the_signs_no_more_than_the_level_regress(rounds):
    @settings(max_examples=15, deadline=None)
    @given(drawn(rounds), LEVELS, st.sampled_from([0.0, 0.3]))
    def check(differences, level, margin):
        keeps_its_level(differences, level, margin)

    check()


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 1, 1, 1, 1]] * 7,
        [[1, 0, 1, 0, 1]] * 7,
        [[0, 1, 1, 1, 1]] * 7,
        [[1, 0, 0, 0, 0]] * 4 + [[0, 0, 0, 0, 1]] * 3,
        [[1, 1, 1, 1, 1]] * 3 + [[0, 1, 0, 1, 0]] * 4,
        [[1, 1, 0, 1, 1], [1, 1, 1, -1, -1], [0, 0, 1, 1, 1], [1, 1, 1, 1, 0], [0, 0, 0, 1, 1]],
        [[1, -1, 1, 1, 1], [1, 1, 1, 1, 1], [0, 1, 0, 0, 1], [1, 0, 1, 1, -1], [1, 1, 0, 0, 1]],
    ],
)
@pytest.mark.parametrize("level", [0.05, 0.2])
def test_neither_do_they_for_these_sizes(rows, level):
    for rounds in (2, 5):
        keeps_its_level(table(rows)[:, :rounds], level, margin=0.3)


HOLMS = [4, 3, 2, 1]
"""By what alpha is divided while four, three, two comparisons and one are not rejected yet."""


@settings(max_examples=15, deadline=None)
@given(drawn(fewest=4), st.sampled_from([0.05, 0.1, 0.2, 0.4]))
@example(table([[1, 1, 0, 1, 1]] * 3 + [[0, 1, 1, -1, 1]] * 3), 0.05)
def test_asked_at_every_level_of_holms_no_level_is_exceeded(differences, alpha):
    """Who is not rejected at alpha/4 is asked at alpha/3 when another comparison is, and so on:
    that is no second chance where all that a stricter level rejects a looser one does."""
    test = plan(len(differences), differences.shape[1], alpha / HOLMS[0])
    alarms = dict.fromkeys(HOLMS, 0)
    ways = list(every_sign(differences))
    for way in ways:
        found = [test.evaluate(way, way[:, 0], alpha / m) for m in HOLMS]
        rejected = [f.regressed for f in found]
        assert rejected == sorted(rejected)
        assert rejected == [f.p_value <= alpha / m for f, m in zip(found, HOLMS, strict=True)]
        for m, regressed in zip(HOLMS, rejected, strict=True):
            alarms[m] += regressed
    assert all(alarms[m] <= alpha / m * len(ways) + 1e-9 for m in HOLMS)


def test_a_looser_level_is_spent_at_the_last_look():
    differences = table([[1, 0, 1]] * 5 + [[0, 0, 0]] * 5)
    test = plan(10, 3, 0.0125, margin=0.0)
    assert run(test, differences)[0] == "exhausted"
    assert not test.evaluate(differences, differences[:, 0]).regressed
    assert test.evaluate(differences, differences[:, 0], 0.05).regressed
    assert not test.evaluate(differences[:, :1], differences[:, 0], 0.05).regressed


@settings(max_examples=10, deadline=None)
@given(drawn(fewest=3, most=6), LEVELS, st.randoms())
def test_calls_that_fail_do_not_make_a_false_alarm_likelier(differences, level, random):
    """What could not be measured speaks for head in the kindest reading."""
    missing = np.array([random.random() < 0.2 for _ in range(differences.size)])
    missing = missing.reshape(differences.shape)
    test = plan(len(differences), differences.shape[1], level, margin=0.0)
    alarms = ways = 0
    for way in every_sign(differences):
        kindest, harshest = (np.where(missing, d, way).astype(np.int8) for d in (-1, 1))
        alarms += run(test, kindest, harshest)[0] == "regressed"
        ways += 1
    assert alarms <= level * ways + 1e-9


# --- many changed fixtures: signs drawn at random ------------------------------------------------


def many(fixtures, seed):
    rng = np.random.default_rng(seed)
    return rng.choice([-1, 0, 1], size=(fixtures, 3), p=[0.2, 0.25, 0.55]).astype(np.int8)


@pytest.mark.parametrize("fixtures", [15, 16])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_signs_come_close_to_all_of_them(fixtures, seed, monkeypatch):
    differences = many(fixtures, seed)
    test = plan(fixtures, 3)
    by_drawing = test._joint_p_value(differences[:, :2])
    monkeypatch.setattr(sequential, "_ENUMERATED", fixtures)
    assert by_drawing == pytest.approx(test._joint_p_value(differences[:, :2]), abs=0.005)


@pytest.mark.parametrize("seed", range(6))
def test_by_random_signs_too_it_is_the_last_look_and_what_was_spent_before(seed):
    differences = many(40, seed)
    test = plan(40, 3)
    alone = sign_flip_test(differences.sum(axis=1, dtype=int).tolist())
    spent = 0.05 * test.looks[1].spent
    assert alone - 0.005 <= test._joint_p_value(differences) <= alone + spent + 0.005


def test_random_signs_give_the_same_answer_twice():
    differences = many(60, 7)
    test = plan(60, 3)
    found = test.evaluate(differences, differences[:0, 0])
    sequential._random_signs.cache_clear()
    assert test.evaluate(differences, differences[:0, 0]) == found


def test_the_observed_signs_are_among_those_drawn():
    """So that no p-value is zero, however clear the case."""
    differences = np.ones((200, 2), dtype=np.int8)
    assert plan(200, 2)._joint_p_value(differences) >= 1 / (1 << 14)
