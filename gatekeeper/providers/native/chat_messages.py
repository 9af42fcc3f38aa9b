"""Messages as Chat Completions and litellm take them: with files, tool calls and their answers.

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

from gatekeeper.contract.values.definition import Attachment, Message, ToolCall
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import CallFailed

THINKING, REASONING = "thinking_blocks", "reasoning_items"
"""The thoughts of Anthropic's Messages API, and those of OpenAI's Responses API."""

_OF_A_MESSAGE = ("reasoning", "reasoning_content", "reasoning_details", THINKING, REASONING)
OF_A_CALL = ("extra_content", "provider_specific_fields")
"""Where the signatures of single calls are."""
_STRICT = frozenset({"cerebras", "groq"})
"""Providers that refuse a message with thoughts."""
_WITHOUT_BLOCKS = frozenset({"hosted_vllm", "together_ai"})
"""Providers that take the thoughts as text alone."""


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
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
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
        return {"role": message.role, "content": _content(message)}
    of_message, of_calls = ({}, []) if provider in _STRICT else _opaque(message)
    if provider in _WITHOUT_BLOCKS:
        of_message = {name: kept for name, kept in of_message.items() if name != THINKING}
    kept = dict(enumerate(of_calls))
    calls = [
        {**kept.get(at, {}), "id": call.id, "type": "function", "function": function_of(call)}
        for at, call in enumerate(message.calls)
    ]
    said = {"role": message.role, "content": message.content or None, "tool_calls": calls}
    return {**of_message, **said}


def _content(message: Message) -> str | list[dict[str, Any]]:
    if not message.files:
        return message.content
    return [*map(_part, message.files), *text_part(message, "text")]


def _part(file: Attachment) -> dict[str, Any]:
    kind, _, form = file.media_type.partition("/")
    if kind == "image":
        return {"type": "image_url", "image_url": {"url": file.data_url}}
    if kind == "audio":
        form = {"mpeg": "mp3"}.get(form, form)
        return {"type": "input_audio", "input_audio": {"data": file.base64, "format": form}}
    return {"type": "file", "file": {"filename": name_of(file), "file_data": file.data_url}}


def text_part(message: Message, kind: str) -> list[dict[str, Any]]:
    """Return the text of a message with files as a part, which comes after them, because Anthropic
    says that models read it best there. No text is no part."""
    return [{"type": kind, "text": message.content}] if message.content else []


def name_of(file: Attachment) -> str:
    """Return the name that a provider is told: it shows whether the input has changed, but not
    where the file lies, which may tell the model what to answer."""
    return f"file-{file.sha256[:12]}.{file.media_type.rpartition('/')[2]}"


def require_taken(request: Request, *kinds: str) -> None:
    """Raise CallFailed for a request with a file of another kind than those."""
    for file in request.files:
        if not file.media_type.startswith(kinds):
            raise CallFailed(
                f"{request.model}: gatekeeper cannot send `{file.path}` ({file.media_type}) to "
                "this model; remove the file, or use another model",
                fatal=True,
                author=True,
            )


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
