"""What the tests of the native clients share: answers in each API's form, and asking."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from support.answering_server import AnsweringServer, Received

from gatekeeper.contract.values.definition import Message, ToolCall
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.hosted import HostedClient

KEY = "sk-test-0123456789abcdef"
ANTHROPIC_KEY = "sk-ant-0123456789abcdef"
OLLAMA_KEY = "ollama-0123456789abcdef"
OPENAI = "openai/gpt-4o-mini"
PRO = "openai/gpt-5-pro"
"""A model of OpenAI that only the Responses API has."""
CLAUDE = "anthropic/claude-haiku-4-5"
LLAMA = "ollama_chat/llama3.2:1b"
SHORT = (Message("system", "Be short."), Message("user", "Hi"))


def loop(name: str, thoughts: Any, text: str = "Let me see.") -> tuple[Message, ...]:
    """A conversation in which the model called two tools, one of them without arguments."""
    opaque = json.dumps({"message": {name: thoughts}, "calls": []}) if name else None
    calls = (
        ToolCall("get_weather", '{"city": "Zürich"}', "call00001"),
        ToolCall("now", "", "call00002"),
    )
    return (
        *SHORT,
        Message("assistant", text, calls=calls, opaque=opaque),
        Message("tool", '{"degrees": 9}', answers="call00001"),
        Message("tool", "noon", answers="call00002"),
    )


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


def counted(**more: Any) -> dict[str, Any]:
    return {"input_tokens": 1000, "output_tokens": 100, **more}


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


def spoken(*texts: str, **more: Any) -> dict[str, Any]:
    """A message in the output of OpenAI's Responses API."""
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    about = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant"}
    return {**about, "content": parts, **more}


def response(*output: Any, **more: Any) -> dict[str, Any]:
    """An answer of OpenAI's Responses API. Without an output it says Hi."""
    thoughts = {"type": "reasoning", "id": "rs_1", "summary": []}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "gpt-5-pro",
        "output": list(output) if output else [thoughts, spoken("Hi")],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 1000,
            "input_tokens_details": {"cached_tokens": 600},
            "output_tokens": 100,
            "output_tokens_details": {"reasoning_tokens": 64},
            "total_tokens": 1100,
        },
        **more,
    }


def ollama_chat(content: Any = "Hi", reason: Any = "stop", **more: Any) -> dict[str, Any]:
    """An answer of Ollama's /api/chat."""
    return {
        "model": "llama3.2:1b",
        "created_at": "2026-11-23T14:33:14.2452153Z",
        "message": {"role": "assistant", "content": content, **more.pop("message", {})},
        "done_reason": reason,
        "done": True,
        "total_duration": 1168125,
        "prompt_eval_count": 1000,
        "eval_count": 100,
        **more,
    }


def point_at(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the models of OpenAI, Anthropic and Ollama asked at the server."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_BASE", address)
    monkeypatch.setenv("ANTHROPIC_API_KEY", ANTHROPIC_KEY)
    monkeypatch.setenv("OLLAMA_API_BASE", address)
    monkeypatch.setenv("OLLAMA_API_KEY", OLLAMA_KEY)


def asked_to_answer(server: AnsweringServer) -> list[Received]:
    """The requests for answers: litellm also asks Ollama what it knows of a model."""
    return [each for each in server.requests if each.path != "/api/show"]


def asked(model: str = OPENAI, **params: Any) -> Request:
    return Request(model, SHORT, params, 7, 0)


def ask(request: Request, through_litellm: bool) -> Completion | Exception:
    async def main() -> Completion | Exception:
        client = HostedClient([request.model.partition("/")[0]] if through_litellm else [])
        try:
            return await outcome(client, request)
        finally:
            await client.aclose()

    return asyncio.run(main())


async def outcome(client: HostedClient, request: Request) -> Completion | Exception:
    try:
        return await client.complete(request)
    except CallFailed as failed:
        return failed


def as_json(arguments: str) -> object:
    """Arguments without their layout; as text if they are not JSON."""
    try:
        return repr(json.loads(arguments))
    except ValueError:
        return arguments


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
        outcome.cached_tokens or 0,
        outcome.cache_write_tokens or 0,
        outcome.reasoning_tokens,
        tuple((call.name, as_json(call.arguments), call.id) for call in outcome.tool_calls),
    )
