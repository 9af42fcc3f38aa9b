"""Unstreamed answers of OpenAI and Anthropic as the streams in which the same answers come."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from support.answering_server import Answer

_PIECE = 3


def stream(*events: bytes, **headers: str) -> Answer:
    """An answer of these events."""
    return Answer(200, b"".join(events), {"Content-Type": "text/event-stream", **headers})


def chunk(document: Any, kind: str = "") -> bytes:
    """One event with a document."""
    name = f"event: {kind}\n" if kind else ""
    return f"{name}data: {json.dumps(document)}\n\n".encode()


DONE = b"data: [DONE]\n\n"


def chat_events(whole: Mapping[str, Any]) -> list[bytes]:
    """The chunks of a chat completion, the last one with its usage, as OpenAI sends them."""
    top = {k: v for k, v in whole.items() if k not in ("choices", "usage")}
    top["object"] = "chat.completion.chunk"
    choice = whole["choices"][0]
    deltas = [{"role": "assistant", "content": ""}, *_deltas(choice["message"])]
    events = [
        chunk({**top, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        for delta in deltas
    ]
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    events.append(chunk({**top, "choices": [last]}))
    return [*events, chunk({**top, "choices": [], "usage": whole.get("usage")}), DONE]


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for detail in message.get("reasoning_details") or ():
        yield {"reasoning_details": [detail]}
    for name in ("reasoning_content", "content", "refusal"):
        text = message.get(name) or ""
        for start in range(0, len(text), _PIECE):
            yield {name: text[start : start + _PIECE]}
    for place, call in enumerate(message.get("tool_calls") or ()):
        yield from _call(place, call)


def _call(place: int, call: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    function = call.get("function")
    if function is None:
        yield {"tool_calls": [{"index": place, **call}]}
        return
    yield {"tool_calls": [{"index": place, **call, "function": {**function, "arguments": ""}}]}
    text = function["arguments"]
    for start in range(0, len(text), _PIECE):
        piece = {"arguments": text[start : start + _PIECE]}
        yield {"tool_calls": [{"index": place, "function": piece}]}


def message_events(whole: Mapping[str, Any]) -> list[bytes]:
    """The events of a message, as Anthropic sends them."""
    usage = whole.get("usage")
    begun = {**whole, "content": [], "stop_reason": None, "usage": usage}
    if usage:
        begun["usage"] = {**usage, "output_tokens": 1}
    events = [
        chunk({"type": "message_start", "message": begun}, "message_start"),
        chunk({"type": "ping"}, "ping"),
    ]
    for place, block in enumerate(whole["content"]):
        events += _block(place, block)
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    last = {"output_tokens": usage["output_tokens"]} if usage else None
    delta = {"type": "message_delta", "delta": ended, "usage": last}
    return [*events, chunk(delta, "message_delta"), chunk({"type": "message_stop"}, "message_stop")]


def _block(place: int, block: Mapping[str, Any]) -> Iterator[bytes]:
    at = {"index": place}
    started = {**block, "text": ""} if block["type"] == "text" else block
    if block["type"] == "tool_use":
        started = {**block, "input": {}}
    if block["type"] == "thinking":
        started = {**block, "thinking": "", "signature": ""}
    yield chunk({"type": "content_block_start", **at, "content_block": started})
    for name in ("thinking", "signature"):
        thought = block.get(name, "")
        for start in range(0, len(thought), _PIECE):
            delta = {"type": f"{name}_delta", name: thought[start : start + _PIECE]}
            yield chunk({"type": "content_block_delta", **at, "delta": delta})
    text = block.get("text", "")
    for start in range(0, len(text), _PIECE):
        delta = {"type": "text_delta", "text": text[start : start + _PIECE]}
        yield chunk({"type": "content_block_delta", **at, "delta": delta})
    written = json.dumps(block["input"]) if block.get("input") else ""
    for start in range(0, len(written), _PIECE):
        delta = {"type": "input_json_delta", "partial_json": written[start : start + _PIECE]}
        yield chunk({"type": "content_block_delta", **at, "delta": delta})
    yield chunk({"type": "content_block_stop", **at})


def response_events(whole: Mapping[str, Any]) -> list[bytes]:
    """The events of an answer of OpenAI's Responses API, the last one with all of it."""
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events = [_said("created", response=begun), _said("in_progress", response=begun)]
    for place, item in enumerate(whole["output"]):
        at = {"output_index": place}
        events.append(_said("output_item.added", **at, item=_empty(item)))
        events += (_said(f"{kind}.delta", **at, delta=piece) for kind, piece in _pieces(item))
        events.append(_said("output_item.done", **at, item=item))
    return [*events, _said(whole["status"], response=whole)]


def _said(kind: str, **more: Any) -> bytes:
    return chunk({"type": f"response.{kind}", **more}, f"response.{kind}")


def _empty(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **item,
        **{name: type(item[name])() for name in ("content", "arguments") if name in item},
    }


def _pieces(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    texts = [(part["type"], part.get("text") or "") for part in item.get("content", ())]
    for kind, text in (*texts, ("function_call_arguments", item.get("arguments", ""))):
        for start in range(0, len(text), _PIECE):
            yield kind, text[start : start + _PIECE]
