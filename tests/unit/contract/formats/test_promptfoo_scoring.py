"""Scoring functions of promptfoo: the check that a test gets, and what is named as not run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.foreign_files import loaded, revision
from support.promptfoo_suite import PATH, suite

from gatekeeper.checks.evaluate import prepare
from gatekeeper.contract.changes.own_code import trust_code
from gatekeeper.contract.fixtures.unused_variables import names_read
from gatekeeper.contract.policies.policy import OwnChecks, Policy
from gatekeeper.contract.values.definition import CheckSpec, Contract
from gatekeeper.contract.values.trial import Completion, Request, Sample, Trial
from gatekeeper.errors import ContractError

SCORE = """\
def func(named_scores, context=None):
    worst = min(named_scores.values())
    least = context.get("threshold", 1)
    return {"pass": worst >= least, "score": worst, "reason": "the worst decides"}
def check(output): return True
def only(named_scores): return {}
def many(a, b, c): return {}
def named(a, b, *, c): return {}
def every(*values): return {}
"""
YES = {"type": "equals", "value": "yes", "metric": "right"}
SHORT = {"type": "word-count", "value": {"max": 2}, "metric": "short"}


def files(*tests: Any, **more: Any) -> dict[str, str]:
    return {PATH: json.dumps(suite(*tests, **more)), "evals/score.py": SCORE}


def case(*asserts: Any, function: str = "score.py", **more: Any) -> dict[str, Any]:
    scoring = {"assertScoringFunction": f"file://{function}"} if function else {}
    return {"vars": {"q": "a"}, "assert": list(asserts)} | scoring | more


def read(*tests: Any, **more: Any) -> Contract:
    return loaded(files(*tests, **more), PATH)


def only_check(*tests: Any, **more: Any) -> CheckSpec:
    (spec,) = read(*tests, **more).fixtures[0].checks
    return spec


def not_run(*tests: Any) -> list[str]:
    """What is not run; other tests keep the file usable."""
    contract = read(case(YES, function=""), *tests)
    assert len(contract.fixtures) == 1
    return [note.why for note in contract.not_run]


def test_a_scoring_function_gets_the_score_of_each_metric() -> None:
    spec = only_check(case(YES, {**SHORT, "weight": 2}, threshold=0.5))
    assert (spec.type, spec.params["function"]) == ("scoring_function", "evals/score.py:func")
    assert [(part.name, part.weight) for part in spec.parts] == [("right", 1), ("short", 2)]
    assert spec.params["context"] == {"threshold": 0.5}
    assert "metrics" not in spec.params


def test_the_default_test_gives_its_function_to_every_test() -> None:
    default = {"assertScoringFunction": "file://score.py:every", "assert": [SHORT]}
    contract = read(case(YES, function=""), defaultTest=default)
    (spec,) = contract.fixtures[0].checks
    assert spec.params["function"] == "evals/score.py:every"
    assert [part.name for part in spec.parts] == ["short", "right"]
    assert not contract.checks


def test_a_metric_can_have_several_assertions() -> None:
    spec = only_check(case(YES, {**SHORT, "metric": "right"}, SHORT))
    assert spec.params["metrics"] == ["right", "right", "short"]
    assert [part.name for part in spec.parts] == ["right", "right (2)", "short"]


def test_the_assertions_of_a_set_count_for_their_metrics_and_for_its_own() -> None:
    parts = [{**YES, "weight": 3}, {"type": "contains", "value": "e", "metric": "all"}]
    group = {"type": "assert-set", "assert": parts, "weight": 2}
    spec = only_check(case(group))
    assert [(part.name, part.weight) for part in spec.parts] == [("right", 6), ("all", 2)]
    spec = only_check(case({**group, "metric": "all"}))
    assert spec.params["metrics"] == ["all", "right", "all"]
    assert [part.weight for part in spec.parts] == [1.5, 6, 0.5]


@pytest.mark.parametrize(
    ("output", "passed"), [("yes", True), ("yes yes", False), ("no no no", False)]
)
def test_the_function_decides_the_test(output: str, passed: bool) -> None:
    written = files(case(YES, SHORT, threshold=0.5))
    policy = Policy(checks=OwnChecks(python=("evals/*.py",)))
    contract = trust_code(loaded(written, PATH), revision(written), policy)
    trial = Trial(contract.name, contract.fixtures[0].id, "head", 0, Request("m", (), {}, None, 0))
    (found,) = prepare(contract).evaluate(Sample(trial, Completion(output), output=output))
    assert found.passed is passed
    assert found.message == ("" if passed else "the worst decides")


def test_a_scoring_function_reads_no_variable() -> None:
    names = names_read(read(test := case(YES)))
    assert names is not None
    assert "q" in names
    assert "unused" not in names
    own = {"type": "python", "value": "file://score.py:check", "metric": "own"}
    assert names_read(read({**test, "assert": [YES, own]})) is None


def test_select_best_decides_beside_a_score() -> None:
    best = {"type": "select-best", "value": "the kindest"}
    for test in (case(YES, best), case(YES, best, function="", threshold=0.5)):
        contract = read(test)
        kinds = [spec.type for spec in contract.fixtures[0].checks]
        assert kinds[0] == "judge"
        assert kinds[1] in ("scoring_function", "mean_of")
        assert contract.pass_score is None
        prepare(contract)


@pytest.mark.parametrize("threshold", [None, 1])
def test_a_set_counts_towards_the_score_of_a_test_with_its_mean(threshold: float | None) -> None:
    group = {"type": "assert-set", "weight": 3, "threshold": threshold}
    group["assert"] = [YES, {**SHORT, "weight": 2}, {**YES, "weight": 0}]
    test = case(group, {"type": "contains", "value": "y"}, function="", threshold=0.75)
    contract = read(test)
    (spec,) = contract.fixtures[0].checks
    assert (spec.type, contract.pass_score) == ("mean_of", None)
    assert [(part.name, part.weight) for part in spec.parts] == [
        ("right", 1),
        ("short", 2),
        ("contains y", 1),
    ]


def test_an_assertion_without_a_metric_is_named_and_the_rest_runs() -> None:
    contract = read(case(YES, {"type": "is-json"}))
    assert [part.name for part in contract.fixtures[0].checks[0].parts] == ["right"]
    (note,) = contract.not_run
    assert note.kind == "is-json"
    assert "no `metric`" in note.why


def test_a_function_at_the_top_of_the_file_is_named() -> None:
    contract = read(case(YES, function=""), assertScoringFunction="file://score.py")
    (note,) = contract.not_run
    assert "only in `defaultTest` or in a test" in note.why


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("score.js", "only scoring functions in Python"),
        ("score.ts:decide", "only scoring functions in Python"),
        ("score.py:other", "defines no function `other`"),
        ("score.py:only", "must take two values"),
        ("score.py:many", "must take two values"),
        ("score.py:named", "must take two values"),
    ],
)
def test_a_function_that_gatekeeper_cannot_call_is_named(function: str, why: str) -> None:
    (found,) = not_run(case(YES, function=function))
    assert why in found


@pytest.mark.parametrize(
    ("asserts", "why"),
    [
        ([{"type": "is-json"}], "no assertion has a `metric`"),
        ([{**YES, "metric": "{{q}}"}], "does not fill in a `metric`"),
        ([{**YES, "weight": 0}], "`weight: 0`"),
        ([{"type": "assert-set", "weight": 100, "assert": [{**YES, "weight": 5}]}], "is 500"),
        ([YES] * 21, "at most 20 assertions"),
        ([{"type": "javascript", "value": "1", "metric": "x"}], "would differ from promptfoo's"),
    ],
)
def test_scores_that_gatekeeper_cannot_pass_on_are_named(asserts: list[Any], why: str) -> None:
    assert why in not_run(case(*asserts))[-1]


@pytest.mark.parametrize("more", [{"threshold": 0.5, "function": ""}, {}])
def test_an_empty_set_is_an_error(more: dict[str, Any]) -> None:
    with pytest.raises(ContractError, match="the set has no assertions"):
        read(case(YES, {"type": "assert-set", "assert": []}, **more))


def test_a_function_without_a_path_is_an_error() -> None:
    with pytest.raises(ContractError) as found:
        read({**case(YES), "assertScoringFunction": "average"})
    (problem,) = found.value.problems
    assert problem.field == "tests[0].assertScoringFunction"
