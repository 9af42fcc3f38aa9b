"""Answers that come token by token: times the first one, and joins them into the answer that would
have come unstreamed, so that everything else reads both alike."""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncIterable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from gatekeeper.providers.http.response_body import (
    MAX_BYTES,
    MAX_STREAM_BYTES,
    UnreadableAnswer,
    UnreadableBody,
    require_usual,
    unpack,
)

# Server-sent events, read as they come in.
#
# https://html.spec.whatwg.org/multipage/server-sent-events.html, sections 9.2.5 and 9.2.6. The
# fields `id` and `retry` are for reconnecting, and nothing here reconnects. Text that is not UTF-8
# is an error and not replaced, because it would become part of an answer.


MAX_EVENT = 2_000_000
"""The most characters of one event. Most servers send an answer in small parts, some in a single
event."""

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its type, which is `message` if the server names none, and its data."""

    type: str
    data: str


class EventReader:
    """Reads events from the bytes of a stream, however they are cut."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_first = True
        self._after_return = False
        self._line: list[str] = []
        self._type = ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, part: bytes) -> Iterator[Event]:
        """Yield the events that end in this part. What never ends is no event.

        Raises UnreadableAnswer for bytes that are not UTF-8, and UnreadableBody for an event of
        more than `MAX_EVENT` characters.
        """
        try:
            text = self._decoder.decode(part)
        except UnicodeDecodeError:
            raise UnreadableAnswer("the stream is not UTF-8") from None
        if self._is_first and text:
            self._is_first = False
            text = text.removeprefix(_BOM)
        if self._after_return and text:
            self._after_return = False
            text = text.removeprefix("\n")
        self._after_return = self._after_return or text.endswith("\r")
        *whole, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for end in whole:
            self._keep(end)
            line = "".join(self._line)
            self._line = []
            if line:
                self._read_line(line)
            elif event := self._take_event():
                yield event
        self._keep(rest)

    def _keep(self, text: str) -> None:
        self._size += len(text)
        if self._size > MAX_EVENT:
            raise UnreadableBody(f"an event has more than {MAX_EVENT:,} characters")
        if text:
            self._line.append(text)

    def _read_line(self, line: str) -> None:
        name, _, value = line.partition(":")  # a comment has no name
        value = value.removeprefix(" ")
        if name == "event":
            self._type = value
        elif name == "data":
            self._data.append(value)

    def _take_event(self) -> Event | None:
        event = Event(self._type or "message", "\n".join(self._data)) if self._data else None
        self._type, self._data, self._size = "", [], 0
        return event


class AnswerStream(Protocol):
    """Joins the events of one answer, in the form of one API.

    `has_token` says that a user would see something by now: the beginning of a text or of a tool
    call, and not the role, an empty text or the model's thoughts. `is_complete` says that the API
    has announced the end of the answer.
    """

    has_token: bool
    is_complete: bool

    def add(self, event: Event) -> None:
        """Add the next event. Raises UnreadableAnswer and UnreadableBody."""
        ...

    def document(self) -> Mapping[str, Any]:
        """Return the answer in the form of an unstreamed one, as far as the gate reads it."""
        ...


class JoinedAnswer(NamedTuple):
    """An answer in the form of an unstreamed one, as JSON, and the time until its first token in
    milliseconds; None if it has none."""

    body: bytes
    ttft_ms: float | None


async def read_events(
    parts: AsyncIterable[bytes],
    content_encoding: str,
    stream: AnswerStream,
    time_so_far: Callable[[], float],
) -> JoinedAnswer:
    """Read a streamed answer to its end.

    Args:
        parts: The bytes as they come in.
        content_encoding: The header of that name; empty for none.
        stream: Joins the events.
        time_so_far: The request's own time in milliseconds until the last part that came in.

    Raises:
        UnreadableBody: The answer is too large or cannot be unpacked.
        UnreadableAnswer: The events are no answer, or end before the answer does.
    """
    reader, ttft_ms = EventReader(), None
    async for part in unpack(parts, content_encoding, MAX_STREAM_BYTES):
        elapsed_ms = None if stream.has_token else time_so_far()
        for event in reader.feed(part):
            if not stream.is_complete:
                stream.add(event)
        if stream.has_token and ttft_ms is None:
            ttft_ms = elapsed_ms
    if not stream.is_complete:
        raise UnreadableAnswer("the stream ended before the answer was complete")
    body = json.dumps(stream.document()).encode()
    require_usual(body)
    return JoinedAnswer(body, ttft_ms)


def read_object(event: Event) -> Mapping[str, Any]:
    """Return the JSON object that the event holds. Raises UnreadableAnswer for anything else."""
    try:
        found = json.loads(event.data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, Mapping):
        raise UnreadableAnswer("an event of the stream is not a JSON object")
    return found


class JoinedText:
    """A text that arrives in pieces."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0

    def add(self, piece: object) -> bool:
        """Add a piece; return whether it is one that is not empty. Raises UnreadableBody if the
        text gets too long."""
        if not isinstance(piece, str) or not piece:
            return False
        self._length += len(piece)
        if self._length > MAX_BYTES:
            raise UnreadableBody(f"the answer is larger than {MAX_BYTES:,} bytes")
        self._pieces.append(piece)
        return True

    def __str__(self) -> str:
        return "".join(self._pieces)
