"""`tool_call`: names, arguments, order and number of calls, and calls that are malformed."""

from __future__ import annotations

import pytest

from gatekeeper.checks.check import Finding, ParameterError
from gatekeeper.checks.tools import tool_call
from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.trial import Completion, Turn

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
        ([], {"tool": "weather", "max": 0}, True),
        ([PARIS], {"tool": "weather", "max": 0}, False),
        ([CLOCK], {"tool": "weather", "max": 0}, True),
        ([PARIS, ROME], {"tool": "weather", "min": 2}, True),
        ([PARIS, CLOCK], {"tool": "weather", "min": 2}, False),
        ([PARIS, ROME, CLOCK], {"tool": "weather", "max": 1}, False),
        ([PARIS], {"tool": "weather", "min": 1, "max": 1}, True),
        ([], {"tool": "weather", "min": 1, "max": 1}, False),
        ([PARIS, CLOCK], {"max": 1}, False),
        ([PARIS, CLOCK], {"min": 2, "max": 2}, True),
        ([ROME], {"tool": "weather", "arguments": {"city": "Paris"}, "max": 0}, True),
        ([ROME, PARIS], {"tool": "weather", "arguments": {"city": "Paris"}, "max": 0}, False),
        ([ROME, ROME], {"tool": "weather", "schema": {"required": ["days"]}, "max": 0}, True),
        # A call that is cut off may be the forbidden one.
        ([("weather", '{"ci')], {"tool": "weather", "arguments": {"city": "A"}, "max": 0}, False),
        ([("weather", "7")], {"tool": "weather", "arguments": {"city": "A"}, "max": 0}, False),
        ([PARIS, CLOCK], {"order": ["clock", "weather"], "match": "any_order"}, True),
        ([PARIS], {"order": ["weather", "weather"], "match": "any_order"}, False),
        ([PARIS, ROME, CLOCK], {"order": ["clock", "weather"], "match": "any_order"}, True),
        ([PARIS, CLOCK], {"order": ["weather", "clock"], "match": "exact"}, True),
        ([PARIS, CLOCK, ROME], {"order": ["weather", "clock"], "match": "exact"}, False),
        ([CLOCK, PARIS], {"order": ["weather", "clock"], "match": "exact"}, False),
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
    [
        *({}, {"none": False}, {"none": True, "tool": "a"}, {"arguments": {}}, {"schema": {}}),
        *({"tool": "a", "min": 0}, {"min": 3, "max": 2}, {"tool": "a", "match": "exact"}),
        {"none": True, "max": 0},
    ],
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


def test_the_calls_of_every_step_count(apply):
    """A model that looks first and buys later has two calls, of which no answer has both."""
    steps = [("look", "{}"), ("buy", '{"id": 1}'), ("buy", '{"id": 2}')]
    turns = [Turn("", Completion("", tool_calls=(ToolCall(*call),))) for call in steps]
    completion = {"turns": (*turns, Turn("", Completion("Bought.")))}

    def passes(**params):
        return apply("tool_call", "Bought.", completion=completion, **params).passed

    assert passes(order=["look", "buy"]) is True
    assert passes(tool="buy", arguments={"id": 1}) is True
    assert passes(parallel=False) is True
    assert passes(none=True) is passes(parallel=True) is passes(tool="buy", max=1) is False
    found = apply("tool_call", "", completion=completion, tool="buy", min=3)
    assert found.message == "expected at least 3 calls of `buy`; got 2"


def test_a_call_that_could_not_be_examined_leaves_a_count_open(make_sample):
    unclear = Finding(None, "too slow")
    wanted = tool_call._Wanted("a", [lambda _, call: unclear if call.arguments else Finding(True)])
    clear, slow = ToolCall("a", ""), ToolCall("a", "{}")

    def passed(least, most, *calls):
        return tool_call._called(wanted, least, most)(make_sample(""), calls).passed

    assert (
        passed(1, None, slow) is passed(2, None, slow, clear) is passed(0, 1, slow, clear) is None
    )
    assert passed(1, None, slow, clear) is passed(0, 2, slow, clear) is True
    assert passed(0, 1, slow, clear, clear) is passed(3, None, slow, clear) is False
