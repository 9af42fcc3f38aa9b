"""Sampling ends when more of it could hardly show a drop, and this never adds a false alarm."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.sequential_designs import LEVELS, drawn, every_sign, plan, table

from gatekeeper.stats.paired import futility
from gatekeeper.stats.paired.futility import FUTILE, is_futile, is_look, predictive_power

NOTHING = table([]).reshape(0)


def stop(test, differences):
    """The answer of a run that ends as soon as sampling is futile."""
    fixtures = len(differences)
    for number in range(test.rounds):
        for taken in range(1, fixtures + 1):
            done, further = differences[:, :number], differences[:taken, number]
            if number == 0 and (found := test.after_pairs(further, further)):
                return found[0]
            if taken == fixtures:
                done, further = differences[:, : number + 1], NOTHING
                if found := test.after_round(done, done):
                    return found
            if test.is_futile(done, further):
                return "futile"
    raise AssertionError("it must end when all is drawn")


@settings(max_examples=20, deadline=None)
@given(drawn(fewest=1), LEVELS)
@example(table([[1, 0], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]), 0.05)
@example(table([[1], [1], [1], [1], [1], [-1], [-1]]), 0.35)
@example(table([[1, 1, 1, 0, 0]] * 7), 0.2)
def test_of_all_ways_to_choose_the_signs_no_more_than_the_level_regress(differences, level):
    test = plan(len(differences), differences.shape[1], level, margin=0.3)
    ways = list(every_sign(differences))
    assert [stop(test, way) for way in ways].count("regressed") <= level * len(ways) + 1e-9


def test_a_change_that_breaks_as_much_as_it_fixes_is_futile_before_all_is_drawn():
    rng = np.random.default_rng(7)
    ended = [stop(plan(20, 10), table(row)) for row in rng.choice([1, 0, 0, -1], (40, 20, 10))]
    assert ended.count("futile") > 20


def test_a_change_that_looks_better_is_futile_sooner():
    better = table([[-1, 0]] * 10 + [[0, 0]] * 10)
    assert is_futile(better[:, :1], NOTHING, 10, 0.05)
    assert not is_futile(-better[:, :1], NOTHING, 10, 0.05)


@pytest.mark.parametrize("broke", [6, 10, 20])
def test_what_the_test_would_find_at_this_rate_is_never_futile(broke):
    certain = table([[1] * 10] * broke + [[0] * 10] * (20 - broke))
    assert not any(is_futile(certain[:, :r], NOTHING, 10, 0.05) for r in range(1, 10))


@settings(deadline=None)
@given(drawn(fewest=4, most=12), st.integers(1, 4), LEVELS)
def test_the_power_falls_with_the_level_and_rises_with_the_drop(differences, more, level):
    done = differences[:, : max(1, differences.shape[1] - 1)]
    rounds = done.shape[1] + more
    power = predictive_power(done, NOTHING, rounds, level)
    assert 0 <= power <= 1
    assert predictive_power(done, NOTHING, rounds, level / 2) <= power + 1e-12
    if done.sum() > 0 and done.shape[0] * done.shape[1] >= 8:
        assert predictive_power(-done, NOTHING, rounds, level) <= power + 1e-12


@pytest.mark.parametrize(
    ("rounds", "power", "ends"),
    [
        (10, 0.03, 5),
        (10, 0.06, 9),
        (10, 0.071, None),
        (3, 0.06, 2),
        (3, 0.1, None),
        (2, 0.0525, None),
    ],
)
def test_an_early_prediction_ends_sampling_only_if_it_is_surer(monkeypatch, rounds, power, ends):
    monkeypatch.setattr(futility, "predictive_power", lambda *_: power)
    done = [r for r in range(1, rounds) if is_futile(table([[0] * r] * 20), NOTHING, rounds, 0.05)]
    assert done == ([] if ends is None else list(range(ends, rounds)))


@pytest.mark.parametrize("fixtures", [8, 20, 40, 300])
def test_of_two_rounds_the_second_is_futile_if_the_first_broke_as_much_as_it_fixed(fixtures):
    same, even = table([[0]] * fixtures), table([[1], [-1]] * (fixtures // 2))
    worse = table([[1], [1], [-1], [0]] * (fixtures // 4))
    assert is_futile(same, NOTHING, 2, 0.05)
    assert is_futile(even, NOTHING, 2, 0.05)
    assert not is_futile(worse, NOTHING, 2, 0.05)


def test_with_too_few_pairs_or_with_all_of_them_nothing_is_predicted():
    assert predictive_power(table([[0]] * 7), NOTHING, 5, 0.05) == 1
    assert predictive_power(table([[0] * 5] * 7), NOTHING, 5, 0.05) == 1


def test_of_a_single_round_every_tenth_is_looked_at():
    assert [k for k in range(1, 101) if is_look(k, 100)] == list(range(10, 101, 10))
    assert [k for k in range(1, 31) if is_look(k, 30)] == list(range(9, 31, 3))
    assert [k for k in range(1, 6) if is_look(k, 5)] == [5]


def test_in_the_first_of_several_rounds_every_fixture_is_sampled():
    fixed = table([[-1]] * 50)
    assert plan(50, 5).is_futile(fixed[:, :0], fixed[:25, 0]) is None
    assert plan(50, 1).is_futile(fixed[:, :0], fixed[:25, 0]) is True


def test_a_test_that_looks_once_is_never_futile():
    same = table([[0] * 4] * 30)
    assert plan(30, 5, early=False).is_futile(same, NOTHING) is None


def test_the_power_is_what_a_simulation_of_the_rest_finds():
    """Twenty fixtures, three of ten rounds: the rest is drawn as the first three were."""
    rng = np.random.default_rng(3)
    done = table([[1, 0, -1], [1, 0, 0], [0, 1, 0], [0, -1, 0]] * 5)
    within, mean = float((done**2).mean()), done.mean()
    drifts = rng.normal(mean, np.sqrt(within / done.size), 4000)
    rest = rng.normal(140 * drifts, np.sqrt(140 * within))
    found = (done.sum() + rest >= 1.645 * np.sqrt(200 * within)).mean()
    assert predictive_power(done, NOTHING, 10, 0.05) == pytest.approx(found, abs=0.06)
    assert FUTILE < found < 1
