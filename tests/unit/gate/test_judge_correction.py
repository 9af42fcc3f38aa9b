"""Rates and differences that rest on a judge, corrected by its calibration."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from support.outcomes import contract, outcome

from gatekeeper.contract.values.calibration_record import CheckCalibration, GradedLabel
from gatekeeper.contract.values.definition import CheckShape, CheckSpec
from gatekeeper.contract.values.objectives import read_objectives
from gatekeeper.contract.values.trial import CheckResult, Vote
from gatekeeper.gate.decision.reasons import slo_reasons
from gatekeeper.gate.objectives.judge_correction import (
    correct_difference,
    judge_behind,
    rests_on_judges,
    sole_judge,
)
from gatekeeper.gate.objectives.objectives import objective_status, slo_results
from gatekeeper.reports.words.columns import observed_value
from gatekeeper.stats.judges.label_shift import corrected_rate


def calibration(right_pass=90, wrong_pass=20, right_fail=80, wrong_fail=10) -> CheckCalibration:
    """By default a judge with sensitivity 0.9 and specificity 0.8."""
    kinds = (
        [(True, True)] * right_pass
        + [(False, True)] * wrong_pass
        + [(False, False)] * right_fail
        + [(True, False)] * wrong_fail
    )
    labels = [GradedLabel("f", str(i), human, judge) for i, (human, judge) in enumerate(kinds)]
    return CheckCalibration("digest", tuple(labels))


GUESS = calibration(50, 50, 50, 50)
KNOWN = {"says ok": calibration()}


def head(passed: int, failed: int):
    fates = [True] * passed + [False] * failed
    return [outcome(f"f{i}", "head", 0, fate) for i, fate in enumerate(fates)]


SCORING = CheckSpec("similarity", "says ok", {}, shape=CheckShape({}, scores=True))


def result(objectives, outcomes, calibrations):
    planned = Counter(o.sample.trial.fixture for o in outcomes)
    made = contract(*planned, slo=read_objectives(objectives))
    if "judge_score" in objectives:
        made = replace(made, checks=(SCORING,))
    (found,) = slo_results(made, outcomes, planned, calibrations=calibrations)
    return found


@pytest.mark.parametrize("objectives", [{"checks": {"says ok": 0.55}}, {"success_rate": 0.55}])
def test_a_rate_that_rests_on_a_judge_is_corrected(objectives):
    found = result(objectives, head(310, 190), KNOWN)
    expected = corrected_rate(0.62, 500, KNOWN["says ok"].confusion)
    assert expected is not None
    assert found.judged == 0.62
    assert found.observed == pytest.approx(expected.value) == pytest.approx(0.6)
    assert found.interval == expected.interval
    assert found.met is None


def graded_by_judges(outcomes):
    """The same outcomes, with the vote and score of a judge in each result of a check."""
    vote = (Vote("openai/gpt-4o", True),)
    return [
        replace(o, check_results=tuple(replace(c, votes=vote, score=0.5) for c in o.check_results))
        for o in outcomes
    ]


@pytest.mark.parametrize("objectives", [{"checks": {"says ok": 0.5}}, {"success_rate": 0.5}])
def test_what_is_not_corrected_is_said_to_rest_on_judges(objectives):
    plain = head(31, 19)
    found = result(objectives, graded_by_judges(plain), {})
    assert found.as_judged
    assert "not corrected" in observed_value(found)
    assert not result(objectives, graded_by_judges(plain), KNOWN).as_judged
    assert not result(objectives, plain, {}).as_judged


def test_scores_of_judges_are_never_corrected():
    (score,) = read_objectives({"judge_score": 0.5})
    plain = head(2, 1)
    assert judge_behind(score, graded_by_judges(plain), KNOWN) is None
    assert rests_on_judges(score, graded_by_judges(plain))
    assert not rests_on_judges(score, plain)


def test_the_correction_decides_the_objective():
    """A lenient judge passes 62 %; people would pass 27 %, which misses 50 %."""
    lenient = {"says ok": calibration(190, 100, 100, 10)}
    assert objective_status(result({"success_rate": 0.5}, head(310, 190), {})) == "met"
    found = result({"success_rate": 0.5}, head(310, 190), lenient)
    assert found.observed == pytest.approx((0.62 + 0.5 - 1) / (0.95 + 0.5 - 1))
    assert objective_status(found) == "missed"
    (reason,) = slo_reasons([found], read_objectives({"success_rate": 0.5}))
    assert (reason.code, reason.verdict) == ("slo", "fail")
    assert "62" in reason.text


@pytest.mark.parametrize("passed", [60, 75, 90])
def test_the_interval_that_is_shown_decides_among_several_objectives(passed):
    outcomes = head(passed * 3, (100 - passed) * 3)
    planned = Counter(o.sample.trial.fixture for o in outcomes)
    seen = set()
    for target in (0.4, 0.5, 0.55, 0.6, 0.7, 0.75, 0.8, 0.9):
        slo = read_objectives({"success_rate": target, "repair_rate": 0.5, "latency_p95_ms": 9000})
        found, *_ = slo_results(contract(*planned, slo=slo), outcomes, planned, calibrations=KNOWN)
        low, high = found.interval.low, found.interval.high
        assert found.met == (True if low >= target else False if high < target else None)
        seen.add(found.met)
    assert None in seen


def test_a_judge_that_guesses_measures_nothing():
    found = result({"success_rate": 0.5}, head(90, 10), {"says ok": GUESS})
    assert (found.observed, found.met, found.judged) == (None, None, 0.9)
    (reason,) = slo_reasons([found], read_objectives({"success_rate": 0.5}))
    assert reason.verdict == "inconclusive"


@pytest.mark.parametrize(
    ("objectives", "calibrations"),
    [
        ({"success_rate": 0.5}, {"another": calibration()}),
        ({"latency_p95_ms": 50}, KNOWN),
        ({"repair_rate": 0.5}, KNOWN),
    ],
)
def test_what_does_not_rest_on_the_judge_stays_as_it_is(objectives, calibrations):
    outcomes = head(60, 40)
    found = result(objectives, outcomes, calibrations)
    assert found == result(objectives, outcomes, {})
    assert found.judged is None


def test_a_success_rate_of_several_checks_is_not_corrected():
    with_other = [
        replace(o, check_results=(*o.check_results, CheckResult("valid", passed=True)))
        for o in head(60, 40)
    ]
    assert result({"success_rate": 0.5}, with_other, KNOWN).judged is None
    warned = [
        replace(o, check_results=(*o.check_results, CheckResult("valid", True, severity="warn")))
        for o in head(60, 40)
    ]
    assert result({"success_rate": 0.5}, warned, KNOWN).judged == 0.6
    assert sole_judge(with_other, KNOWN) is None
    assert sole_judge([], KNOWN) is None


def test_a_difference_is_that_of_people():
    found = correct_difference([1.0] * 7 + [0.0] * 93, KNOWN["says ok"])
    assert found is not None
    assert found.value == pytest.approx(-0.1)
    assert found.interval is not None
    assert found.interval.low < -0.1 < found.interval.high < 0
    assert correct_difference([1.0], KNOWN["says ok"]) is None
    assert correct_difference([0.0, 1.0], GUESS) is None


def test_equal_arms_leave_room_for_a_difference():
    found = correct_difference([0.0] * 20, KNOWN["says ok"])
    assert found is not None
    assert found.interval is not None
    assert found.value == 0
    assert found.interval.low < -0.05


def scored(scores, check="says ok"):
    """Outcomes with a judge's score."""
    made = head(len(scores), 0)
    return [
        replace(
            o,
            check_results=(
                CheckResult(check, True, "", score=score, votes=(Vote("openai/j", True),)),
            ),
        )
        for o, score in zip(made, scores, strict=True)
    ]


