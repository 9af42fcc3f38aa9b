"""Server-sent events, read as they come in.

https://html.spec.whatwg.org/multipage/server-sent-events.html, sections 9.2.5 and 9.2.6. The fields
`id` and `retry` are for reconnecting, and nothing here reconnects. Text that is not UTF-8 is an
error and not replaced, because it would become part of an answer.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

from gatekeeper.providers.http.answers import UnreadableAnswer
from gatekeeper.providers.http.response_body import UnreadableBody

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
