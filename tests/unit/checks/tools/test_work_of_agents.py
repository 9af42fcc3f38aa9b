"""The checks of what an agent did: repeated calls, errors of tools, and the number of steps."""

from __future__ import annotations

import pytest

from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.trial import Completion, ToolResult, Turn

OK, GONE = ToolResult("ok"), ToolResult("gone", is_error=True)


def step(*calls: tuple[str, str, ToolResult | None]) -> Turn:
    """An answer with these calls: name, arguments, and what the tool answered."""
    made = tuple(ToolCall(name, arguments) for name, arguments, _ in calls)
    results = tuple(result for _, _, result in calls if result is not None)
    return Turn("", Completion("", tool_calls=made), results)


LAST = Turn("", Completion("Done."))


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
    assert message == 'expected a later call of "a" to succeed; "a" got the error "gone" in step 2'


@pytest.mark.parametrize(("answers", "passed"), [(1, True), (2, True), (3, False)])
def test_steps(apply, answers, passed):
    turns = [step(("a", "{}", OK))] * (answers - 1)
    finding = found(apply, "steps", [*turns, LAST], max=2)
    assert finding.passed is passed
    assert finding.message == ("" if passed else "expected at most 2 steps; the model took 3")
    assert apply("steps", "Hello.", max=1).passed is True
