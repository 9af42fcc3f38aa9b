"""Reads the tool calls of an answer.

https://platform.openai.com/docs/api-reference/chat/object
https://docs.anthropic.com/en/docs/agents-and-tools/tool-use
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gatekeeper.contract.values.trial import ToolCall


def read_chat_calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """Return the calls of a message of Chat Completions, also of one in OpenAI's older form. A call
    without a name gets an empty one, so that no call is overlooked."""
    found = [_chat_call(call) for call in _mappings(message.get("tool_calls"))]
    older = message.get("function_call")
    return (*found, _call(older, None)) if isinstance(older, Mapping) else tuple(found)


def read_message_calls(document: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    """Return the calls of an answer of Anthropic's Messages API."""
    blocks = _mappings(document.get("content"))
    return tuple(
        ToolCall(_text(block.get("name")), _arguments(block.get("input")), _id(block))
        for block in blocks
        if block.get("type") == "tool_use"
    )


def _chat_call(call: Mapping[str, Any]) -> ToolCall:
    custom, function = call.get("custom"), call.get("function")
    if isinstance(custom, Mapping):
        return ToolCall(_text(custom.get("name")), _text(custom.get("input")), _id(call))
    return _call(function if isinstance(function, Mapping) else {}, _id(call))


def _call(function: Mapping[str, Any], call_id: str | None) -> ToolCall:
    return ToolCall(_text(function.get("name")), _arguments(function.get("arguments")), call_id)


def _arguments(value: object) -> str:
    """Return the arguments as JSON text. Some servers answer with the object itself."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _id(call: Mapping[str, Any]) -> str | None:
    return _text(call.get("id")) or None


def _mappings(value: object) -> Sequence[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
