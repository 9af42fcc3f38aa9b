"""Which labelled outputs become anchors."""

from __future__ import annotations

from gatekeeper.contract.checks.judge_calibration import (
    calibration_text,
    calibrations_from,
    output_digest,
)
from gatekeeper.contract.syntax.yaml_positions import parse
from gatekeeper.contract.values.calibration_record import CheckCalibration, GradedLabel
from gatekeeper.gate.calibration.anchors import MOST_CHARACTERS, calibration_id, keep_anchors


def kept(texts: list[tuple[str, bool]], most: int = 6) -> CheckCalibration:
    labels = tuple(GradedLabel("f", output_digest(text), good, True) for text, good in texts)
    known = {"tone": CheckCalibration("judge", labels)}
    return keep_anchors(known, [text for text, _ in texts], most)["tone"]


def test_half_of_the_anchors_are_good_if_there_are_enough():
    many = kept([(f"text {n}", n % 4 > 0) for n in range(40)])
    assert sum(anchor.human for anchor in many.anchors) == 3
    few = kept([(f"text {n}", n > 0) for n in range(40)])
    assert sum(anchor.human for anchor in few.anchors) == 5
    assert len(few.anchors) == 6
    assert len(kept([("a", True), ("b", False)]).anchors) == 2
    assert kept([("a", True)], 0).anchors == ()


def test_the_choice_is_the_same_in_any_order():
    texts = [(f"text {n}", n % 2 == 0) for n in range(40)]
    first, second = kept(texts), kept(texts[::-1])
    assert {a.text for a in first.anchors} == {a.text for a in second.anchors}


def test_long_outputs_and_those_that_no_file_can_hold_are_no_anchors():
    found = kept([("x" * (MOST_CHARACTERS + 1), True), ("\ud800", False), ("", True)])
    assert [anchor.text for anchor in found.anchors] == [""]


def test_a_calibration_with_anchors_and_scores_is_read_back():
    calibration = kept([("naïve\n\u2028", True), ("b", False)])
    first = GradedLabel("f", output_digest("c"), True, True, 0.5, human_score=0.75)
    whole = {"tone": CheckCalibration("judge", (*calibration.labels, first))}
    text = calibration_text("polite", whole)
    assert calibrations_from(parse(text, "x.json")) == whole
    assert calibration_id(whole["tone"]) != calibration_id(calibration)
