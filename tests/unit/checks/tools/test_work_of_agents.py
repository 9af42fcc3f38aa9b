"""The checks of what an agent did: repeated calls, errors of tools, and the number of steps."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.judges import MODEL
from support.outcomes import contract

from gatekeeper.checks.check import Files, Finding, InnerCheck
from gatekeeper.checks.evaluate import prepare
from gatekeeper.checks.registry import CHECKS
from gatekeeper.contract.values.definition import CheckSpec, ToolCall
from gatekeeper.contract.values.trial import Completion, Request, Sample, ToolResult, Trial, Turn
from gatekeeper.errors import ContractError

OK, GONE = ToolResult("ok"), ToolResult("gone", is_error=True)


def step(*calls: tuple[str, str, ToolResult | None]) -> Turn:
    """An answer with these calls: name, arguments, and what the tool answered."""
    made = tuple(ToolCall(name, arguments) for name, arguments, _ in calls)
    results = tuple(result for _, _, result in calls if result is not None)
    return Turn("", Completion("", tool_calls=made), results)


LAST = Turn("", Completion("Done."))


def sample_of(output: str, **completion: Any) -> Sample:
    trial = Trial("c", "f", "head", 0, Request("m", (), {}, None, 0))
    return Sample(trial, Completion(output, **completion), output=output)


def found(apply, kind, turns, **params):
    last = turns[-1].completion
    said = {"turns": tuple(turns), "tool_calls": last.tool_calls}
    return apply(kind, last.text, completion=said, **params)


@pytest.mark.parametrize(
    ("calls", "params", "passed"),
    [
        ([("a", '{"x": 1, "y": [2.0]}', OK), ("a", '{"y": [2], "x": 1.0}', OK)], {}, False),
        ([("a", "{}", OK), ("a", "", OK)], {}, False),
        ([("a", "{}", OK), ("b", "{}", OK), ("a", '{"x": 1}', OK)], {}, True),
        ([("a", "{}", OK), ("b", "{}", OK), ("a", "{}", OK)], {}, False),
        ([("a", "{}", GONE), ("a", "{}", OK)], {}, True),
        ([("a", "{}", GONE), ("a", "{}", GONE)], {}, False),
        ([("a", "{}", GONE), ("a", "{}", GONE)], {"max": 2}, True),
        ([("a", "{}", OK)] * 3, {"max": 2}, False),
        ([("a", '{"cut', OK)] * 2, {}, False),
        ([("a", "{}", None)] * 2, {}, False),
        ([], {}, True),
    ],
)
def test_repeated_calls(apply, calls, params, passed):
    apart = found(apply, "no_repeated_call", [*map(step, calls), LAST], **params)
    at_once = found(apply, "no_repeated_call", [step(*calls), LAST], **params)
    assert apart.passed is at_once.passed is passed
    assert bool(apart.message) is not passed


def test_a_repeated_call_is_named(apply):
    turns = [step(("a", '{"b": 1}', OK))] * 3
    message = found(apply, "no_repeated_call", [*turns, LAST]).message
    assert message == (
        'expected the same call at most 1 time; got "a" with "{\\"b\\": 1}" and the same answer '
        "3 times"
    )


@pytest.mark.parametrize(
    ("turns", "params", "passed"),
    [
        ([LAST], {}, True),
        ([step(("a", "{}", OK)), LAST], {}, True),
        ([step(("a", "{}", GONE)), LAST], {}, False),
        ([step(("a", "{}", GONE)), step(("a", '{"x": 1}', OK)), LAST], {}, True),
        ([step(("a", "{}", GONE)), step(("a", "{}", GONE)), LAST], {}, False),
        ([step(("a", "{}", OK)), step(("a", "{}", GONE)), LAST], {}, False),
        ([step(("a", "{}", GONE)), step(("b", "{}", OK)), LAST], {}, False),
        ([step(("a", "{}", GONE)), step(("b", "{}", OK)), LAST], {"by": "any_tool"}, True),
        # Calls of one answer know nothing of each other's errors.
        ([step(("a", "{}", GONE), ("a", '{"x": 1}', OK)), LAST], {}, False),
        # A call that nothing answers does not succeed.
        ([step(("a", "{}", GONE)), step(("a", "{}", None))], {}, False),
    ],
)
def test_recovery_from_errors(apply, turns, params, passed):
    finding = found(apply, "recovers_from_error", turns, **params)
    assert finding.passed is passed
    assert bool(finding.message) is not passed


def test_an_error_is_named_with_its_step(apply):
    turns = [step(("b", "{}", OK)), step(("a", "{}", GONE)), LAST]
    message = found(apply, "recovers_from_error", turns).message
    assert message == 'expected a later call of "a" to succeed; in step 2, "a" answered "gone"'


def left(state: Any, *parts: dict[str, Any], start: Any = 1) -> Finding:
    """What `end_state` finds of a run that ends with a state, from the same checks as written."""
    specs = tuple(
        CheckSpec(part["type"], part["type"], {k: v for k, v in part.items() if k != "type"})
        for part in parts
    )
    spec = CheckSpec("end_state", "state", {"checks": []}, parts=specs)
    made = contract("f", checks=(spec,))
    fixtures = tuple(replace(fixture, state=start) for fixture in made.fixtures)
    (prepared,) = prepare(replace(made, fixtures=fixtures)).checks["f"]
    turns = (replace(step(("a", "{}", OK)), state=json.dumps(state)), LAST)
    return prepared.evaluate(sample_of("Done.", turns=turns))


@pytest.mark.parametrize(
    ("state", "part", "passed"),
    [
        ({"a": {"b": "paid"}}, {"type": "equals", "field": "a.b", "value": "paid"}, True),
        ({"a": {"b": "open"}}, {"type": "equals", "field": "a.b", "value": "paid"}, False),
        ({"a": [1, 2.0]}, {"type": "json_equal", "value": {"a": [1.0, 2]}}, True),
        ({"a": []}, {"type": "json_schema", "schema": {"required": ["b"]}}, False),
        ([{"n": 1}, {"n": 5}], {"type": "count", "path": "$[?@.n > 3]", "max": 0}, False),
        ({"note": "Done."}, {"type": "not_contains", "value": "Done."}, False),
    ],
)
def test_checks_read_the_state_and_not_the_answer(state, part, passed):
    assert left(state, part).passed is passed


def test_every_part_of_the_state_must_pass_and_the_message_names_what_does_not():
    right, wrong = ({"type": "equals", "field": "a", "value": value} for value in (1, 2))
    found = left({"a": 1}, right, wrong)
    assert (found.passed, found.message) == (
        False,
        "1 of 2 checks failed: `equals`: `a`: expected 2; got 1",
    )


def test_a_fixture_without_a_state_is_a_mistake_of_the_contract():
    with pytest.raises(ContractError, match="the fixture has no `state`"):
        left({}, {"type": "json_valid"}, start=None)


def test_a_judge_grades_the_state():
    kind = {"type": "judge", "judge": "rubric", "criteria": "Refunded.", "model": MODEL}
    spec = CheckSpec("judge", "kind", {k: v for k, v in kind.items() if k != "type"})
    inner = CHECKS["judge"].prepare(spec.params, Files({}, "c.yaml"))
    check = CHECKS["end_state"].prepare(
        {"checks": (InnerCheck("kind", inner),)}, Files({}, "c.yaml")
    )
    sample = sample_of("Done.", turns=(replace(LAST, state='{"a": "XYZZY"}'),))
    (question,) = check.questions(sample)
    assert "XYZZY" in question.messages[1].content
    assert "Done." not in question.messages[1].content
    assert check.questions(sample_of("Done.")) == ()
    assert check(sample_of("Done.")).passed is None
    assert check.judge_models == (MODEL,)


@pytest.mark.parametrize(("answers", "passed"), [(1, True), (2, True), (3, False)])
def test_steps(apply, answers, passed):
    turns = [step(("a", "{}", OK))] * (answers - 1)
    finding = found(apply, "steps", [*turns, LAST], max=2)
    assert finding.passed is passed
    assert finding.message == ("" if passed else "expected at most 2 steps; the model took 3")
    assert apply("steps", "Hello.", max=1).passed is True
