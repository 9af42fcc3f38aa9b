"""junit.xml, read back by another library."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Properties, Skipped, TestCase, TestSuite
from support import results as examples

from gatekeeper.gate.results.parts import Confirmation, MustPassResult, Tally
from gatekeeper.gate.results.result import (
    ContractFrom,
    ContractResult,
    GateResult,
    Reason,
    ReasonCode,
)
from gatekeeper.reports.formats.junit import render_junit


def _suites(result: GateResult) -> list[TestSuite]:
    return list(JUnitXml.fromstring(render_junit(result).encode()))


def _cases(suite: TestSuite) -> dict[str, TestCase]:
    return {case.name: case for case in suite}


def _properties(element: Any) -> dict[str, str]:
    return {entry.name: entry.value for entry in element.child(Properties) or ()}


def test_a_suite_a_contract_and_a_case_a_fixture() -> None:
    tags, orders = _suites(examples.FAIL)
    assert (tags.name, tags.tests, tags.failures, tags.errors) == ("speech-tag", 40, 9, 0)
    assert (orders.name, orders.tests, orders.failures) == ("order-id", 60, 0)
    properties = {entry.name: entry.value for entry in tags.properties()}
    assert properties["verdict"] == "fail"
    assert properties["broke"] == "9"
    assert properties["reasons"].startswith("regression: Worse than base")


def test_how_often_a_fixture_passed_is_a_property() -> None:
    case = _cases(_suites(examples.FAIL)[0])["nn-000"]
    assert _properties(case) == {
        "change": "broke",
        "base": "5/5",
        "head": "1/5",
    }
    assert case.classname == "speech-tag"


def test_a_failed_check_is_a_failure_with_its_message() -> None:
    cases = _cases(_suites(examples.FAIL)[0])
    (failure,) = cases["nn-000"].result
    assert isinstance(failure, Failure)
    assert failure.message.startswith("is a tag: the output does not match")
    assert "The word “fox” is a noun." in failure.text
    assert "base: NN" in cases["nn-000"].system_out
    (before,) = cases["jj-010"].result
    assert isinstance(before, Skipped)
    assert before.message.startswith("fails on base as well: is a tag: the output does not match")
    assert _properties(cases["jj-010"])["failed_checks"] == "is a tag"
    assert cases["rb-011"].result == []


def test_a_failed_call_is_an_error_and_the_unmeasured_is_skipped() -> None:
    (suite,) = _suites(examples.ERROR)
    cases = _cases(suite)
    (error,) = cases["nn-000"].result
    assert isinstance(error, Error)
    assert error.message == "429 Too Many Requests: slow down"
    (skipped,) = cases["nn-001"].result
    assert isinstance(skipped, Skipped)
    assert (suite.errors, suite.failures, suite.skipped) == (1, 0, 1)


def test_calls_that_failed_beside_a_known_outcome_are_told() -> None:
    contract = examples.failing_contract()
    broke = replace(contract.fixtures[0], errors=("timeout",), failures=())
    passed = replace(contract.fixtures[-1], errors=("timeout",), duplicate_of="nn-000")
    (suite,) = _suites(examples.result(replace(contract, fixtures=(broke, passed))))
    cases = _cases(suite)
    assert cases[broke.id].system_err == "timeout"
    assert cases[broke.id].result[0].message == "passed 1/5"
    assert cases[passed.id].system_err == "timeout"
    assert cases[passed.id].result == []
    assert _properties(cases[passed.id])["duplicate_of"] == "nn-000"


def test_each_failing_check_once() -> None:
    contract = examples.failing_contract()
    fixture = contract.fixtures[0]
    failures = (*fixture.failures * 3, replace(fixture.failures[0], check="short", message=""))
    contract = replace(contract, fixtures=(replace(fixture, failures=failures),))
    (suite,) = _suites(examples.result(contract))
    assert [f.message.split(":")[0] for f in _cases(suite)["nn-000"].result] == [
        "is a tag",
        "short",
    ]


@pytest.mark.parametrize(("result", "kind"), [(examples.REMOVED, Failure), (examples.ERROR, Error)])
def test_the_file_is_never_green_when_the_gate_is_not(result: GateResult, kind: type) -> None:
    bare = replace(result.contracts[0], fixtures=())
    (suite,) = _suites(replace(result, contracts=(bare,)))
    (found,) = _cases(suite)["verdict"].result
    assert isinstance(found, kind)
    assert found.message
    nameless = replace(bare, reasons=())
    (suite,) = _suites(replace(result, contracts=(nameless,)))
    assert _cases(suite)["verdict"].result[0].message == result.verdict


def _found(contract: ContractResult, **changes: Any) -> tuple[str, str]:
    """Return how the fixture that broke is read in a result of the contract, and the message."""
    contract = replace(contract, fixtures=(examples.fixture(0, "broke"),), **changes)
    (suite, *_) = _suites(examples.result(contract))
    case = _cases(suite)["nn-000"]
    return _rule(case), case.result[0].message


def _fails_for(code: ReasonCode, contract_from: ContractFrom = "head") -> dict[str, Any]:
    return {"reasons": (Reason(code, "said", "fail", contract_from),)}


def test_only_a_fixture_that_failed_the_gate_is_a_failure() -> None:
    failing, passing = examples.failing_contract(), examples.passing_contract()
    for code in ("regression", "broke", "tolerance", "slo"):
        assert _found(failing, **_fails_for(code))[0] == "Failure"
    said = "fails, and the verdict of the contract is"
    assert _found(passing)[1].startswith(f"{said} pass: is a tag: ")
    assert _found(examples.undecided_contract())[1].startswith(f"{said} inconclusive: ")
    for reasons in (_fails_for("resource_limit"), _fails_for("regression", "base")):
        rule, why = _found(failing, **reasons)
        assert rule == "Skipped"
        assert why.startswith("fails, and the contract fails for another reason: is a tag: ")
    must = MustPassResult("nn-000", None, Tally(5, 5), Tally(1, 5), "broke")
    assert _found(failing, **_fails_for("must_pass"), must_pass=(must,))[0] == "Failure"
    assert _found(failing, **_fails_for("must_pass"))[0] == "Skipped"


def test_what_fresh_samples_call_chance_is_no_failure() -> None:
    again = Confirmation(Tally(4, 4), Tally(4, 4), "kept")
    by_chance = replace(examples.fixture(1, "broke"), confirmation=again)
    contract = replace(
        examples.failing_contract(), fixtures=(examples.fixture(0, "broke"), by_chance)
    )
    (suite,) = _suites(examples.result(contract))
    assert [_rule(case) for case in suite] == ["Failure", "Skipped"]
    assert "by chance" in list(suite)[1].result[0].message


@pytest.mark.parametrize(
    ("result", "red"),
    [
        (examples.PASS, 0),
        (examples.INCONCLUSIVE, 0),
        (replace(examples.INCONCLUSIVE, exit_code=1), 1),
        (examples.UNCOVERED, 1),
        (examples.QUIET, 0),
        (replace(examples.PASS, verdict="fail", exit_code=1), 1),
    ],
)
def test_the_file_is_red_exactly_where_the_gate_is(result: GateResult, red: int) -> None:
    assert sum(suite.failures + suite.errors for suite in _suites(result)) == red


def test_a_failed_call_of_a_contract_that_passes_is_skipped() -> None:
    lost = replace(examples.fixture(0, "same"), head_passed=None, change=None, errors=("timeout",))
    contract = replace(examples.passing_contract(), fixtures=(lost,))
    (case,) = _suites(examples.result(contract))[0]
    assert (_rule(case), case.result[0].message) == ("Skipped", "not measured: timeout")
    assert case.system_err == "timeout"


def test_how_long_the_head_took() -> None:
    contract = replace(examples.failing_contract(), fixtures=(examples.fixture(0, "broke"),))
    outcomes = (
        examples.outcome(),
        examples.outcome(repetition=1),
        examples.outcome(arm="base"),
        examples.outcome(text=None),
    )
    (suite,) = _suites(replace(examples.result(contract), outcomes=outcomes))
    assert _cases(suite)["nn-000"].time == pytest.approx(0.241)


def test_nothing_affected_is_an_empty_report() -> None:
    assert _suites(examples.QUIET) == []


def _rule(case: TestCase) -> str:
    """How publish-unit-test-result reads a case: the most severe kind of result it has, with
    the messages of that kind alone (get_results in its python/publish/junit.py)."""
    kinds = {type(result).__name__ for result in case.result}
    return next((kind for kind in ("Error", "Failure", "Skipped") if kind in kinds), "Success")


@pytest.mark.long
@pytest.mark.parametrize("result", examples.EVERY.values(), ids=examples.EVERY)
def test_publishers_read_each_case_as_it_is_meant(result: GateResult) -> None:
    for suite, contract in zip(_suites(result), result.contracts, strict=False):
        read = [_rule(case) for case in suite]
        assert suite.tests == len(read)
        assert suite.failures == read.count("Failure")
        assert suite.errors == read.count("Error")
        assert suite.skipped == read.count("Skipped")
        # It groups cases by file, class and name: samples are no cases of their own.
        names = [(case._elem.get("file"), case.classname, case.name) for case in suite]
        assert len(set(names)) == len(names)
        assert {file for file, _, _ in names} <= {contract.path}
        # A second kind of result in a case would be lost.
        assert all(len({type(r) for r in case.result}) <= 1 for case in suite)
        red = contract.verdict in ("fail", "error")
        assert not red or {"Failure", "Error"} & set(read)


def test_a_file_of_many_long_outputs_stays_small() -> None:
    contract = examples.failing_contract("speech-tag", 1_000, 2_000)
    long = "x" * 50_000
    fixtures = tuple(
        replace(f, base_output=long, head_output=long,
                failures=tuple(replace(failure, output=long) for failure in f.failures))
        for f in contract.fixtures
    )  # fmt: skip
    text = render_junit(examples.result(replace(contract, fixtures=fixtures)))
    assert len(text) < 10_000_000
    (suite,) = JUnitXml.fromstring(text.encode())
    assert suite.tests == 2_000
    (alone,) = _suites(examples.result(replace(contract, fixtures=fixtures[:1])))
    assert len(_cases(alone)["nn-000"].system_out) > 20_000


@given(st.text(max_size=40))
@example("\x00\ud800\ufffe\x0b]]>&<\x85")
def test_any_text_makes_a_file_that_parsers_take(text: str) -> None:
    fixture = examples.fixture(0, "broke", head_output=text)
    fixture = replace(fixture, id=f"x{text}", category=text, errors=(text,))
    contract = replace(examples.failing_contract(f"c{text}"), fixtures=(fixture,))
    (suite,) = _suites(replace(examples.result(contract), head_sha=text))
    assert suite.failures == 1
