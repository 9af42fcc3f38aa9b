"""The same answers streamed and unstreamed, from a real server: the same texts, costs and
failures."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from support.answering_server import Answer, AnsweringServer
from support.native_clients import (
    CLAUDE,
    KEY,
    OPENAI,
    ask,
    asked,
    chat,
    counted,
    messages,
    point_at,
    said,
    used,
)
from support.streamed_answers import DONE, chat_events, chunk, message_events, stream

from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.trial import Completion
from gatekeeper.errors import CallFailed

TOOL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
WEATHER = {
    "id": "call_2",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Zürich", "days": 1.0}'},
}
CACHED = {"prompt_tokens_details": {"cached_tokens": 600}}
REASONED = {"completion_tokens_details": {"reasoning_tokens": 64}}

CHATS: dict[str, dict[str, Any]] = {
    "success": chat(),
    "unicode": chat("Grüße 🙂\u202e"),
    "surrogate": chat("a\ud800b"),
    "long": chat("wörter " * 2_000),
    "fingerprint": chat(system_fingerprint="fp_1"),
    "another model": chat(model="gpt-4o-2024-08-06"),
    "an unknown model": chat(model="nobody-knows"),
    "length": chat("Hi", "length"),
    "refusal": chat(None, message={"refusal": "I cannot."}),
    "content filter": chat(None, "content_filter"),
    "tool calls": chat(None, "tool_calls", message={"tool_calls": [TOOL]}),
    "tools, yet stop": chat(None, "stop", message={"tool_calls": [TOOL]}),
    "text and tools": chat("Hi", "stop", message={"tool_calls": [TOOL]}),
    "several calls": chat(None, "tool_calls", message={"tool_calls": [TOOL, WEATHER, WEATHER]}),
    "a call without a function": chat(None, "tool_calls", message={"tool_calls": [{"id": "1"}]}),
    "a strange reason": chat("Hi", "weather"),
    "the reason of others": chat("Hi", "max_tokens"),
    "null content": chat(None, None),
    "empty content": chat("", "stop"),
    "thoughts": chat("<think>\nwell\n</think>\nHi"),
    "thoughts aside": chat("Hi", message={"reasoning_content": "<think>"}),
    "thoughts aside and within": chat("<think>a</think>Hi", message={"reasoning_content": "b"}),
    "cached": chat(usage=used(1000, 100, **CACHED)),
    "reasoning": chat(usage=used(1000, 100, **REASONED)),
    "priority": chat(service_tier="priority"),
    "null usage": chat() | {"usage": None},
    "no tokens": chat(usage=used(0, 0)),
    "huge usage": chat(usage=used(10**15, 10**15)),
}

BLOCK = {"type": "text", "text": "Hi"}
THINKING = {"type": "thinking", "thinking": "well", "signature": "s"}
CALL = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
LONG_CALL = {"type": "tool_use", "id": "2", "name": "g", "input": {"a": [1.5, "Zürich", None]}}
MESSAGES: dict[str, dict[str, Any]] = {
    "success": messages(),
    "two texts": messages(BLOCK, {"type": "text", "text": " there"}),
    "thinking": messages(THINKING, BLOCK),
    "tool": messages(CALL, reason="tool_use"),
    "text and tools": messages(BLOCK, CALL, LONG_CALL, reason="tool_use"),
    "length": messages(BLOCK, reason="max_tokens"),
    "refusal": messages(reason="refusal") | {"content": []},
    "nothing": messages(reason=None) | {"content": []},
    "cached": messages() | {"usage": counted(cache_read_input_tokens=500)},
    "written": messages() | {"usage": counted(cache_creation_input_tokens=500)},
    "counted thoughts": messages(THINKING, BLOCK)
    | {"usage": counted(output_tokens_details={"thinking_tokens": 64})},
    "tier": messages() | {"usage": counted(service_tier="batch")},
    "another model": messages(model="claude-opus-4-1"),
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnsweringServer]:
    with AnsweringServer(Answer()) as running:
        point_at(running.url, monkeypatch)
        yield running


def streamed(model: str = OPENAI, **params: Any) -> Completion | Exception:
    return ask(replace(asked(model, **params), streamed=True), through_litellm=False)


@pytest.mark.parametrize("whole", CHATS.values(), ids=CHATS)
def test_a_streamed_chat_says_the_same(whole: dict[str, Any], server: AnsweringServer) -> None:
    server.answer = Answer(200, whole)
    expected = ask(asked(), through_litellm=False)
    server.answer = stream(*chat_events(whole))
    assert said(streamed()) == said(expected)


@pytest.mark.parametrize("whole", MESSAGES.values(), ids=MESSAGES)
def test_a_streamed_message_says_the_same(whole: dict[str, Any], server: AnsweringServer) -> None:
    server.answer = Answer(200, whole)
    expected = ask(asked(CLAUDE), through_litellm=False)
    server.answer = stream(*message_events(whole))
    assert said(streamed(CLAUDE)) == said(expected)


def test_the_time_to_the_first_token_is_part_of_the_latency(server: AnsweringServer) -> None:
    server.answer = stream(*chat_events(chat()))
    found = streamed()
    assert isinstance(found, Completion)
    assert found.ttft_ms is not None
    assert found.latency_ms is not None
    assert 0 < found.ttft_ms <= found.latency_ms


def test_what_is_asked_differs_only_by_the_stream(server: AnsweringServer) -> None:
    for model, more in (
        (OPENAI, {"stream": True, "stream_options": {"include_usage": True}}),
        (CLAUDE, {"stream": True}),
    ):
        ask(asked(model, temperature=0.5), through_litellm=False)
        streamed(model, temperature=0.5)
        plain, asked_for_stream = (request.body for request in server.requests[-2:])
        assert asked_for_stream == {**plain, **more}


def test_mistral_takes_no_stream_options(
    server: AnsweringServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISTRAL_API_BASE", f"{server.url}/v1")
    monkeypatch.setenv("MISTRAL_API_KEY", KEY)
    server.answer = stream(*chat_events(chat()))
    assert isinstance(streamed("mistral/mistral-small-latest"), Completion)
    assert server.requests[0].body["stream"] is True
    assert "stream_options" not in server.requests[0].body


def test_a_server_that_does_not_stream_leaves_the_time_unknown(server: AnsweringServer) -> None:
    server.answer = Answer(200, chat())
    found = streamed()
    assert isinstance(found, Completion)
    assert (found.text, found.ttft_ms) == ("Hi", None)


def test_a_stream_may_be_packed(server: AnsweringServer) -> None:
    packed = gzip.compress(b"".join(chat_events(chat("Grüße"))))
    server.answer = stream(packed, **{"Content-Encoding": "gzip"})
    found = streamed()
    assert isinstance(found, Completion)
    assert found.text == "Grüße"
    assert found.ttft_ms is not None


def test_a_call_that_is_cut_off_keeps_its_beginning(server: AnsweringServer) -> None:
    whole = messages(LONG_CALL, reason="max_tokens")
    events = message_events(whole)
    pieces = [event for event in events if b"input_json_delta" in event]
    server.answer = stream(*(event for event in events if event not in pieces[3:]))
    found = streamed(CLAUDE)
    assert isinstance(found, Completion)
    assert found.tool_calls == (ToolCall("g", '{"a": [1.', "2"),)
    assert found.finish_reason == "length"


def test_calls_without_an_index_are_calls_of_their_own(server: AnsweringServer) -> None:
    def piece(*calls: Any) -> bytes:
        delta = {"tool_calls": list(calls)}
        return chunk({"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]})

    function = {"name": "f", "arguments": {"a": 1}}
    server.answer = stream(piece({"function": function}), piece({"function": function}), DONE)
    found = streamed()
    assert isinstance(found, Completion)
    assert found.tool_calls == (ToolCall("f", '{"a": 1}'), ToolCall("f", '{"a": 1}'))
    assert found.finish_reason == "tool_calls"


CHAT, MESSAGE = chat_events(chat()), message_events(messages())
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
BROKEN: dict[str, tuple[str, Answer]] = {
    "nothing": (OPENAI, stream()),
    "ends before [DONE]": (OPENAI, stream(*CHAT[:-1])),
    "ends within an event": (OPENAI, stream(*CHAT[:2], CHAT[3][:20])),
    "no choices": (OPENAI, stream(DONE)),
    "[DONE] after a failure of the server's own": (OPENAI, stream(*CHAT[:2], DONE)),
    "an error in the middle": (
        OPENAI,
        stream(*CHAT[:3], chunk({"error": {"message": "no"}}), DONE),
    ),
    "no UTF-8": (OPENAI, stream(*CHAT[:2], b"data: \xff\n\n", *CHAT[2:])),
    "rubbish": (OPENAI, stream(b"<html>")),
    "cut short": (OPENAI, stream(*CHAT[:3], **{"Transfer-Encoding": "chunked"})),
    "ends before message_stop": (CLAUDE, stream(*MESSAGE[:-1])),
    "ends without a reason": (CLAUDE, stream(*MESSAGE[:-2], MESSAGE[-1])),
    "overloaded in the middle": (CLAUDE, stream(*MESSAGE[:3], chunk(OVERLOADED, "error"))),
    "only pings": (CLAUDE, stream(*MESSAGE[1:2] * 10)),
}


@pytest.mark.parametrize(("model", "answer"), BROKEN.values(), ids=BROKEN)
def test_a_broken_stream_may_cost_and_may_be_asked_again(
    model: str, answer: Answer, server: AnsweringServer
) -> None:
    server.answer = answer
    found = streamed(model)
    assert isinstance(found, CallFailed)
    assert (found.retryable, found.fatal, found.billable) == (True, False, True)


def test_a_huge_event_is_refused(server: AnsweringServer) -> None:
    server.answer = stream(b"data: " + b"x" * 3_000_000)
    found = streamed()
    assert isinstance(found, CallFailed)
    assert (found.retryable, found.billable) == (False, True)


@pytest.mark.parametrize("status", [400, 401, 429, 500, 529])
def test_an_error_before_the_stream_is_as_ever(status: int, server: AnsweringServer) -> None:
    server.answer = Answer(status, {"error": {"message": "no"}}, {"Retry-After": "3"})
    assert said(streamed()) == said(ask(asked(), through_litellm=False))
