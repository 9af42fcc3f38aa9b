"""Anthropic's messages that come token by token.

https://docs.anthropic.com/en/docs/build-with-claude/streaming
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gatekeeper.providers.http.answer_stream import JoinedText, read_object
from gatekeeper.providers.http.answers import UnreadableAnswer
from gatekeeper.providers.http.server_sent_events import Event


class MessageStream:
    """Joins the events of one answer; see `AnswerStream`. Events of other types are ignored, as the
    API asks of its clients."""

    def __init__(self) -> None:
        self.has_token = False
        self.is_complete = False
        self._message: dict[str, Any] | None = None
        self._error: Any = None
        self._text = JoinedText()
        self._calls: dict[object, _Call] = {}

    def add(self, event: Event) -> None:
        found = read_object(event)
        match found.get("type"):
            case "error":
                self._error, self.is_complete = found.get("error") or "unknown", True
            case "message_start":
                self._message = dict(_part(found, "message"))
            case "content_block_start":
                block = _part(found, "content_block")
                if block.get("type") == "tool_use":
                    self._calls[found.get("index")] = _Call(block)
                    self.has_token = True
                self.has_token |= self._add_text(block, "text")
            case "content_block_delta":
                delta = _part(found, "delta")
                self.has_token |= self._add_text(delta, "text_delta")
                call = self._calls.get(found.get("index"))
                if call and delta.get("type") == "input_json_delta":
                    call.arguments.add(delta.get("partial_json"))
            case "message_delta":
                self._end_with(found)
            case "message_stop":
                self._require_reason()
                self.is_complete = True

    def document(self) -> Mapping[str, Any]:
        if self._error is not None:
            return {"type": "error", "error": self._error}
        text = str(self._text)
        content = [{"type": "text", "text": text}] if text else []
        calls = [call.document() for call in self._calls.values()]
        return {**(self._message or {}), "content": [*content, *calls]}

    def _add_text(self, part: Mapping[str, Any], kind: str) -> bool:
        return part.get("type") == kind and self._text.add(part.get("text"))

    def _require_reason(self) -> None:
        """Refuse a message without a reason why it ended: it may be cut, and only the event with
        the reason has the message's tokens."""
        if not (self._message or {}).get("stop_reason"):
            raise UnreadableAnswer("the stream ended without a `stop_reason`")

    def _end_with(self, found: Mapping[str, Any]) -> None:
        """Note why the message ended. Its token counts are those of the whole message so far."""
        if self._message is None:
            raise UnreadableAnswer("the first event of the stream is missing")
        self._message |= _part(found, "delta")
        first, last = self._message.get("usage"), found.get("usage")
        if isinstance(last, Mapping):
            known = {name: value for name, value in last.items() if value is not None}
            self._message["usage"] = {**(first if isinstance(first, Mapping) else {}), **known}


class _Call:
    """A tool call whose arguments come in pieces of JSON."""

    def __init__(self, block: Mapping[str, Any]) -> None:
        self._block = block
        self.arguments = JoinedText()

    def document(self) -> dict[str, Any]:
        """Return the block of an unstreamed answer; its input is text if it is not JSON, because it
        was cut off."""
        text = str(self.arguments)
        if not text:
            return dict(self._block)
        try:
            return {**self._block, "input": json.loads(text)}
        except (ValueError, RecursionError):
            return {**self._block, "input": text}


def _part(found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = found.get(name)
    if not isinstance(part, Mapping):
        raise UnreadableAnswer(f"an event of the stream has no `{name}`")
    return part
