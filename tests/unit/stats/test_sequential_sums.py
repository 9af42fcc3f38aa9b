"""The sequential test of sums: units with weights or scores, without a walk."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatekeeper.stats.paired.sequential import SequentialTest
from gatekeeper.stats.paired.sign_flip import sign_flip_test

ROUNDS = 3


def found_worse(test: SequentialTest, sampled: np.ndarray, sizes: np.ndarray) -> bool:
    """Whether a run that stops as soon as it may finds head worse."""
    for rounds in range(1, sampled.shape[1] + 1):
        so_far = sampled[:, :rounds]
        stopped = test.after_round(so_far, so_far, sizes)
        if stopped:
            return test.evaluate(so_far, so_far[:, 0]).regressed
    raise AssertionError("the last look always decides")


@settings(max_examples=15)
@given(
    st.lists(
        st.lists(st.integers(-20, 20), min_size=ROUNDS, max_size=ROUNDS), min_size=2, max_size=5
    ),
    st.sampled_from([0.01, 0.05, 0.2]),
)
def test_a_harmless_change_is_found_worse_at_most_as_often_as_the_level_says(rows, level):
    """Both arms of a unit may be swapped: all choices of signs are equally likely."""
    sizes = np.full(len(rows), 20)
    test = SequentialTest(len(rows), ROUNDS, level, level, 0.05, walks=False)
    flips = list(itertools.product((1, -1), repeat=len(rows)))
    worse = sum(found_worse(test, np.array(rows) * np.array(f)[:, None], sizes) for f in flips)
    assert worse / len(flips) <= level


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=12))
def test_one_round_is_the_sign_flip_test(row):
    sampled = np.array(row)[:, None]
    test = SequentialTest(len(row), 1, 0.05, 0.05, 0.05, walks=False)
    alone = sign_flip_test(row)
    result = test.evaluate(sampled, sampled[:, 0])
    assert result.regressed == (alone <= 0.05 and sum(row) > 0)
    assert result.p_value == pytest.approx(alone) or (not result.regressed and alone > 0.05)


def test_many_small_drops_do_not_outvote_one_large_rise():
    """Nine units fall by 1 and one rises by 30: the walk would count nine broken of ten."""
    sampled = np.array([[1]] * 9 + [[-30]])
    assert SequentialTest(10, 1, 0.05, 0.05, 0.05).evaluate(sampled, sampled[:, 0]).regressed
    sums = SequentialTest(10, 1, 0.05, 0.05, 0.05, walks=False)
    assert not sums.evaluate(sampled, sampled[:, 0]).regressed
