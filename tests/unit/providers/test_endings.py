from __future__ import annotations

import json
from typing import Any

import pytest

from gatekeeper.contract.values.trial import REFUSED, TOO_LONG, Completion
from gatekeeper.providers.http.http_client import Exchange
from gatekeeper.providers.models.endpoint import endpoint_of
from gatekeeper.providers.native.endings import read_document, read_ending, refused_request

FILTER = "content_filter"


def ending(content: str | None, body: Any, known: str | None = "stop") -> Any:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_ending(read_document(sent), content, known)


def chat(reason: str | None, **message: Any) -> dict[str, Any]:
    return {"choices": [{"finish_reason": reason, "message": message}]}


@pytest.mark.parametrize(
    ("content", "body", "known", "expected"),
    [
        ("Hi", chat("stop"), "stop", ("Hi", "stop")),
        ("Hi", chat("length"), "length", ("Hi", "length")),
        ("Hi", chat(None), "stop", ("Hi", None)),
        (None, chat("content_filter"), "content_filter", ("", "content_filter")),
        (None, chat("length"), "length", ("", "length")),
        (None, chat("tool_calls"), "tool_calls", ("", "tool_calls")),
        (None, chat("stop", refusal="I cannot."), "stop", ("I cannot.", "refusal")),
        ("", chat("stop", refusal="I cannot."), "stop", ("I cannot.", "refusal")),
        ("", chat("stop", refusal=["I"]), "stop", ("", "stop")),
        ("", chat(None), "stop", ("", None)),
        (None, {"stop_reason": "refusal", "content": []}, "content_filter", ("", "content_filter")),
        (None, {"stopReason": "guardrail_intervened"}, "content_filter", ("", "content_filter")),
        (None, {"candidates": [{"finishReason": "SAFETY"}]}, FILTER, ("", FILTER)),
        (None, {"promptFeedback": {"blockReason": "OTHER"}}, FILTER, ("", FILTER)),
        (None, {"finish_reason": "MAX_TOKENS"}, "length", ("", "length")),
        (None, {"done_reason": "load"}, "stop", ("", "load")),  # litellm does not know it
        (None, {"stop_reason": "end_turn"}, "stop", ("", "stop")),
        (None, {"status": "incomplete"}, None, ("", "incomplete")),
        (None, chat("x" * 300), "stop", ("", "x" * 40)),
        (None, chat("a\u202eb"), "stop", ("", "unknown")),
        (None, chat(None), "stop", None),
        (None, chat("stop") | {"choices": []}, "stop", None),
        (None, b"no JSON", "stop", None),
        (None, b"[" * 100_000, "stop", None),
        (None, [], "stop", None),
    ],
)  # fmt: skip
def test_text_and_reason(
    content: str | None, body: Any, known: str | None, expected: tuple[str, str | None] | None
) -> None:
    found = ending(content, body, known)
    assert (None if found is None else tuple(found)) == expected


@pytest.mark.parametrize(
    "error",
    [
        {"code": "content_filter", "message": "The response was filtered"},
        {"code": "content_policy_violation"},
        {"code": "data_inspection_failed"},
        {"code": "invalid_request_error", "message": "Content Exists Risk"},
        {"code": "invalid_prompt", "message": "Your prompt was flagged as potentially violating"},
    ],
)
def test_a_refused_request_is_an_empty_answer(error: dict[str, str]) -> None:
    exchange = Exchange(status=400, latency_ms=7.0, body=json.dumps({"error": error}).encode())
    assert refused_request(exchange) == Completion(
        "", latency_ms=7.0, cost_usd=0.0, finish_reason="content_filter"
    )


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"code": "invalid_value", "message": "temperature"}}),
        (400, {"error": {"code": ["content_filter"]}}),
        (400, {"error": "content_filter"}),
        (400, {"code": "content_filter"}),
        (500, {"error": {"code": "content_filter"}}),
        (200, {"error": {"code": "content_filter"}}),
        (None, {}),
    ],
)
def test_other_errors_stay_failures(status: int | None, body: Any) -> None:
    assert refused_request(Exchange(status=status, body=json.dumps(body).encode())) is None


@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [
        (400, {"code": "context_length_exceeded", "message": "x"}, TOO_LONG),
        (400, {"code": "string_above_max_length", "param": "messages[0].content"}, TOO_LONG),
        (400, {"message": "This model's maximum context length is 8192 tokens."}, TOO_LONG),
        (400, {"message": "prompt is too long: 213462 tokens > 199999 maximum"}, TOO_LONG),
        (400, {"message": "input length and `max_tokens` exceed context limit: 9 + 9"}, TOO_LONG),
        (400, {"message": "Input is too long for requested model."}, TOO_LONG),
        (400, {"message": "The input token count (9) exceeds the maximum number"}, TOO_LONG),
        (400, {"message": "Please reduce the length of the messages or completion."}, TOO_LONG),
        (400, {"type": "exceed_context_size_error"}, TOO_LONG),
        (422, {"message": "the request exceeds the available context size"}, TOO_LONG),
        (413, {"type": "request_too_large", "message": "Request exceeds the size"}, TOO_LONG),
        (413, {}, TOO_LONG),
        (400, {"param": "messages", "message": "[] is too short"}, REFUSED),
        (400, {"param": "messages.[0].content", "code": None}, REFUSED),
        (400, {"message": "messages.0: all messages must have non-empty content"}, REFUSED),
        (400, {"message": "messages: text content blocks must be non-empty"}, REFUSED),
        (400, {"code": "invalid_prompt", "message": "no"}, REFUSED),
        (400, {"param": "temperature", "message": "Invalid value"}, None),
        (400, {"param": "max_tokens", "message": "max_tokens is too large: 9"}, None),
        (400, {"message": "Your credit balance is too low"}, None),
        (400, {"message": "API key not valid"}, None),
        (400, {"code": "model_not_found", "message": "no such model"}, None),
        (400, {"message": "unsupported parameter: messages_format"}, None),
        (401, {"code": "context_length_exceeded"}, None),
        (429, {"message": "Request too large for gpt-4o on tokens per min"}, None),
        (500, {"message": "maximum context length"}, None),
    ],
)  # fmt: skip
def test_a_request_refused_for_its_content(status: int, error: Any, reason: str | None) -> None:
    found = refused_request(Exchange(status=status, body=json.dumps({"error": error}).encode()))
    assert (found.finish_reason if found else None) == reason


def test_a_message_at_the_top_counts() -> None:
    body = json.dumps({"message": "Input is too long for requested model."}).encode()
    found = refused_request(Exchange(status=400, body=body))
    assert found == Completion("", cost_usd=0.0, finish_reason=TOO_LONG)


@pytest.mark.parametrize(
    ("model", "cost"),
    [("openai/gpt-4o", 0.0), ("azure/a-deployment", None), ("anthropic/claude-haiku-4-5", 0.0)],
)
@pytest.mark.parametrize("code", ["content_filter", "context_length_exceeded"])
def test_azure_bills_what_it_refuses(model: str, cost: float | None, code: str) -> None:
    keys = dict.fromkeys(("OPENAI_API_KEY", "AZURE_API_KEY", "ANTHROPIC_API_KEY"), "k" * 20)
    endpoint = endpoint_of(model, {**keys, "AZURE_API_BASE": "https://x.openai.azure.com"})
    body = json.dumps({"error": {"code": code, "message": "refused"}}).encode()
    found = refused_request(Exchange(endpoint, status=400, body=body))
    assert found is not None
    assert found.cost_usd == cost
