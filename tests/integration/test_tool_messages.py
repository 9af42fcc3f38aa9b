"""What a model is sent after its tools have answered: the calls, the answers, and its own thoughts
as the provider wants them back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.answering_server import Answer, AnsweringServer
from support.native_clients import (
    CLAUDE,
    KEY,
    LLAMA,
    OPENAI,
    PRO,
    SHORT,
    ask,
    asked,
    chat,
    loop,
    messages,
    ollama_chat,
    point_at,
    response,
)
from support.streamed_answers import chat_events, message_events, response_events, stream

from gatekeeper.contract.calls.calls import join_turns, next_messages
from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.definition import Message, ToolCall
from gatekeeper.contract.values.tools import Tools
from gatekeeper.contract.values.trial import Completion, Request, ToolResult, Turn
from gatekeeper.providers.models.catalogue import CATALOGUE
from gatekeeper.providers.native.chat_messages import arguments_of, chat_messages, function_of
from gatekeeper.sampling.completion_record import completion_record, read_completion
from gatekeeper.sampling.stored_text import stored_completion

# Some of litellm's modules warn when they are imported, which would be taken for a failed call.
pytestmark = pytest.mark.filterwarnings("ignore")

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = {"tools": [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]}
CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
THOUGHT = {"type": "thinking", "thinking": "Well, well", "signature": "c2lnbmVk"}
HIDDEN = {"type": "redacted_thinking", "data": "ZW5j"}
USE = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
FUNCTION_CALL = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "weather"}
DETAILS = [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.encrypted", "data": "b"}]
SIGNED = {**CALL, "extra_content": {"google": {"thought_signature": "c2ln"}}}
GEMINI = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"functionCall": {"name": "weather", "args": {}}, "thoughtSignature": "c2ln"}
                ],
            },
            "finishReason": "STOP",
        }
    ],
    "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14},
}


def calling(message: Mapping[str, Any], call: Mapping[str, Any] = CALL) -> dict[str, Any]:
    return chat(None, "tool_calls", message={**message, "tool_calls": [call]})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnsweringServer]:
    with AnsweringServer(Answer()) as server:
        point_at(server.url, monkeypatch)
        for name in ("deepseek", "groq", "openrouter", "gemini"):
            entry = CATALOGUE[name]
            monkeypatch.setenv(entry.keys[0], KEY)
            base = server.url if name == "gemini" else f"{server.url}/v1"
            monkeypatch.setenv(entry.addresses[0], base)
        yield server


def after(server: AnsweringServer, first: Request, litellm: bool = False) -> Any:
    """The body of the request that follows the answer to the first one and its tool's result."""
    answer = ask(first, litellm)
    assert isinstance(answer, Completion), answer
    assert [call.name for call in answer.tool_calls] == ["weather"]
    kept = read_completion(json.loads(json.dumps(completion_record(answer))))
    call = replace(kept.tool_calls[0], id="call00001")
    said = (Message("assistant", kept.text, (call,), opaque=kept.opaque),)
    result = (Message("tool", "rain", answers="call00001"),)
    server.requests.clear()
    ask(replace(first, messages=(*first.messages, *said, *result)), litellm)
    (sent,) = [each.body for each in server.requests if each.path != "/api/show"]
    return sent


CASES: dict[str, tuple[str, dict[str, Any], Callable[[Any], Any], Any]] = {
    "DeepSeek": (
        "deepseek/deepseek-v4-pro",
        calling({"reasoning_content": "Well, well"}),
        lambda sent: sent["messages"][2]["reasoning_content"],
        "Well, well",
    ),
    "OpenRouter": (
        "openrouter/some/model",
        calling({"reasoning_details": DETAILS}),
        lambda sent: sent["messages"][2]["reasoning_details"],
        DETAILS,
    ),
    "Gemini's own Chat Completions": (
        OPENAI,
        calling({}, SIGNED),
        lambda sent: sent["messages"][2]["tool_calls"][0],
        {**SIGNED, "id": "call00001"},
    ),
    "Groq, which refuses them": (
        "groq/openai/gpt-oss-20b",
        calling({"reasoning_content": "Well, well"}),
        lambda sent: sorted(sent["messages"][2]),
        ["content", "role", "tool_calls"],
    ),
    "Anthropic": (
        CLAUDE,
        messages(THOUGHT, HIDDEN, USE, reason="tool_use"),
        lambda sent: sent["messages"][1]["content"],
        [THOUGHT, HIDDEN, {**USE, "id": "call00001"}],
    ),
    "OpenAI's Responses API": (
        PRO,
        response(REASONING, {**FUNCTION_CALL, "arguments": "{}"}),
        lambda sent: sent["input"][1:3],
        [
            REASONING,
            {"type": "function_call", "call_id": "call00001", "name": "weather", "arguments": "{}"},
        ],
    ),
    "Ollama": (
        LLAMA,
        ollama_chat("", message={"thinking": "Well, well", "tool_calls": [CALL]}),
        lambda sent: sent["messages"][2]["thinking"],
        "Well, well",
    ),
}
EVENTS = {"choices": chat_events, "content": message_events, "output": response_events}


