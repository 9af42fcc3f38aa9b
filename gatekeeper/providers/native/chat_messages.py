"""Messages as Chat Completions take them, and litellm too: with tool calls and their answers.

Models that think want their thoughts back with the answers of tools. Anthropic, Gemini, DeepSeek
and Moonshot refuse the request without them; OpenAI's models answer worse. So an answer that calls
tools keeps them as JSON, `Completion.opaque`, in which nobody reads, under the names that litellm
gives them. https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking
https://ai.google.dev/gemini-api/docs/thought-signatures
https://api-docs.deepseek.com/guides/thinking_mode
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from gatekeeper.contract.values.definition import Message, ToolCall

THINKING, REASONING = "thinking_blocks", "reasoning_items"
"""The thoughts of Anthropic's Messages API, and those of OpenAI's Responses API."""

_OF_A_MESSAGE = ("reasoning", "reasoning_content", "reasoning_details", THINKING, REASONING)
OF_A_CALL = ("extra_content", "provider_specific_fields")
"""Where the signatures of single calls are."""
_STRICT = frozenset({"cerebras", "groq"})
"""Providers that refuse a message with thoughts."""


def opaque_of(message: Mapping[str, Any]) -> str | None:
    """Return what the provider wants back with the message; None if it calls no tools."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return None
    found = {
        "message": _present(message, _OF_A_MESSAGE),
        "calls": [_present(call, OF_A_CALL) for call in calls],
    }
    return json.dumps(found) if found["message"] or any(found["calls"]) else None


def thoughts_of(message: Message, name: str) -> Any:
    """Return the thoughts of that name, which are sent back before the calls of the message; an
    empty list for none."""
    return _opaque(message)[0].get(name) or []


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """Return the arguments as an object. What the model wrote and is none goes back in the form
    that Anthropic proposes, because servers that parse it would refuse the request."""
    try:
        found = json.loads(call.arguments or "{}")
        json.dumps(found, allow_nan=False)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"INVALID_JSON": call.arguments}


def chat_messages(messages: Iterable[Message], provider: str) -> list[dict[str, Any]]:
    """Return the messages of a request to the provider."""
    return [_chat_message(message, provider) for message in messages]


def _chat_message(message: Message, provider: str) -> dict[str, Any]:
    if message.answers is not None:
        return {"role": "tool", "tool_call_id": message.answers, "content": message.content}
    if not message.calls:
        return {"role": message.role, "content": message.content}
    of_message, of_calls = ({}, []) if provider in _STRICT else _opaque(message)
    kept = dict(enumerate(of_calls))
    calls = [
        {**kept.get(at, {}), "id": call.id, "type": "function", "function": function_of(call)}
        for at, call in enumerate(message.calls)
    ]
    said = {"role": message.role, "content": message.content or None, "tool_calls": calls}
    return {**of_message, **said}


def function_of(call: ToolCall) -> dict[str, Any]:
    """Return the name of a call, and its arguments as JSON text."""
    found = arguments_of(call)
    sound = call.arguments and "INVALID_JSON" not in found
    return {"name": call.name, "arguments": call.arguments if sound else json.dumps(found)}


def _present(found: object, names: Iterable[str]) -> dict[str, Any]:
    fields = found if isinstance(found, Mapping) else {}
    return {name: fields[name] for name in names if fields.get(name)}


def _opaque(message: Message) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the fields of the message, and those of each call."""
    if message.opaque is None:
        return {}, []
    found = json.loads(message.opaque)
    return found["message"], found["calls"]
