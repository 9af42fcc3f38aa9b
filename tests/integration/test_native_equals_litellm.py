"""The native clients and litellm, asked the same by a real server: the same requests, the same
answers, the same costs, the same failures."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.answering_server import Answer, AnsweringServer

from gatekeeper.contract.definition import Message
from gatekeeper.contract.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.catalogue import CATALOGUE
from gatekeeper.providers.hosted import NATIVE_APIS, HostedClient

# Some of litellm's modules warn when they are imported, which would be taken for a failed call.
pytestmark = pytest.mark.filterwarnings("ignore")

KEY = "sk-test-0123456789abcdef"
ANTHROPIC_KEY = "sk-ant-0123456789abcdef"
OPENAI = "openai/gpt-4o-mini"


def chat(
    content: Any = "Hi", reason: Any = "stop", usage: Any = None, **more: Any
) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **more.pop("message", {})}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [{"index": 0, "finish_reason": reason, "message": message}],
        "usage": used(1000, 100) if usage is None else usage,
        **more,
    }


def used(prompt: Any, completion: Any, **more: Any) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": 1100,
        **more,
    }


def error(status: int, message: Any, headers: Mapping[str, str] | None = None, **more: Any) -> Any:
    body = {"error": {"message": message, "type": "invalid_request_error", "param": None, **more}}
    return Answer(status, body, headers or {})


TOOL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}

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


CLAUDE = "anthropic/claude-haiku-4-5"


def messages(*content: Any, reason: Any = "end_turn", **more: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5-20251001",
        "content": [{"type": "text", "text": "Hi"}] if not content else list(content),
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": counted(),
        **more,
    }


def counted(**more: Any) -> dict[str, Any]:
    return {"input_tokens": 1000, "output_tokens": 100, **more}


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


WRITTEN = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200}
ANTHROPIC_ANSWERS: dict[str, Answer] = {
    "success": Answer(200, messages()),
    "several texts": Answer(200, messages(text("Grüße "), text("🙂"))),
    "thoughts": Answer(200, messages({"type": "thinking", "thinking": "well"}, text("Hi"))),
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


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnsweringServer]:
    with AnsweringServer(Answer()) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_API_BASE", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", ANTHROPIC_KEY)
        yield server


def ask(request: Request, through_litellm: bool) -> Completion | Exception:
    async def main() -> Completion | Exception:
        client = HostedClient([request.model.partition("/")[0]] if through_litellm else [])
        try:
            return await outcome(client, request)
        finally:
            await client.aclose()

    return asyncio.run(main())


def asked(model: str = OPENAI, **params: Any) -> Request:
    return Request(model, (Message("system", "Be short."), Message("user", "Hi")), params, 7, 0)


def said(outcome: Completion | Exception) -> tuple[Any, ...]:
    """All that both must agree on: the time differs, and so may the wording of an error."""
    if isinstance(outcome, CallFailed):
        whose = (outcome.fatal, outcome.author, outcome.billable)
        when = (outcome.retryable, outcome.throttled, outcome.retry_after)
        return ("failed", *whose, *when)
    assert isinstance(outcome, Completion)
    cost = None if outcome.cost_usd is None else float(f"{outcome.cost_usd:.9g}")
    return (
        outcome.text,
        outcome.prompt_tokens,
        outcome.completion_tokens,
        cost,
        outcome.fingerprint,
        outcome.finish_reason,
    )


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


VALUES: dict[str, list[Any]] = {
    "frequency_penalty": [0.5],
    "logit_bias": [{"5": 1}],
    "logprobs": [True],
    "max_completion_tokens": [7],
    "max_tokens": [7],
    "min_p": [0.1],
    "presence_penalty": [0.5],
    "reasoning_effort": ["low", "minimal", "none"],
    "repetition_penalty": [1.1],
    "response_format": [
        {"type": "json_object"},
        {"type": "text"},
        {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}},
    ],
    "safety_settings": [[{"category": "a"}]],
    "seed": [3],
    "service_tier": ["flex"],
    "stop": ["x", ["x", "y"]],
    "temperature": [0, 0.5, 1, 2],
    "thinking": [{"type": "enabled", "budget_tokens": 1024}],
    "top_k": [5],
    "top_logprobs": [2],
    "top_p": [0.5],
    "verbosity": ["low"],
}
CONVERSATIONS = (
    (Message("user", "Hi"),),
    (Message("user", "a"), Message("assistant", "b"), Message("user", "c")),
    (Message("system", "a"), Message("system", "b"), Message("user", "")),
    (Message("user", "a"), Message("assistant", "b")),
    (Message("assistant", "a"),),
    (Message("system", "a"),),
    (Message("user", "a"), Message("user", "b")),
    (Message("user", "a"), Message("system", "s"), Message("user", "b")),
    (Message("user", "a"), Message("assistant", "b ")),
    (Message("system", " "), Message("user", " a ")),
)
MODELS = {
    "openai": ("some-model", "gpt-4", "gpt-5-mini", "gpt-5.1", "o3-mini", "gpt-4o-search-preview"),
    "azure": ("some-model", "gpt-4o", "gpt-5"),
    "anthropic": ("claude-haiku-4-5", "claude-opus-4-7", "claude-of-tomorrow"),
    "openrouter": ("some/model", "anthropic/claude-sonnet-4.5", "openai/gpt-5"),
    "mistral": ("mistral-small-latest", "magistral-medium-latest"),
    "groq": ("llama-3.3-70b-versatile", "openai/gpt-oss-20b"),
    "fireworks_ai": ("accounts/fireworks/models/llama-v3p1-8b-instruct",),
    "together_ai": ("meta-llama/Llama-3.3-70B-Instruct-Turbo",),
    "deepseek": ("deepseek-chat", "deepseek-v4-pro"),
    "cerebras": ("llama3.1-8b",),
    "moonshot": ("kimi-k2-0711-preview", "moonshot-v1-8k"),
}


@pytest.fixture
def asked_at(server: AnsweringServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has a provider's models asked at the server."""

    def point(provider: str) -> None:
        entry = CATALOGUE[provider]
        monkeypatch.setenv(entry.keys[0], KEY)
        base = server.url if provider in ("azure", "anthropic") else f"{server.url}/v1"
        monkeypatch.setenv(entry.addresses[0], base)

    return point