def score_calibration() -> CheckCalibration:
    """A judge that gives half of people's score and 0.3 more."""
    humans = [0.0, 0.25, 0.5, 0.75, 1.0] * 10
    labels = [
        GradedLabel("f", str(i), human > 0.5, human > 0.5, 0.3 + human / 2, human_score=human)
        for i, human in enumerate(humans)
    ]
    return CheckCalibration("digest", tuple(labels))


def test_a_mean_score_is_corrected_by_the_scores_of_people():
    outcomes = scored([0.6, 0.8] * 100)
    found = result({"judge_score": 0.6}, outcomes, {"says ok": score_calibration()})
    assert found.judged == pytest.approx(0.7)
    assert found.observed == pytest.approx(0.8)
    assert found.met is True
    assert not found.as_judged
    assert "(as judged" in observed_value(found)


def test_without_scores_of_people_a_mean_score_is_as_judged():
    found = result({"judge_score": 0.6}, scored([0.6, 0.8] * 100), KNOWN)
    assert found.judged is None
    assert found.as_judged
    assert found.observed == pytest.approx(0.7)


def test_scores_of_two_checks_are_not_corrected():
    first, second = scored([0.6, 0.8] * 10), scored([0.5, 0.5] * 10, "other")
    both = [
        replace(a, check_results=(*a.check_results, *b.check_results))
        for a, b in zip(first, second, strict=True)
    ]
    found = result({"judge_score": 0.6}, both, {"says ok": score_calibration()})
    assert found.as_judged


def test_a_judge_whose_scores_say_nothing_leaves_the_objective_unknown():
    flat = CheckCalibration(
        "digest",
        tuple(GradedLabel("f", str(i), True, True, 0.7, human_score=i % 2) for i in range(20)),
    )
    found = result({"judge_score": 0.6}, scored([0.6, 0.8] * 100), {"says ok": flat})
    assert objective_status(found) == "unknown"
    (reason,) = slo_reasons([found], read_objectives({"judge_score": 0.6}))
    assert reason.verdict == "inconclusive"


def test_one_scored_output_is_too_few_to_correct():
    found = result({"judge_score": 0.6}, scored([0.7]), {"says ok": score_calibration()})
    assert found.observed is None
