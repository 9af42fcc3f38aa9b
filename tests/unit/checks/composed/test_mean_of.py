"""mean_of: weights, scores, and inner checks that could not be applied."""

from __future__ import annotations

import pytest

from gatekeeper.checks.check import Check, Finding, InnerCheck, ParameterError
from gatekeeper.checks.composed import mean_of
from gatekeeper.checks.composed.all_or_any import ALL_OF, ANY_OF
from gatekeeper.contract.values.trial import Completion, Request, Sample, Trial

SAMPLE = Sample(
    Trial("c", "f", "head", 0, Request("m", (), {}, None, 0)), Completion("out"), output="out"
)
PASS, FAIL, OPEN = Finding(True), Finding(False, "bad"), Finding(None, "unknown")


def inner(*weighted: tuple[Finding, float]) -> tuple[InnerCheck, ...]:
    return tuple(
        InnerCheck(f"c{number}", lambda _, f=finding: f, weight)
        for number, (finding, weight) in enumerate(weighted)
    )


def mean(least: float, *weighted: tuple[Finding, float]) -> Finding:
    return mean_of.CHECK.prepare({"checks": inner(*weighted), "min": least}, None)(SAMPLE)


def test_a_check_without_a_score_counts_one_or_nothing() -> None:
    found = mean(0.75, (PASS, 3), (FAIL, 1))
    assert (found.passed, found.score) == (True, 0.75)
    assert mean(0.76, (PASS, 3), (FAIL, 1)).passed is False


def test_scores_count_whether_the_check_passed_or_not() -> None:
    found = mean(0.15, (Finding(False, "low", 0.1), 1), (Finding(True, score=0.2), 1))
    assert (found.passed, found.score) == (True, pytest.approx(0.15))


@pytest.mark.parametrize(
    ("least", "passed"), [(0.25, True), (0.5, None), (0.75, None), (0.76, False)]
)
def test_an_undetermined_check_matters_only_if_it_could_change_the_result(
    least: float, passed: bool | None
) -> None:
    found = mean(least, (PASS, 1), (FAIL, 1), (OPEN, 2))
    assert (found.passed, found.score) == (passed, None)


def test_the_message_names_what_failed() -> None:
    assert "`c1`: bad" in mean(1, (PASS, 1), (FAIL, 1)).message


@pytest.mark.parametrize("check", [ALL_OF, ANY_OF])
def test_weights_count_nowhere_else(check: Check) -> None:
    with pytest.raises(ParameterError):
        check.prepare({"checks": inner((PASS, 2))}, None)
