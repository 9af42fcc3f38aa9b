"""How well a check's score ranks labelled outputs, and which minimum it suggests."""

from __future__ import annotations

import pytest

from gatekeeper.gate.calibration.judge_agreement import Verdict, agreement_of


def verdicts(*graded: tuple[float | None, bool]) -> list[Verdict]:
    return [
        Verdict(str(n), human, bool(score and score > 0.5), graded=score)
        for n, (score, human) in enumerate(graded)
    ]


def test_the_area_and_the_best_minimum_are_those_of_a_hand_count():
    graded = (0.9, True), (0.7, True), (0.6, False), (0.5, True), (0.2, False), (None, True)
    found = agreement_of("s", verdicts(*graded)).scores
    assert found is not None
    assert found.labels == 5
    assert found.area.value == pytest.approx(5 / 6)  # of 6 pairs one is the wrong way round
    # From 0.5 on, 3 of 4 are good and none is missing: F1 6/7. From 0.7 on it is 4/5.
    assert (found.best.threshold, found.best.precision, found.best.recall) == (0.5, 0.75, 1)


@pytest.mark.parametrize(
    "graded",
    [
        [(0.9, True), (0.8, True)],
        [(0.9, False)],
        [(1.0, True), (0.0, False)],
        [(None, True), (None, False)],
        [],
    ],
)
def test_nothing_is_said_without_both_kinds_or_with_scores_that_repeat_the_verdict(graded):
    assert agreement_of("s", verdicts(*graded)).scores is None