@pytest.mark.parametrize(
    ("name", "streamed"),
    [(name, streamed) for name in CASES for streamed in {False, name != "Ollama"}],
)
def test_thoughts_go_back_with_the_answers_of_tools(
    server: AnsweringServer, name: str, streamed: bool
) -> None:
    model, body, place, expected = CASES[name]
    form = next((events for key, events in EVENTS.items() if key in body), None)
    server.answer = stream(*form(body)) if streamed and form else Answer(200, body)
    first = replace(asked(model, **TOOLS), streamed=streamed, seed=None)
    assert place(after(server, first)) == expected


@pytest.mark.parametrize(
    ("model", "params", "body", "place", "expected"),
    [
        (
            "gemini/gemini-3-pro-preview",
            {},
            GEMINI,
            lambda sent: sent["contents"][1]["parts"][0]["thoughtSignature"],
            "c2ln",
        ),
        (
            CLAUDE,
            {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 2000},
            messages(THOUGHT, USE, reason="tool_use"),
            lambda sent: sent["messages"][1]["content"][0],
            THOUGHT,
        ),
    ],
)
def test_thoughts_go_back_through_litellm(
    server: AnsweringServer, model: str, params: Any, body: Any, place: Any, expected: Any
) -> None:
    server.answer = Answer(200, body)
    assert place(after(server, replace(asked(model, **TOOLS, **params), seed=None))) == expected


def test_results_of_parallel_calls_are_one_message_of_anthropic(server: AnsweringServer) -> None:
    server.answer = Answer(200, messages())
    ask(replace(asked(CLAUDE, **TOOLS), messages=loop("", None, text="")), through_litellm=False)
    assert server.requests[-1].body["messages"][2:] == [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call00001", "content": '{"degrees": 9}'},
                {"type": "tool_result", "tool_use_id": "call00002", "content": "noon"},
            ],
        }
    ]


def test_ollama_gets_the_name_of_the_tool_that_answers(server: AnsweringServer) -> None:
    server.answer = Answer(200, ollama_chat())
    ask(replace(asked(LLAMA, **TOOLS), messages=loop("", None)), through_litellm=False)
    sent = server.requests[-1].body["messages"]
    assert [message.get("tool_name") for message in sent[3:]] == ["get_weather", "now"]
    assert sent[2]["tool_calls"][0]["function"]["arguments"] == {"city": "Zürich"}


@pytest.mark.parametrize(
    "written",
    ["{broken", "[1]", '"x"', '{"a": 1e999}', '{"a": NaN}', "[" * 100_000, '{"a": "\\ud800"}'],
)
def test_arguments_that_are_no_object_go_back_as_one(written: str) -> None:
    call = ToolCall("f", written, "call00001")
    assert arguments_of(call) == {"INVALID_JSON": written}
    assert json.loads(function_of(call)["arguments"]) == {"INVALID_JSON": written}


def test_arguments_go_back_as_the_model_wrote_them() -> None:
    assert function_of(ToolCall("f", '{"a":  1}')) == {"name": "f", "arguments": '{"a":  1}'}
    assert function_of(ToolCall("f", "")) == {"name": "f", "arguments": "{}"}


def test_an_answer_without_calls_keeps_no_thoughts(server: AnsweringServer) -> None:
    server.answer = Answer(200, messages(THOUGHT, {"type": "text", "text": "Hi"}))
    answer = ask(asked(CLAUDE), through_litellm=False)
    assert isinstance(answer, Completion)
    assert answer.opaque is None
    assert "opaque" not in completion_record(answer)


def test_a_conversation_that_is_over_is_stored_without_thoughts() -> None:
    first = Completion("", tool_calls=(ToolCall("f", "{}"),), opaque='{"message": {}, "calls": []}')
    whole = join_turns([Turn("a" * 64, first), Turn("b" * 64, Completion("done"))])
    assert [turn.completion.opaque for turn in stored_completion(whole).turns] == [None, None]


@pytest.mark.parametrize("opaque", ["", "[]", "{}", '{"message": [], "calls": []}', 7, "{"])
def test_a_record_with_other_thoughts_is_refused(opaque: Any) -> None:
    record = {**completion_record(Completion("")), "opaque": opaque}
    with pytest.raises((TypeError, ValueError, KeyError)):
        read_completion(record)


def test_thoughts_are_in_no_digest() -> None:
    one, other = (replace(asked(), messages=loop("reasoning_content", text)) for text in ("a", "b"))
    assert request_digest(one) == request_digest(other)
    assert request_digest(one) != request_digest(replace(asked(), messages=SHORT))


def test_a_loop_hands_the_thoughts_back() -> None:
    opaque = json.dumps({"message": {"reasoning_content": "Hm"}, "calls": [{}]})
    calling = Completion("", tool_calls=(ToolCall("weather", "{}", "abc"),), opaque=opaque)
    request = replace(asked(OPENAI, **TOOLS), tools=Tools())
    sent = next_messages(request, [Turn("", calling, (ToolResult("rain"),))])
    assert sent is not None
    assert [message.opaque for message in sent[-2:]] == [opaque, None]
    assert chat_messages(sent, "deepseek")[-2]["reasoning_content"] == "Hm"
