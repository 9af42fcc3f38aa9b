"""Curtailment never says anything the full sample would not have said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.stats.curtail import certain_decision
from gatekeeper.stats.mcnemar import mcnemar_exact

alphas = st.sampled_from([0.001, 0.01, 0.03125, 0.05, 0.0625, 0.25, 0.5])


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 9), alphas)
def test_it_agrees_with_every_completion(broke, fixed, unknown, alpha):
    outcomes = {
        "regressed"
        if mcnemar_exact(broke + more_broke, fixed + more_fixed) <= alpha
        else "not_regressed"
        for more_broke in range(unknown + 1)
        for more_fixed in range(unknown + 1 - more_broke)
    }
    expected = outcomes.pop() if len(outcomes) == 1 else None
    assert certain_decision(broke, fixed, unknown, alpha) == expected


@given(st.integers(0, 40), st.integers(0, 40), alphas)
def test_with_everything_known_there_is_always_an_answer(broke, fixed, alpha):
    regressed = mcnemar_exact(broke, fixed) <= alpha
    assert certain_decision(broke, fixed, 0, alpha) == (
        "regressed" if regressed else "not_regressed"
    )


def test_examples():
    assert certain_decision(0, 0, 4, 0.05) == "not_regressed"
    assert certain_decision(0, 0, 5, 0.05) is None
    assert certain_decision(20, 0, 5, 0.05) == "regressed"
    assert certain_decision(0, 0, 0, 0.05) == "not_regressed"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((-1, 0, 0, 0.05), "broke"),
        ((0, -1, 0, 0.05), "fixed"),
        ((0, 0, -1, 0.05), "unknown"),
        ((0, 0, 0, 0), "alpha"),
        ((0, 0, 0, 1), "alpha"),
    ],
)
def test_a_wrong_argument_is_named(arguments, named):
    with pytest.raises(ValueError, match=rf"^{named}: "):
        certain_decision(*arguments)
