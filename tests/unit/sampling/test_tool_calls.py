"""Tool calls are kept like texts: whole for the checks, and with a limit in what is stored."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.outcomes import outcome

from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.trial import Completion
from gatekeeper.sampling.completion_record import completion_record, read_completion
from gatekeeper.sampling.stored_text import MOST_CHARACTERS, answer_text, is_long, stored_completion

CALL = ToolCall("get_weather", '{"city": "Zürich"}', "call_1")
CALLS = st.lists(st.builds(ToolCall, st.text(), st.text(), st.none() | st.text()), max_size=3)


@given(CALLS)
def test_calls_come_back_from_a_record(calls: list[ToolCall]) -> None:
    completion = Completion("", tool_calls=tuple(calls))
    assert read_completion(json.loads(json.dumps(completion_record(completion)))) == completion


def test_a_record_without_calls_is_that_of_earlier_versions() -> None:
    record = completion_record(Completion("Hi"))
    assert "tool_calls" not in record
    assert read_completion(record) == Completion("Hi")


@pytest.mark.parametrize("calls", [None, {}, [1], [{"name": 1, "arguments": "{}"}], [{}]])
def test_a_record_of_another_form_is_refused(calls: object) -> None:
    record = {**completion_record(Completion("Hi")), "tool_calls": calls}
    with pytest.raises((TypeError, KeyError)):
        read_completion(record)


def test_long_arguments_are_cut_and_the_whole_is_known() -> None:
    long = ToolCall("f", "x" * MOST_CHARACTERS, "i" * 10**6)
    kept = stored_completion(Completion("Hi", tool_calls=(CALL, long, CALL)))
    assert is_long(Completion("", tool_calls=(long,)))
    assert kept.cut is not None
    assert kept.cut.length > MOST_CHARACTERS
    assert kept.tool_calls[0] == CALL
    assert kept.tool_calls[1].arguments.startswith("xxx")
    assert len(kept.tool_calls) == 2
    assert sum(len(c.arguments) + len(c.id or "") for c in kept.tool_calls) < MOST_CHARACTERS + 500
    assert stored_completion(kept) is kept


def test_a_million_empty_calls_are_not_stored() -> None:
    kept = stored_completion(Completion("", tool_calls=(ToolCall("", ""),) * 1_000_000))
    assert len(kept.tool_calls) < 5_000
    assert kept.cut is not None


def test_an_answer_is_shown_with_its_calls() -> None:
    sample = outcome("f", "head", 0, True, "Let me see.").sample
    assert sample.completion is not None
    called = replace(sample, completion=replace(sample.completion, tool_calls=(CALL,)))
    shown = 'tool call: get_weather({"city": "Zürich"})'
    assert answer_text(called) == f"Let me see.\n{shown}"
    assert answer_text(replace(called, output="")) == shown
    assert answer_text(sample) == "Let me see."
