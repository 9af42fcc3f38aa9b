"""Chat Completions that come token by token.

https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gatekeeper.providers.http.answer_stream import JoinedText, read_object
from gatekeeper.providers.http.answers import UnreadableAnswer
from gatekeeper.providers.http.server_sent_events import Event

_THOUGHTS_ASIDE = ("reasoning_content", "reasoning")
_ONCE = ("model", "system_fingerprint")
_LAST = ("usage", "service_tier")


class ChatStream:
    """Joins the chunks of one answer; see `AnswerStream`."""

    def __init__(self) -> None:
        self.has_token = False
        self.is_complete = False
        self._whole: dict[str, Any] = {}
        self._choice: dict[str, Any] | None = None
        self._aside: set[str] = set()
        self._calls = JoinedCalls()
        self._text, self._refusal = JoinedText(), JoinedText()

    def add(self, event: Event) -> None:
        if event.data == "[DONE]":
            self._end()
            return
        chunk = read_object(event)
        if chunk.get("error"):
            self._whole, self.is_complete = {"error": chunk["error"]}, True
            return
        self._whole |= {name: chunk[name] for name in _LAST if chunk.get(name)}
        self._whole |= {n: chunk[n] for n in _ONCE if chunk.get(n) and n not in self._whole}
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, Mapping) and choice.get("index") in (0, None):
                self._add_choice(choice)

    def document(self) -> Mapping[str, Any]:
        if "error" in self._whole or self._choice is None:
            return {"choices": [], **self._whole}
        message = {
            **dict.fromkeys(sorted(self._aside)),
            "content": str(self._text) or None,
            "refusal": str(self._refusal) or None,
            "tool_calls": self._calls.document() or None,
        }
        return {**self._whole, "choices": [{**self._choice, "index": 0, "message": message}]}

    def _end(self) -> None:
        """Refuse an answer without a reason why it ended: servers send `[DONE]` after a failure of
        their own too, and what came before it is then cut."""
        if self._choice is not None and "finish_reason" not in self._choice:
            raise UnreadableAnswer("the stream ended without a `finish_reason`")
        self.is_complete = True

    def _add_choice(self, choice: Mapping[str, Any]) -> None:
        self._choice = self._choice or {}
        if choice.get("finish_reason"):
            self._choice["finish_reason"] = choice["finish_reason"]
        delta = choice.get("delta")
        if not isinstance(delta, Mapping):
            return
        self._aside.update(name for name in _THOUGHTS_ASIDE if name in delta)
        calls_tool = self._calls.add(delta)
        has_text = self._text.add(delta.get("content"))
        has_refusal = self._refusal.add(delta.get("refusal"))
        self.has_token |= has_text or has_refusal or calls_tool


class JoinedCalls:
    """Joins the tool calls that come in pieces. The first piece of a call has its name, and later
    ones of the same `index` continue its arguments. Servers that send each call in one piece may
    leave out the index."""

    def __init__(self) -> None:
        self._calls: dict[int, dict[str, Any]] = {}
        self._texts: dict[tuple[int, str], JoinedText] = {}

    def add(self, delta: Mapping[str, Any]) -> bool:
        """Add the calls of a piece; return whether it has any."""
        pieces = delta.get("tool_calls")
        older = delta.get("function_call")
        if isinstance(older, Mapping):
            pieces = [{"index": 0, "function": older}]
        if not isinstance(pieces, list):
            return False
        for piece in pieces:
            if isinstance(piece, Mapping):
                self._add_piece(piece)
        return bool(pieces)

    def document(self) -> list[dict[str, Any]]:
        """Return the calls in the form of an unstreamed answer."""
        for (place, kind), text in self._texts.items():
            name = "input" if kind == "custom" else "arguments"
            self._calls[place][kind][name] = str(text)
        return [self._calls[place] for place in sorted(self._calls)]

    def _add_piece(self, piece: Mapping[str, Any]) -> None:
        said = piece.get("index")
        place = said if isinstance(said, int) else len(self._calls)
        call = self._calls.setdefault(place, {"type": "function"})
        if piece.get("id"):
            call.setdefault("id", piece["id"])
        for kind in ("function", "custom"):
            part = piece.get(kind)
            if isinstance(part, Mapping):
                known = call.setdefault(kind, {})
                if part.get("name"):
                    known.setdefault("name", part["name"])
                more = part.get("input" if kind == "custom" else "arguments")
                self._texts.setdefault((place, kind), JoinedText()).add(_as_text(more))


def _as_text(value: object) -> object:
    """Return arguments as text. Some servers send the object itself."""
    return json.dumps(value) if isinstance(value, Mapping | list) else value
