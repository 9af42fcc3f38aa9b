"""The probability that head is worse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.reference_values import cases

from gatekeeper.stats.bayes import probability_worse

counts = st.integers(0, 200)


@pytest.mark.parametrize("case", cases("probability_worse", "comparisons"))
def test_it_agrees_with_the_integral_and_with_draws_of_the_whole_posterior(case):
    found = probability_worse(*case["table"])
    assert found == pytest.approx(case["probability"], rel=1e-7)
    assert found == pytest.approx(case["sampled"], abs=4 * 0.5 / 1000)


@given(counts, counts, st.integers(1, 50), counts)
def test_more_broken_is_more_probable_and_the_sides_mirror(broke, fixed, both, neither):
    found = probability_worse(broke, fixed, both, neither)
    assert 0 <= found <= 1
    assert probability_worse(fixed, broke, both, neither) == pytest.approx(1 - found, abs=1e-9)
    assert probability_worse(broke + 1, fixed, both, neither) >= found
    assert probability_worse(broke, fixed + 1, both, neither) <= found


@given(counts, counts, st.integers(1, 50), counts)
def test_fixtures_that_do_not_change_do_not_move_it(broke, fixed, both, neither):
    found = probability_worse(broke, fixed, both, neither)
    assert found == probability_worse(broke, fixed, both + 7, neither + 30)


def test_without_a_change_it_is_the_prior_and_without_a_fixture_unknown():
    assert probability_worse(0, 0, 3, 1) == pytest.approx(0.5)
    assert probability_worse(0, 0, 0, 0) is None


@pytest.mark.parametrize("position", range(4))
@pytest.mark.parametrize("count", [-1, 0.5, True])
def test_a_wrong_argument_is_named(position, count):
    arguments = [1, 1, 1, 1]
    arguments[position] = count
    named = ("broke", "fixed", "both", "neither")[position]
    with pytest.raises(ValueError, match=rf"^{named}: "):
        probability_worse(*arguments)
