"""The non-inferiority look."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from scipy.stats import t as t_distribution

from gatekeeper.stats.paired.noninferiority import drop_bound, most_broken, not_worse

CASES = json.loads((Path(__file__).parents[2] / "reference" / "sequential.json").read_text())
DROPS = st.lists(st.integers(-10, 10).map(lambda d: d / 10), min_size=2, max_size=80)


# --- the bound of the mean drop -----------------------------------------------------------------


@pytest.mark.parametrize("case", CASES["drop_bound"]["cases"])
def test_the_bound_is_that_of_students_t_raised_by_johnsons_term(case):
    expected = case["student"] + case["johnson"]
    assert drop_bound(case["drops"], case["level"]) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(DROPS, st.floats(0.001, 0.4))
def test_the_bound_is_never_below_students(drops, level):
    values = np.array(drops)
    error = values.std(ddof=1) / math.sqrt(len(values))
    student = values.mean() + t_distribution.isf(level, len(values) - 1) * error
    assert drop_bound(drops, level) >= student - 1e-9


def test_a_few_large_drops_raise_it_and_a_few_large_gains_do_not():
    few_break = [1.0] * 2 + [0.0] * 18
    few_fixed = [-drop for drop in few_break]
    student = 0.1 + 1.729 * np.std(few_break, ddof=1) / math.sqrt(20)
    assert drop_bound(few_break, 0.05) > student + 0.04
    assert drop_bound(few_fixed, 0.05) == pytest.approx(student - 0.2, abs=1e-3)


@pytest.mark.parametrize("drops", [[], [0.3]])
def test_below_two_fixtures_there_is_no_bound(drops):
    assert drop_bound(drops, 0.05) is None


def test_fixtures_that_all_drop_alike_are_their_own_bound():
    assert drop_bound([0.25] * 4, 0.05) == 0.25


@given(DROPS, st.floats(0.001, 0.4))
def test_a_stricter_level_is_a_higher_bound(drops, level):
    bound = drop_bound(drops, level)
    assert bound >= np.mean(drops) - 1e-12
    assert drop_bound(drops, level / 2) >= bound
    assert drop_bound(np.array(drops), level) == bound


@given(DROPS, st.randoms())
def test_the_order_of_fixtures_does_not_matter(drops, random):
    shuffled = random.sample(drops, len(drops))
    assert drop_bound(shuffled, 0.05) == pytest.approx(drop_bound(drops, 0.05), abs=1e-12)


# --- the most broken fixtures -------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES["most_broken"]["cases"])
def test_the_most_broken_are_those_of_the_binomial(case):
    assert most_broken(case["fixtures"], case["share"], case["alpha"]) == case["most"]


@given(st.integers(0, 200), st.floats(0.01, 0.99), st.floats(0.001, 0.5))
def test_one_more_broken_would_be_no_surprise(fixtures, share, alpha):
    most = most_broken(fixtures, share, alpha)
    if most is not None:
        assert 0 <= most < fixtures
        assert binom.cdf(most, fixtures, share) <= alpha * (1 + 1e-9)
    above = 0 if most is None else most + 1
    assert binom.cdf(above, fixtures, share) > alpha * (1 - 1e-9)


def test_a_tie_with_alpha_is_enough():
    assert most_broken(1, 0.95, 0.05) == 0


@pytest.mark.parametrize(("fixtures", "share"), [(0, 0.5), (0, 1.0), (10, 0.0), (58, 0.05)])
def test_too_few_fixtures_say_nothing_at_any_count(fixtures, share):
    assert most_broken(fixtures, share, 0.05) is None


def test_fifty_nine_fixtures_are_the_first_that_rule_out_one_in_twenty():
    assert most_broken(59, 0.05, 0.05) == 0


# --- both together ------------------------------------------------------------------------------


def test_hardly_any_change_is_not_worse():
    assert not_worse([0.0] * 99 + [0.1], 0.05, 0.01, 0.05)


def test_a_bound_at_the_margin_is_not_below_it():
    assert not not_worse([0.25] * 100, 0.25, 0.01, 0.05)
    assert not_worse([0.25] * 100, 0.2500001, 0.01, 0.05)


@pytest.mark.parametrize(("fixtures", "margin"), [(20, 0.05), (20, 0.16), (4, 0.6), (71, 0.05)])
def test_a_margin_that_the_fixtures_cannot_show_is_never_claimed(fixtures, margin):
    assert not not_worse([0.0] * fixtures, margin, 0.01, 0.05)
    assert not not_worse([-1.0] * fixtures, margin, 0.01, 0.05)


@pytest.mark.parametrize(("fixtures", "margin"), [(20, 0.17), (72, 0.05), (10, 0.31)])
def test_the_fewest_fixtures_that_can_show_a_margin(fixtures, margin):
    """Half of alpha is what the chance to see none of a broken share must stay below."""
    assert not_worse([0.0] * fixtures, margin, 0.01, 0.05)
    assert (1 - margin) ** fixtures <= 0.025


def test_fixtures_that_broke_outright_count_even_where_others_make_up_for_them():
    drops = [1.0] * 10 + [-1.0] * 10 + [0.0] * 80
    assert drop_bound(drops, 0.05) < 0.1
    assert not not_worse(drops, 0.1, 0.05, 0.05)


def test_half_of_the_samples_is_not_yet_broken():
    drops = [0.5] * 10 + [-0.5] * 10 + [0.0] * 80
    assert not_worse(drops, 0.1, 0.05, 0.05)


@pytest.mark.parametrize("drops", [[], [0.0]])
def test_no_fixture_and_one_say_nothing(drops):
    assert not not_worse(drops, 0.05, 0.05, 0.05)


@given(DROPS, st.floats(0.1, 0.9), st.floats(0.001, 0.2))
def test_worse_drops_are_never_better_evidence(drops, margin, level):
    """Of drops that all rise alike, which leaves their scatter as it is."""
    worse = [d + 0.1 for d in drops]
    if not_worse(worse, margin, level, 0.05):
        assert not_worse(drops, margin, level, 0.05)


@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_the_ends_of_the_margin_are_margins(margin):
    assert not_worse([0.0, 0.1] * 30, margin, 0.05, 0.05) == (margin == 1.0)
    assert not not_worse([1.0] * 30, margin, 0.05, 0.05)
