"""`tool_call`: names, arguments, order and number of calls, and calls that are malformed."""

from __future__ import annotations

import pytest

from gatekeeper.checks.check import Finding, ParameterError
from gatekeeper.checks.tools import tool_call
from gatekeeper.contract.values.definition import ToolCall

PARIS = ("weather", '{"city": "Paris", "days": 1.0}')
ROME = ("weather", '{"city": "Rome"}')
CLOCK = ("clock", "")


@pytest.mark.parametrize(
    ("calls", "params", "passed"),
    [
        ([PARIS], {"tool": "weather"}, True),
        ([PARIS], {"tool": "Weather"}, False),
        ([], {"tool": "weather"}, False),
        ([ROME, PARIS], {"tool": "weather", "arguments": {"city": "Paris"}}, True),
        ([ROME], {"tool": "weather", "arguments": {"city": "Paris"}}, False),
        ([PARIS], {"tool": "weather", "arguments": {"days": 1}}, True),
        ([PARIS], {"tool": "weather", "arguments": {"unit": None}}, False),
        ([CLOCK], {"tool": "clock", "arguments": {}}, True),
        ([("clock", '{"a": ')], {"tool": "clock", "arguments": {}}, False),
        ([("clock", "[1]")], {"tool": "clock", "arguments": {}}, False),
        ([("clock", '{"a": ')], {"tool": "clock"}, True),
        ([PARIS], {"tool": "weather", "schema": {"required": ["days"]}}, True),
        ([ROME], {"tool": "weather", "schema": {"required": ["days"]}}, False),
        ([PARIS, CLOCK, ROME], {"order": ["weather", "weather"]}, True),
        ([PARIS, CLOCK], {"order": ["clock", "weather"]}, False),
        ([PARIS], {"order": ["weather", "weather"]}, False),
        ([PARIS, CLOCK], {"allowed": ["weather"]}, False),
        ([], {"allowed": ["weather"]}, True),
        ([PARIS, CLOCK], {"allowed": {"weather": {"required": ["days"]}, "clock": True}}, True),
        ([PARIS, ROME], {"allowed": {"weather": {"required": ["days"]}}}, False),
        ([PARIS, CLOCK], {"allowed": {"weather": {"required": ["days"]}}}, False),
        ([("clock", '{"a": ')], {"allowed": {"clock": {}}}, False),
        ([], {"allowed": {"clock": False}}, True),
        ([PARIS, ROME], {"parallel": True}, True),
        ([PARIS], {"parallel": True}, False),
        ([PARIS, ROME], {"parallel": False}, False),
        ([PARIS], {"parallel": False}, True),
        ([], {"none": True}, True),
        ([CLOCK], {"none": True}, False),
        ([PARIS, CLOCK], {"tool": "weather", "parallel": False}, False),
    ],
)
def test_what_is_called(apply, calls, params, passed):
    tool_calls = tuple(ToolCall(*call) for call in calls)
    found = apply("tool_call", "", completion={"tool_calls": tool_calls}, **params)
    assert found.passed is passed
    assert bool(found.message) is not passed


def test_messages_say_what_was_expected(apply):
    completion = {"tool_calls": (ToolCall(*ROME),)}
    found = apply(
        "tool_call", "", completion=completion, tool="weather", arguments={"city": "Paris"}
    )
    assert found.message == '`weather`: `city`: expected "Paris"; got "Rome"'
    found = apply("tool_call", "", completion=completion, allowed={"weather": {"required": ["a"]}})
    assert found.message == "`weather`: $: 'a' is a required property"
    found = apply("tool_call", "It is warm.", tool="weather")
    assert found.message == 'expected a call of `weather`; got no tool call and "It is warm."'


@pytest.mark.parametrize(
    "params",
    [{}, {"none": False}, {"none": True, "tool": "a"}, {"arguments": {}}, {"schema": {}}],
)
def test_parameters_must_make_sense(apply, params):
    with pytest.raises(ParameterError):
        apply("tool_call", "", **params)


def test_a_wrong_call_counts_more_than_one_that_could_not_be_examined(make_sample):
    found = {"a": Finding(None, "too slow"), "b": Finding(False, "wrong")}
    validators = {name: lambda _, finding=finding: finding for name, finding in found.items()}
    requirement = tool_call._all_conform(validators)
    a, b = ToolCall("a", "{}"), ToolCall("b", "{}")
    sample = make_sample("")
    assert requirement(sample, (a,)) == Finding(None, "`a`: too slow")
    for calls in ((a, b), (b, a)):
        assert requirement(sample, calls) == Finding(False, "`b`: wrong")


@pytest.mark.parametrize(
    "arguments",
    ["[" * 100_000, '{"a": NaN}', '{"a": 1, "a": 2}', "a" * 1_000_000, '{"\\ud83d": "\ud83d"}'],
    ids=["deep", "nan", "duplicate", "long", "surrogate"],
)
def test_hostile_arguments(apply, arguments):
    completion = {"tool_calls": (ToolCall("t\ud83d", arguments), ToolCall("t", arguments)) * 9}
    for params in ({"arguments": {"b": 1}}, {"schema": {"required": ["b"]}}):
        found = apply("tool_call", "", completion=completion, tool="t", **params)
        assert found.passed is False
        assert len(found.message.encode()) < 2_000
    assert apply("tool_call", "", completion=completion, none=True).message.encode()
