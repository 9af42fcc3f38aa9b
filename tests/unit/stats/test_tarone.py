"""Comparisons that cannot be rejected take nothing of alpha, and the others stay within it.

Each property is checked exactly: over all ways in which the arms of the units can be swapped. One
swap changes the signs of a unit in every comparison, because comparisons may share their answers.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sequential_designs import drawn, every_sign, run, table

from gatekeeper.stats.multiple import OPPOSITE, holm_levels
from gatekeeper.stats.paired.mcnemar import mcnemar_exact
from gatekeeper.stats.paired.sequential import SequentialTest
from gatekeeper.stats.paired.sign_flip import sign_flip_test

ALPHA = 0.2
"""Few units change in an example, so that a smaller alpha would reject nothing."""


def decide(tests, tables, *, shares=None, joins=True):
    """The rejected comparisons and the levels of all, by their place in the list."""
    found = {}
    for number, (test, differences) in enumerate(zip(tests, tables, strict=True)):
        found[number] = test, differences, *ended(test, differences)
    levels = holm_levels(
        {number: test.alpha for number, test in enumerate(tests)},
        lambda number, level: rejects(*found[number], level),
        attainable={number: smallest(*each) for number, each in found.items()},
        shares=shares or {},
        opposite={n for n, each in found.items() if joins and better(*each)},
    )
    return {n for n, level in levels.items() if rejects(*found[n], level)}, levels


def ended(test, differences):
    """Return why the comparison ended, and how many rounds and pairs it rests on."""
    return run(test, differences) if test.early else ("exhausted", *differences.shape[::-1])


def rejects(test, differences, stop, rounds, pairs, level):
    shown = differences[:, :rounds]
    return test.evaluate(shown, differences[:pairs, 0], level).regressed


def better(test, differences, stop, rounds, pairs):
    """Whether the plain test of what was sampled shows the opposite."""
    shown = differences[:, :rounds] if rounds else differences[:pairs, :1]
    return sign_flip_test((-shown.sum(axis=1)).tolist()) <= OPPOSITE * test.alpha


def smallest(test, differences, stop, rounds, pairs):
    shown = differences[:, :rounds] if rounds else differences[:pairs, :1]
    changed = int((shown != 0).any(axis=1).sum())
    return test.attainable(differences[:, :rounds], changed, stop)


@st.composite
def families(draw):
    """Comparisons of the same units, by tests that may stop early. Some are good for what others
    are bad for."""
    units = draw(st.integers(1, 6))
    tables = draw(st.lists(drawn(fewest=units, most=units), min_size=2, max_size=5))
    if draw(st.booleans()):
        tables = [tables[0], *[-tables[0]] * draw(st.integers(1, 3)), *tables[1:3]]
    early = draw(st.booleans())
    margin = draw(st.sampled_from([0.05, 0.6]))
    level = ALPHA / len(tables)
    tests = [SequentialTest(units, t.shape[1], level, ALPHA, margin, early) for t in tables]
    return tests, tables


@given(families())
def test_harmless_changes_are_rejected_with_alpha_at_most(family):
    """Whatever shares its answers, and whenever a comparison stops."""
    tests, tables = family
    together = np.concatenate(tables, axis=1)
    ends = np.cumsum([t.shape[1] for t in tables])[:-1]
    swapped = [np.split(each, ends, axis=1) for each in every_sign(together)]
    wrong = sum(bool(decide(tests, each)[0]) for each in swapped)
    assert Fraction(wrong, len(swapped)) <= Fraction(ALPHA)


@given(families())
def test_nothing_is_lost_against_holm_alone(family):
    tests, tables = family
    for each in [tables, [-t for t in tables]]:
        runs = [ended(t, d) for t, d in zip(tests, each, strict=True)]
        alone = holm_levels(
            {number: test.alpha for number, test in enumerate(tests)},
            lambda n, level: rejects(tests[n], each[n], *runs[n], level),  # noqa: B023
        )
        mine = {n for n, level in alone.items() if rejects(tests[n], each[n], *runs[n], level)}
        assert mine <= decide(tests, each)[0]


@pytest.mark.parametrize("others", [0, 1, 20, 200])
@pytest.mark.parametrize("changed", [0, 1, 4], ids="{} changed in each other".format)
def test_comparisons_that_cannot_show_anything_take_nothing(others, changed):
    """Four changed units are never enough at 0.05, whatever their directions."""
    broken = table([[1]] * 6 + [[0]] * 6)
    trivial = table([[1]] * changed + [[0]] * (12 - changed))
    tests = [SequentialTest(12, 1, 0.05 / (others + 1), 0.05, 0.05)] * (others + 1)
    found, levels = decide(tests, [broken, *[trivial] * others])
    assert found == {0}
    assert levels[0] == pytest.approx(0.05)
    assert mcnemar_exact(6, 0) <= 0.05


def test_a_comparison_that_could_show_something_counts_although_it_is_fine():
    improved = table([[-1]] * 8 + [[0]] * 4)
    broken = table([[1]] * 5 + [[0]] * 7)
    tests = [SequentialTest(12, 1, 0.025, 0.05, 0.05)] * 2
    found, levels = decide(tests, [broken, improved])
    assert found == set()
    assert levels[0] < 2**-5


@pytest.mark.parametrize("others", [2, 20, 200])
@pytest.mark.parametrize("broken_in_each", [0, 1])
@pytest.mark.parametrize("early", [False, True])
def test_all_comparisons_that_improve_take_the_share_of_one(others, broken_in_each, early):
    broken = table([[1]] * 6 + [[0]] * 6)
    improved = table([[-1]] * 10 + [[1]] * broken_in_each + [[0]] * (2 - broken_in_each))
    tests = [SequentialTest(12, 1, 0.05 / (others + 1), 0.05, 0.05, early)] * (others + 1)
    tables = [broken, *[improved] * others]
    found, levels = decide(tests, tables)
    assert found == {0}
    assert levels[0] == pytest.approx(0.95 * 0.025)
    assert decide(tests, tables, joins=False)[0] == (set() if others > 2 else {0})


def test_comparisons_that_may_be_worse_keep_their_shares_beside_those_that_improve():
    broken = table([[1]] * 7 + [[0]] * 5)
    mixed = table([[1]] * 4 + [[-1]] * 3 + [[0]] * 5)
    improved = table([[-1]] * 9 + [[0]] * 3)
    tests = [SequentialTest(12, 1, 0.05 / 7, 0.05, 0.05, False)] * 7
    _, levels = decide(tests, [broken, mixed, *[improved] * 5])
    assert levels[1] == pytest.approx(0.95 * 0.05 / 2)  # `broken` was found and left
    assert levels[0] == pytest.approx(0.95 * 0.05 / 3)


def test_a_comparison_that_ended_early_counts_with_what_it_may_have_become():
    """How many units would have changed is not known; that they went well must not matter."""
    steady = table([[0]] * 150)
    steady[0] = -1
    broken = table([[1]] * 7 + [[-1]] * 3 + [[0]] * 140)
    tests = [SequentialTest(150, 1, 0.025, 0.05, 0.05)] * 2
    assert run(tests[0], steady)[0] == "not_worse"
    assert decide(tests, [broken, steady])[1][0] == 0.025
    steady[0] = 0
    assert run(tests[0], steady)[0] == "not_worse"
    assert decide(tests, [broken, steady])[1][0] == 0.05


def test_what_other_tests_of_a_contract_need_is_not_given_away():
    """Twenty contracts keep 30 % of their alpha for limits and what must pass."""
    tests = [SequentialTest(12, 1, 0.05 / 21, 0.05, 0.05)] * 21
    tables = [table([[1]] * 8 + [[0]] * 4), *[table([[0]] * 12)] * 20]
    shares = {0: 1.0} | dict.fromkeys(range(1, 21), 0.7)
    _, levels = decide(tests, tables, shares=shares)
    others = 20 * 0.3 * 0.05 / 21
    assert levels[0] + others == pytest.approx(0.05)