async def compare(
    server: AnsweringServer, native: HostedClient, litellm: HostedClient, request: Request
) -> None:
    """Ask the same in both ways; what is sent and what is answered must be the same."""
    name = named_by(request.model)
    body = chat(model=name, service_tier="default")
    if request.model.startswith("anthropic/"):
        body = messages(model=name)
    server.answer = Answer(200, body)
    server.requests.clear()
    outcomes = [await outcome(client, request) for client in (native, litellm)]
    assert len(server.requests) == 2, (request, outcomes)
    first, second = server.requests
    assert first.headers["user-agent"] == "gatekeeper"
    assert second.headers["user-agent"] != "gatekeeper"
    assert first.body == second.body, request
    assert first.path == second.path
    for header in ("authorization", "api-key", "x-api-key", "content-type"):
        assert first.headers.get(header) == second.headers.get(header)
    natively, through_litellm = outcomes
    assert isinstance(natively, Completion)
    assert isinstance(through_litellm, Completion)
    if through_litellm.cost_usd is None:
        # litellm takes the answer's `openai/gpt-oss-20b` of Groq for a model of OpenAI.
        natively = replace(natively, cost_usd=None)
    assert said(natively) == said(through_litellm), request


def named_by(model: str) -> str:
    """The name that a provider gives a model in its answers."""
    return model.partition("/")[2]


@pytest.mark.parametrize("provider", NATIVE_APIS)
def test_common_requests_are_the_same(
    server: AnsweringServer, provider: str, asked_at: Callable[[str], None]
) -> None:
    asked_at(provider)
    model = f"{provider}/{MODELS.get(provider, ('some-model',))[0]}"
    request = asked(model, temperature=0, max_tokens=7, stop=["x"], top_p=0.5)

    async def main() -> None:
        native, litellm = HostedClient(), HostedClient([provider])
        try:
            await compare(server, native, litellm, request)
        finally:
            await native.aclose()
            await litellm.aclose()

    asyncio.run(main())


@pytest.mark.long
@pytest.mark.parametrize("provider", NATIVE_APIS)
def test_every_request_that_is_sent_natively_is_litellms(
    server: AnsweringServer, provider: str, asked_at: Callable[[str], None]
) -> None:
    asked_at(provider)
    requests = [
        Request(f"{provider}/{name}", said_before, params, 7, 0)
        for name in MODELS.get(provider, ("some-model",))
        for params, said_before in (
            *(({field: value}, SHORT) for field, values in VALUES.items() for value in values),
            *(({}, conversation) for conversation in CONVERSATIONS),
        )
    ]

    async def main() -> int:
        natively = 0
        native, litellm = HostedClient(), HostedClient([provider])
        try:
            for request in requests:
                if native._native_request(native._endpoint(request.model), request):
                    natively += 1
                    await compare(server, native, litellm, request)
        finally:
            await native.aclose()
            await litellm.aclose()
        return natively

    assert asyncio.run(main()) > 5


SHORT = (Message("system", "Be short."), Message("user", "Hi"))


async def outcome(client: HostedClient, request: Request) -> Completion | Exception:
    try:
        return await client.complete(request)
    except CallFailed as failed:
        return failed
