"""Two tests of a judge's changed verdicts: its agreement with people, and its direction."""

from __future__ import annotations

import pytest

from gatekeeper.stats.judges.judge_accuracy import changed_verdicts_p


def test_a_judge_that_passes_everything_differs_although_it_agrees_as_often():
    assert changed_verdicts_p(9, 6, None) > 0.6
    # All 15 verdicts changed from fail to pass: 2 * 2 * 0.5 ** 15.
    assert changed_verdicts_p(9, 6, 15) == 4 * 0.5**15
    assert changed_verdicts_p(9, 6, 0) == 4 * 0.5**15


@pytest.mark.parametrize(("alternative", "p"), [("two-sided", 4 * 0.5**8), ("worse", 2 * 0.5**8)])
def test_the_tests_share_their_level(alternative, p):
    assert changed_verdicts_p(8, 0, 4, alternative) == p
    assert changed_verdicts_p(0, 0, 0, alternative) == 1


def test_a_judge_that_agrees_more_is_not_worse():
    assert changed_verdicts_p(0, 40, 40, "worse") == 1
    assert changed_verdicts_p(9, 6, 15, "worse") == 4 * 0.5**15


def test_changes_in_both_directions_can_be_chance():
    assert changed_verdicts_p(3, 3, 3) == 1
