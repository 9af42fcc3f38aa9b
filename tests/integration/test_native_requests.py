"""The native clients and litellm send the same requests to a real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from support.answering_server import Answer, AnsweringServer
from support.native_clients import (
    KEY,
    SHORT,
    asked,
    asked_to_answer,
    chat,
    loop,
    messages,
    ollama_chat,
    outcome,
    point_at,
    said,
)

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request, SharedPrefix
from gatekeeper.providers.hosted import NATIVE_APIS, HostedClient
from gatekeeper.providers.models.catalogue import CATALOGUE

# Some of litellm's modules warn when they are imported, which would be taken for a failed call.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnsweringServer]:
    with AnsweringServer(Answer()) as server:
        point_at(server.url, monkeypatch)
        yield server


TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Returns the weather.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
BARE_TOOL = {"type": "function", "function": {"name": "now"}}
STRICT_TOOL = {"type": "function", "function": {**TOOL["function"], "strict": True}}  # type: ignore[dict-item]
NAMED = {"type": "function", "function": {"name": "get_weather"}}
TOOLS: list[dict[str, Any]] = [
    {"tools": [TOOL]},
    {"tools": [TOOL, BARE_TOOL]},
    {"tools": [STRICT_TOOL]},
    *({"tools": [TOOL], "tool_choice": choice} for choice in ("auto", "none", "required", NAMED)),
    *({"tools": [TOOL], "parallel_tool_calls": several} for several in (True, False)),
    {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False},
]
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
AT_REST: list[dict[str, Any]] = [
    {"reasoning_effort": "none", "temperature": 0, "top_p": 0.5, "tools": [TOOL]},
    {"reasoning_effort": "none", "logprobs": True, "top_logprobs": 2, "max_tokens": 9},
    {"reasoning_effort": "none", "stop": "x"},
    {"reasoning_effort": "low", "temperature": 0},
    *({"reasoning_effort": effort, "verbosity": "low"} for effort in ("xhigh", "max", 7)),
]
"""Requests to models that may be asked not to reason."""
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
    (Message("user", "<think>a</think> b"), Message("assistant", "<think>c</think>d")),
)
THOUGHTS: dict[str, Any] = {
    "": None,
    "reasoning_content": "Hm",
    "thinking_blocks": [{"type": "thinking", "thinking": "Hm", "signature": "c2ln"}],
}
MODELS = {
    "openai": (
        "some-model",
        "gpt-4",
        "gpt-5-mini",
        "gpt-5.1",
        "gpt-6-sol",
        "o3-mini",
        "gpt-4o-search-preview",
    ),
    "azure": ("some-model", "gpt-4o", "gpt-5", "gpt-5.1", "gpt-5.2"),
    "anthropic": ("claude-haiku-4-5", "claude-opus-4-7", "claude-of-tomorrow"),
    "openrouter": ("some/model", "anthropic/claude-sonnet-4.5", "openai/gpt-5"),
    "mistral": ("mistral-small-latest", "magistral-medium-latest"),
    "groq": ("llama-3.3-70b-versatile", "openai/gpt-oss-20b"),
    "fireworks_ai": ("accounts/fireworks/models/llama-v3p1-8b-instruct",),
    "together_ai": ("meta-llama/Llama-3.3-70B-Instruct-Turbo",),
    "deepseek": ("deepseek-chat", "deepseek-v4-pro"),
    "cerebras": ("llama3.1-8b",),
    "ollama_chat": ("llama3.2:1b", "gpt-oss:20b", "hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF"),
    "moonshot": ("kimi-k2-0711-preview", "moonshot-v1-8k"),
}


@pytest.fixture
def asked_at(server: AnsweringServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Has a provider's models asked at the server."""

    def point(provider: str) -> None:
        entry = CATALOGUE[provider]
        monkeypatch.setenv(entry.keys[0], KEY)
        bare = provider in ("azure", "anthropic", "ollama_chat")
        base = server.url if bare else f"{server.url}/v1"
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
    if request.model.startswith("ollama_chat/"):
        body = ollama_chat(model=name)
    server.answer = Answer(200, body)
    server.requests.clear()
    outcomes = [await outcome(client, request) for client in (native, litellm)]
    requests = asked_to_answer(server)
    assert len(requests) == 2, (request, outcomes)
    first, second = requests
    for message in first.body["messages"]:
        message.pop("tool_name", None)  # of Ollama, which litellm does not send
    assert first.headers["user-agent"] == "gatekeeper"
    assert second.headers["user-agent"] != "gatekeeper"
    assert first.body == second.body, request
    assert first.path == second.path
    for header in ("authorization", "api-key", "x-api-key", "content-type"):
        # litellm does not tell Ollama that the request is JSON.
        if header != "content-type" or not request.model.startswith("ollama_chat/"):
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


@pytest.mark.parametrize("shared", [1, 3])
def test_the_mark_for_the_cache_is_the_same(
    server: AnsweringServer, asked_at: Callable[[str], None], shared: int
) -> None:
    asked_at("anthropic")
    said_before = (
        Message("system", "word " * 4_000),
        Message("user", "An example"),
        Message("assistant", "Its answer"),
        Message("user", "Hi"),
    )
    prefix = SharedPrefix(shared, 20_000)
    request = Request(
        "anthropic/claude-haiku-4-5", said_before, {"max_tokens": 7}, None, 0, shared_prefix=prefix
    )

    async def main() -> None:
        native, litellm = HostedClient(), HostedClient(["anthropic"])
        try:
            await compare(server, native, litellm, request)
        finally:
            await native.aclose()
            await litellm.aclose()

    asyncio.run(main())
    assert "cache_control" in json.dumps(server.requests[0].body)


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
            *((params, SHORT) for params in (*TOOLS, *AT_REST)),
            *(({}, conversation) for conversation in CONVERSATIONS),
            *(({"tools": [TOOL]}, loop(name, thoughts)) for name, thoughts in THOUGHTS.items()),
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
