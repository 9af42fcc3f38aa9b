"""The first token is timed, and a stream becomes the answer that would have come unstreamed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from support.native_clients import chat, messages
from support.streamed_answers import DONE, chat_events, chunk, message_events

from gatekeeper.providers.http import answer_stream
from gatekeeper.providers.http.answer_stream import AnswerStream, JoinedAnswer, read_events
from gatekeeper.providers.http.response_body import UnreadableAnswer, UnreadableBody
from gatekeeper.providers.native.anthropic import MessageStream
from gatekeeper.providers.native.openai_compatible import ChatStream


def read(stream: AnswerStream, *parts: bytes) -> JoinedAnswer:
    """Read the parts, of which the first arrives after 1 ms, the second after 2 ms and so on."""
    arrived = 0

    async def arriving() -> AsyncIterator[bytes]:
        nonlocal arrived
        for part in parts:
            arrived += 1
            yield part

    return asyncio.run(read_events(arriving(), "", stream, lambda: float(arrived)))


def delta(**parts: Any) -> bytes:
    return chunk({"choices": [{"index": 0, "delta": parts}]})


def ended(**choice: Any) -> bytes:
    return chunk({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", **choice}]})


MESSAGE = message_events(messages())
ROLE, ENDED = delta(role="assistant", content=""), ended()


@pytest.mark.parametrize(
    ("events", "first"),
    [
        ([delta(content="Hi"), delta(content="!")], 2),
        ([delta(content=None), delta(content=""), delta(content="\n")], 4),
        ([delta(reasoning_content="well"), delta(content="Hi")], 3),
        ([delta(tool_calls=[{"index": 0, "function": {"name": "f"}}])], 2),
        ([delta(tool_calls=[]), delta(refusal="I cannot")], 3),
        ([delta(content=""), delta(content="<think>a"), delta(content="</think>Hi")], 3),
        ([delta(content="<think>", reasoning_content=None)], 2),
        ([chunk({"choices": [{"index": 1, "delta": {"content": "other"}}]})], None),
    ],
)
def test_the_first_token_is_what_a_user_sees(events: list[bytes], first: int | None) -> None:
    assert read(ChatStream(), ROLE, *events, ENDED, DONE).ttft_ms == first


def test_anthropics_first_token() -> None:
    begun, *_, reason, stopped = MESSAGE

    def started(**block: Any) -> bytes:
        return chunk({"type": "content_block_start", "index": 0, "content_block": block})

    def more(**delta: Any) -> bytes:
        return chunk({"type": "content_block_delta", "index": 0, "delta": delta})

    thoughts = started(type="thinking", thinking="a"), more(type="thinking_delta", thinking="b")
    text = started(type="text", text=""), more(type="text_delta", text="Hi")
    assert read(MessageStream(), begun, *thoughts, *text, reason, stopped).ttft_ms == 5
    tool = started(type="tool_use", id="1", name="f", input={})
    assert read(MessageStream(), begun, *thoughts, tool, reason, stopped).ttft_ms == 4
    assert read(MessageStream(), begun, *thoughts, reason, stopped).ttft_ms is None


def test_a_token_counts_from_the_part_that_ends_its_event() -> None:
    cut = delta(content="Hi")
    assert read(ChatStream(), cut[:10], cut[10:], ENDED, DONE).ttft_ms == 2


def test_usage_is_the_last_that_was_said() -> None:
    said = [
        chunk({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": n}})
        for n in (1, 9)
    ]
    body = json.loads(read(ChatStream(), delta(content="Hi"), *said, ENDED, DONE).body)
    assert body["usage"]["completion_tokens"] == 9


BROKEN: dict[str, tuple[type[AnswerStream], list[bytes]]] = {
    "nothing": (ChatStream, []),
    "no end": (ChatStream, chat_events(chat())[:-1]),
    "no reason": (ChatStream, [delta(content="Hi"), DONE]),
    "no reason of ours": (ChatStream, [delta(content="Hi"), ended(index=1), DONE]),
    "no JSON": (ChatStream, [b"data: {\n\n"]),
    "no object": (ChatStream, [b"data: []\n\n"]),
    "no UTF-8": (ChatStream, [b"data: \xff\n\n"]),
    "deep": (ChatStream, [b"data: " + b"[" * 100_000 + b"\n\n"]),
    "no message_stop": (MessageStream, MESSAGE[:-1]),
    "no stop_reason": (MessageStream, [e for e in MESSAGE if b"message_delta" not in e]),
    "no beginning": (MessageStream, MESSAGE[-2:]),
    "no message": (MessageStream, [chunk({"type": "message_start"})]),
    "no delta": (MessageStream, [chunk({"type": "content_block_delta", "index": 0})]),
}


@pytest.mark.parametrize(("kind", "events"), BROKEN.values(), ids=BROKEN)
def test_a_broken_stream_is_no_answer(kind: type[AnswerStream], events: list[bytes]) -> None:
    with pytest.raises(UnreadableAnswer):
        read(kind(), *events)


def test_an_endless_answer_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_stream, "MAX_BYTES", 1_000)

    def endless() -> Iterator[bytes]:
        while True:
            yield delta(content="x" * 100)

    class Endless(ChatStream):
        added = 0

        def add(self, event: Any) -> None:
            self.added += 1
            super().add(event)

    stream = Endless()
    first = endless()
    with pytest.raises(UnreadableBody):
        read(stream, *(next(first) for _ in range(50)))
    assert stream.added == 11


def test_what_is_sent_has_a_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_stream, "MAX_STREAM_BYTES", 1_000)
    with pytest.raises(UnreadableBody):
        read(ChatStream(), *[b": keep waiting\n\n"] * 100)
