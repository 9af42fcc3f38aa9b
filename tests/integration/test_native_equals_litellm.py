"""The native clients and litellm, given the same answers by a real server: the same texts, costs
and failures."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from support.answering_server import Answer, AnsweringServer
from support.native_clients import (
    ANTHROPIC_KEY,
    CLAUDE,
    KEY,
    LLAMA,
    OLLAMA_KEY,
    ask,
    asked,
    asked_to_answer,
    chat,
    counted,
    messages,
    ollama_chat,
    point_at,
    said,
    used,
)

# Some of litellm's modules warn when they are imported, which would be taken for a failed call.
pytestmark = pytest.mark.filterwarnings("ignore")


def error(status: int, message: Any, headers: Mapping[str, str] | None = None, **more: Any) -> Any:
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, **more}}
    return Answer(status, body, headers or {})


TOOL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
WEATHER = {
    "id": "call_2",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Zürich", "days": 1.0}'},
}

OPENAI_ANSWERS: dict[str, Answer] = {
    "success": Answer(200, chat()),
    "unicode": Answer(200, chat("Grüße 🙂\u202e")),
    "fingerprint": Answer(200, chat(system_fingerprint="fp_1")),
    "another model": Answer(200, chat(model="gpt-4o-2024-08-06")),
    "an unknown model": Answer(200, chat(model="nobody-knows")),
    "length": Answer(200, chat("Hi", "length")),
    "refusal": Answer(200, chat(None, message={"refusal": "I cannot."})),
    "content filter": Answer(200, chat(None, "content_filter")),
    "tool calls": Answer(200, chat(None, "tool_calls", message={"tool_calls": [TOOL]})),
    "tools, yet stop": Answer(200, chat(None, "stop", message={"tool_calls": [TOOL]})),
    "several calls": Answer(200, chat("Hi", "tool_calls", message={"tool_calls": [TOOL, WEATHER]})),
    "no reason": Answer(200, chat("Hi", None)),
    "a strange reason": Answer(200, chat("Hi", "weather")),
    "another reason": Answer(200, chat("Hi", "eos")),
    "the reason of others": Answer(200, chat("Hi", "max_tokens")),
    "null content": Answer(200, chat(None, None)),
    "empty content": Answer(200, chat("", "stop")),
    "thoughts": Answer(200, chat("<think>\nwell\n</think>\nHi")),
    "thoughts aside": Answer(200, chat("Hi", message={"reasoning_content": "<think>"})),
    "thoughts aside and within": Answer(
        200, chat("<think>a</think>Hi", message={"reasoning_content": "b"})
    ),
    "cached": Answer(
        200, chat(usage=used(1000, 100, prompt_tokens_details={"cached_tokens": 600}))
    ),
    "cached as DeepSeek says it": Answer(
        200, chat(usage=used(1000, 100, prompt_cache_hit_tokens=600))
    ),
    "more cached than asked": Answer(
        200, chat(usage=used(1000, 100, prompt_tokens_details={"cached_tokens": 1600}))
    ),
    "reasoning": Answer(
        200, chat(usage=used(1000, 100, completion_tokens_details={"reasoning_tokens": 64}))
    ),
    "no reasoning": Answer(
        200, chat(usage=used(1000, 100, completion_tokens_details={"reasoning_tokens": 0}))
    ),
    "reasoning beside the details": Answer(200, chat(usage=used(1000, 100, reasoning_tokens=64))),
    "priority": Answer(200, chat(service_tier="priority")),
    "flex": Answer(200, chat(service_tier="flex")),
    "default tier": Answer(200, chat(service_tier="default")),
    "no usage": Answer(200, {k: v for k, v in chat().items() if k != "usage"}),
    "null usage": Answer(200, chat() | {"usage": None}),
    "no tokens": Answer(200, chat(usage=used(0, 0))),
    "huge usage": Answer(200, chat(usage=used(10**15, 10**15))),
    "no choices": Answer(200, chat() | {"choices": []}),
    "no list of choices": Answer(200, chat() | {"choices": None}),
    "an error with 200": Answer(200, {"error": {"message": "overloaded", "code": 502}}),
    "an empty error": Answer(200, chat() | {"error": {}}),
    "malformed": Answer(200, b'{"choices": ['),
    "no object": Answer(200, b'"Hi"'),
    "empty": Answer(200, b""),
    "html": Answer(200, b"<html>It works!</html>"),
    "gzip": Answer(200, gzip.compress(json.dumps(chat()).encode()), {"Content-Encoding": "gzip"}),
    "brotli": Answer(200, b"x", {"Content-Encoding": "br"}),
    "redirect": Answer(302, b"", {"Location": "https://evil.example/"}),
    "temperature": error(400, "Invalid value for temperature", param="temperature"),
    "too long": error(400, "maximum context length is 8192", code="context_length_exceeded"),
    "filtered prompt": error(400, "The response was filtered", code="content_filter"),
    "unknown model 400": error(400, "The model `x` does not exist", code="model_not_found"),
    "message blamed": error(400, "Invalid content", param="messages[0].content"),
    "unauthorized": error(401, f"Incorrect API key provided: {KEY}"),
    "payment": error(402, "Insufficient credits"),
    "forbidden": error(403, "Country not supported"),
    "not found": error(404, "The model does not exist", code="model_not_found"),
    "not found, no JSON": Answer(404, b"<html>nothing here</html>"),
    "too large": error(413, "Request too large"),
    "unprocessable": error(422, "Unprocessable"),
    "rate limited": error(429, "Rate limit reached", {"Retry-After": "3"}),
    "rate limited, no pause": error(429, "Rate limit reached"),
    "out of quota": error(429, "You exceeded your quota: insufficient_quota"),
    "server error": error(500, "The server had an error"),
    "bad gateway": Answer(502, b"<html>bad gateway</html>"),
    "unavailable": error(503, "overloaded", {"Retry-After": "7"}),
    "gateway timeout": error(504, "timed out"),
    "overloaded": error(529, "Overloaded"),
}


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


USED = {"type": "tool_use", "id": "2", "name": "g", "input": {"a": [1.5, "Zürich", None]}}
THOUGHT = {"thinking_tokens": 64}
WRITTEN = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200}
ANTHROPIC_ANSWERS: dict[str, Answer] = {
    "success": Answer(200, messages()),
    "several texts": Answer(200, messages(text("Grüße "), text("🙂"))),
    "thoughts": Answer(200, messages({"type": "thinking", "thinking": "well"}, text("Hi"))),
    "calls": Answer(200, messages(USED, reason="tool_use")),
    "text and calls": Answer(200, messages(text("Hm"), USED, USED, reason="tool_use")),
    "length": Answer(200, messages(reason="max_tokens")),
    "stop sequence": Answer(200, messages(reason="stop_sequence")),
    "refusal": Answer(200, messages(text(""), reason="refusal")),
    "a pause": Answer(200, messages(reason="pause_turn")),
    "no reason": Answer(200, messages(reason=None)),
    "no text, no reason": Answer(200, messages(text(""), reason=None)),
    "no text": Answer(200, messages() | {"content": []}),
    "cached": Answer(200, messages(usage=counted(cache_read_input_tokens=600))),
    "written": Answer(200, messages(usage=counted(cache_creation_input_tokens=300))),
    "written for an hour": Answer(
        200, messages(usage=counted(cache_creation_input_tokens=300, cache_creation=WRITTEN))
    ),
    "counted thoughts": Answer(
        200,
        messages(
            {"type": "thinking", "thinking": "well"},
            text("Hi"),
            usage=counted(output_tokens_details=THOUGHT),
        ),
    ),
    "counted thoughts of rounds": Answer(
        200, messages(usage=counted(iterations=[counted(output_tokens_details=THOUGHT)] * 2))
    ),
    "thoughts of one round": Answer(
        200,
        messages(usage=counted(iterations=[counted(output_tokens_details=THOUGHT), counted()])),
    ),
    "null counts": Answer(
        200,
        messages(usage=counted(cache_creation_input_tokens=None, cache_read_input_tokens=None)),
    ),
    "priority": Answer(200, messages(usage=counted(service_tier="priority"))),
    "standard": Answer(200, messages(usage=counted(service_tier="standard"))),
    "in a region": Answer(
        200, messages(model="claude-opus-4-6", usage=counted(inference_geo="us"))
    ),
    "an unknown model": Answer(200, messages(model="claude-of-tomorrow")),
    "no usage": Answer(200, {k: v for k, v in messages().items() if k != "usage"}),
    "no tokens": Answer(200, messages(usage={"input_tokens": 0, "output_tokens": 0})),
    "no content": Answer(200, messages() | {"content": None}),
    "an error with 200": Answer(
        200, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    ),
    "malformed": Answer(200, b'{"content": ['),
    "empty": Answer(200, b""),
    "gzip": Answer(
        200, gzip.compress(json.dumps(messages()).encode()), {"Content-Encoding": "gzip"}
    ),
    "redirect": Answer(307, b"", {"Location": "https://evil.example/"}),
    "too long": error(400, "prompt is too long: 213462 tokens > 199999 maximum"),
    "message blamed": error(400, "messages: text content blocks must be non-empty"),
    "temperature": error(400, "temperature: must be below 1"),
    "credit": error(400, "Your credit balance is too low"),
    "unauthorized": error(401, "invalid x-api-key"),
    "forbidden": error(403, "not allowed"),
    "not found": error(404, "model: claude-x"),
    "too large": error(413, "Request exceeds the maximum size"),
    "rate limited": error(429, "rate limit", {"Retry-After": "3"}),
    "server error": error(500, "Internal server error"),
    "overloaded": error(529, "Overloaded"),
}

OLLAMA_TOOL = {"id": "call_1", "function": {"index": 0, "name": "f", "arguments": {"a": "Zürich"}}}
OLLAMA_ANSWERS: dict[str, Answer] = {
    "success": Answer(200, ollama_chat()),
    "unicode": Answer(200, ollama_chat("Grüße 🙂\u202e")),
    "length": Answer(200, ollama_chat("Hi", "length")),
    "empty": Answer(200, ollama_chat("")),
    "no reason": Answer(200, ollama_chat("Hi", None)),
    "a model that was only loaded": Answer(200, ollama_chat("", "load")),
    "no text, no reason": Answer(200, ollama_chat("", None)),
    "thoughts": Answer(200, ollama_chat("<think>\nwell\n</think>\nHi")),
    "thoughts aside": Answer(200, ollama_chat("Hi", message={"thinking": "well"})),
    "thoughts aside and within": Answer(
        200, ollama_chat("<think>a</think>Hi", message={"thinking": "b"})
    ),
    "tool calls": Answer(200, ollama_chat("", message={"tool_calls": [OLLAMA_TOOL]})),
    "text and calls": Answer(200, ollama_chat("Hm", message={"tool_calls": [OLLAMA_TOOL] * 2})),
    "no message": Answer(200, {"model": "llama3.2:1b", "done": True}),
    "an error with 200": Answer(200, {"error": "llama runner process has terminated"}),
    "malformed": Answer(200, b'{"message": ['),
    "no object": Answer(200, b'"Hi"'),
    "nothing": Answer(200, b""),
    "redirect": Answer(301, b"", {"Location": "https://evil.example/api/chat"}),
    "an unknown option": Answer(400, {"error": 'option "stop" must be of type array'}),
    "no tools": Answer(400, {"error": "llama3.2:1b does not support tools"}),
    "unauthorized": Answer(401, {"error": "unauthorized"}),
    "unknown model": Answer(404, {"error": "model 'llama3.2:1b' not found"}),
    "rate limited": Answer(429, {"error": "too many requests"}, {"Retry-After": "3"}),
    "server error": Answer(500, {"error": "llama runner process has terminated: exit status 2"}),
    "busy": Answer(503, {"error": "server busy, please try again. maximum pending requests"}),
}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnsweringServer]:
    with AnsweringServer(Answer()) as server:
        point_at(server.url, monkeypatch)
        yield server


@pytest.mark.parametrize("name", OPENAI_ANSWERS)
def test_chat_completions_are_read_alike(server: AnsweringServer, name: str) -> None:
    server.answer = OPENAI_ANSWERS[name]
    native, litellm = ask(asked(), False), ask(asked(), True)
    assert said(native) == said(litellm), (str(native), str(litellm))
    first, second = server.requests
    assert first.body == second.body
    assert first.path == second.path
    assert first.headers["authorization"] == second.headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in f"{native} {litellm}"


@pytest.mark.parametrize("name", ANTHROPIC_ANSWERS)
def test_messages_are_read_alike(server: AnsweringServer, name: str) -> None:
    server.answer = ANTHROPIC_ANSWERS[name]
    request = asked(CLAUDE, max_tokens=50, stop="x", temperature=0)
    native, litellm = ask(request, False), ask(request, True)
    assert said(native) == said(litellm), (str(native), str(litellm))
    first, second = server.requests
    assert first.headers["user-agent"] == "gatekeeper"
    assert first.body == second.body
    assert first.path == second.path == "/v1/messages"
    for header in ("x-api-key", "anthropic-version", "content-type"):
        assert first.headers[header] == second.headers[header]
    assert ANTHROPIC_KEY not in f"{native} {litellm}"


@pytest.mark.parametrize("name", OLLAMA_ANSWERS)
def test_answers_of_ollama_are_read_alike(server: AnsweringServer, name: str) -> None:
    server.answer = OLLAMA_ANSWERS[name]
    request = asked(LLAMA, temperature=0, max_tokens=50, stop=["x"])
    native, litellm = ask(request, False), ask(request, True)
    assert said(native) == said(litellm), (str(native), str(litellm))
    first, second = asked_to_answer(server)
    assert first.headers["user-agent"] == "gatekeeper"
    assert second.headers["user-agent"] != "gatekeeper"
    assert first.body == second.body
    assert first.path == second.path == "/api/chat"
    assert first.headers["authorization"] == second.headers["authorization"]
    assert first.headers["authorization"] == f"Bearer {OLLAMA_KEY}"
    assert OLLAMA_KEY not in f"{native} {litellm}"
