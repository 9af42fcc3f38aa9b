"""scoring_function: what the function gets, what its result means, and when it is not called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gatekeeper.checks.check import Files, Finding, InnerCheck, ParameterError
from gatekeeper.checks.own import scoring_function
from gatekeeper.checks.own.own_function import OwnFunction
from gatekeeper.contract.values.trial import Completion, Request, Sample, Trial

PATH = "contracts/decide.py"
CODE = """\
def grade(passed, score=0.5, reason="because"):
    return {"pass": passed, "score": score, "reason": reason}

def tells(scores, context): return grade(False, 0.5, f"{scores} {context}")
def passes(scores, context): return grade(True, 0)
def silent(scores, context): return grade(False, 1, "")
def true(scores, context): return True
def no_reason(scores, context): return {"pass": True, "score": 1}
def text(scores, context): return grade("yes")
def high(scores, context): return grade(True, 2)
def flag(scores, context): return grade(True, True)
def one(scores): return grade(True)
def raises(scores, context): return grade(scores["other"] > 0)
def prints(scores, context):
    print(scores)
    return grade(True)
"""
SAMPLE = Sample(
    Trial("c", "f", "head", 0, Request("m", (), {}, None, 0)), Completion("out"), output="out"
)
PASS, FAIL, OPEN = Finding(True), Finding(False, "bad"), Finding(None, "unknown")


def inner(*found: Finding, weight: float = 1) -> tuple[InnerCheck, ...]:
    return tuple(
        InnerCheck(f"c{number}", lambda _, f=finding: f, weight)
        for number, finding in enumerate(found)
    )


def decide(
    function: str,
    checks: tuple[InnerCheck, ...] = inner(PASS, FAIL),
    code: Mapping[str, str] | None = None,
    **params: Any,
) -> Finding:
    texts = {PATH: CODE}
    files = Files(texts, "contracts/a.yaml", code=texts if code is None else code)
    given = {"function": f"{PATH}:{function}", "checks": checks, **params}
    return scoring_function.CHECK.prepare(given, files)(SAMPLE)


def test_the_function_gets_the_scores_by_name_and_the_context() -> None:
    checks = inner(PASS, FAIL, Finding(False, "low", 0.25))
    found = decide("tells", checks, context={"threshold": 0.8})
    assert found.message == "{'c0': 1.0, 'c1': 0.0, 'c2': 0.25} {'threshold': 0.8}"
    assert (found.passed, found.score) == (False, 0.5)


def test_checks_of_one_metric_have_one_weighted_mean() -> None:
    checks = (*inner(PASS, FAIL), *inner(PASS, weight=3))
    found = decide("tells", checks, metrics=["tone", "length", "length"])
    assert found.message == "{'tone': 1.0, 'length': 0.75} {}"


def test_every_check_needs_its_metric() -> None:
    with pytest.raises(ParameterError, match="2 checks"):
        decide("tells", metrics=["tone"])


def test_the_function_decides_and_not_the_checks() -> None:
    found = decide("passes", inner(FAIL))
    assert (found.passed, found.score, found.message) == (True, 0, "")


def test_a_failure_without_a_reason_names_the_function() -> None:
    assert decide("silent").message == f"{PATH}:silent returned no reason"


@pytest.mark.parametrize("function", ["true", "no_reason", "text", "high", "flag"])
def test_any_other_result_is_undetermined(function: str) -> None:
    found = decide(function)
    assert found.passed is None
    assert "must return a mapping with `pass`" in found.message


@pytest.mark.parametrize("function", ["one", "raises", "prints", "missing"])
def test_a_function_that_cannot_say_is_undetermined(function: str) -> None:
    found = decide(function)
    assert found.passed is None
    assert found.message.startswith(PATH)


def test_an_undetermined_check_leaves_the_whole_undetermined() -> None:
    found = decide("passes", inner(PASS, OPEN))
    assert (found.passed, found.message) == (None, "`c1`: unknown")


def test_only_code_of_the_branch_to_merge_into_runs() -> None:
    found = decide("passes", code={})
    assert found.passed is None
    assert "not yet on the branch to merge into" in found.message


def test_a_response_without_a_result_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OwnFunction, "call", lambda *_: {"passed": True})
    found = decide("passes")
    assert (found.passed, found.message) == (None, f"{PATH}: no result")
