"""A server that sends more on a connection than was asked for: nothing of it becomes an answer."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import httpx
import pytest
from support.local_server import JsonHandler, LocalServer

from gatekeeper.providers.http.http_client import Exchange, HttpClient, HttpRequest
from gatekeeper.providers.litellm import HttpxTransport, current_exchange
from gatekeeper.providers.models.endpoint import endpoint_of
from gatekeeper.providers.native.openai_compatible import ChatStream

KEY = "sk-own-0123456789abcdef"

Ask = Callable[[str], Awaitable[str]]


def whole(text: str) -> bytes:
    """A response of known length."""
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text.encode())


def chunked(text: str, kind: str = "application/json") -> bytes:
    """The same response in chunks."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"
    return f"{head}{len(text):x}\r\n{text}\r\n0\r\n\r\n".encode()


def events(text: str) -> bytes:
    """The same answer as a stream of events."""
    chunk = f'{{"choices": [{{"delta": {{"content": "{text}"}}, "finish_reason": "stop"}}]}}'
    return chunked(f"data: {chunk}\n\ndata: [DONE]\n\n", "text/event-stream")


class TalkativeServer(LocalServer):
    """Answers each request with its own body, and the first one with `more` behind it: in the same
    segment if it is `at_once`, else when `say_more` is called. `next_too` comes before the second
    answer on the same connection."""

    def __init__(
        self,
        answer: Callable[[str], bytes],
        more: bytes = b"",
        *,
        at_once: bool = False,
        next_too: bytes = b"",
    ) -> None:
        self.peers: list[int] = []
        self._may_say, self._said = threading.Event(), threading.Event()
        server = self

        class Handler(JsonHandler):
            def do_POST(self) -> None:  # noqa: N802
                asked = self.read_body().decode()
                server.peers.append(self.client_address[1])
                is_first = len(server.peers) == 1
                if len(server.peers) == 2 and server.peers[0] == server.peers[1]:
                    self.wfile.write(next_too)
                self.wfile.write(answer(asked) + (more if is_first and at_once else b""))
                if is_first and not at_once:
                    server._may_say.wait(10)
                    self.wfile.write(more)
                    server._said.set()

        super().__init__(self.http(Handler))

    def say_more(self) -> None:
        """Send the rest, and wait until it is sent."""
        self._may_say.set()
        assert self._said.wait(60)


def asked(server: TalkativeServer, way: str, talk: Callable[[Ask], Awaitable[Any]]) -> Any:
    """What a conversation with the server returns: over our client, its streams, or httpx."""
    environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
    endpoint = endpoint_of("openai/gpt-4o-mini", environ)
    url = f"{server.url}/v1/chat/completions"

    async def main() -> Any:
        client = HttpClient()
        sender = httpx.AsyncClient(transport=HttpxTransport(client))

        async def ask(text: str) -> str:
            stream = ChatStream() if way == "stream" else None
            exchange = Exchange(endpoint, stream=stream)
            if way == "httpx":
                token = current_exchange.set(exchange)
                response = await sender.post(url, content=text)
                current_exchange.reset(token)
                return response.text
            await client.post(HttpRequest(url, {}, text.encode()), exchange)
            return exchange.body.decode()

        try:
            return await asyncio.wait_for(talk(ask), 60)
        finally:
            await sender.aclose()
            await client.aclose()

    return asyncio.run(main())


def said(answers: list[str]) -> list[str]:
    """The one word of each answer, which is a body of its own or a joined stream."""
    return [" ".join(re.findall("first|second|third|old", answer)) for answer in answers]


UNASKED = {
    "an answer": whole("old"),
    "an answer in chunks": chunked("old"),
    "several answers": whole("old") * 3,
    "the beginning of an answer": whole("old")[:-2],
    "an answer with an unfinished one": whole("old") + b"HTTP/1.1 2",
    "an event of a stream": events("old"),
    "rubbish": b"old",
}
WAYS = {"native": whole, "stream": events, "httpx": whole}


@pytest.mark.parametrize("seen", [True, False], ids=["read by the loop", "still in the socket"])
@pytest.mark.parametrize("more", UNASKED.values(), ids=UNASKED)
@pytest.mark.parametrize("way", WAYS)
def test_what_comes_late_is_no_answer(way: str, more: bytes, seen: bool) -> None:
    async def talk(ask: Ask) -> list[str]:
        first = await ask("first")
        server.say_more()  # the event loop stands still meanwhile
        for _ in range(5 * seen):
            await asyncio.sleep(0)
        return [first, await ask("second"), await ask("third")]

    with TalkativeServer(WAYS[way], more) as server:
        answers = asked(server, way, talk)
    assert said(answers) == ["first", "second", "third"]
    assert server.peers[1] != server.peers[0]
    assert server.peers[2] == server.peers[1]


@pytest.mark.parametrize("more", [more for more in UNASKED.values() if more != b"old"])
@pytest.mark.parametrize("way", WAYS)
def test_what_stands_behind_an_answer_is_no_answer(way: str, more: bytes) -> None:
    async def talk(ask: Ask) -> list[str]:
        return [await ask("first"), await ask("second")]

    with TalkativeServer(WAYS[way], more, at_once=True) as server:
        answers = asked(server, way, talk)
    assert said(answers) == ["first", "second"]


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_with_rubbish_behind_it_is_a_failed_call(way: str) -> None:
    async def talk(ask: Ask) -> str:
        with pytest.raises((aiohttp.ClientError, httpx.NetworkError)):
            await ask("first")
        return await ask("second")

    with TalkativeServer(WAYS[way], b"old", at_once=True) as server:
        assert said([asked(server, way, talk)]) == ["second"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("end", [2, 12, 30])
def test_the_rest_of_a_late_head_is_no_answer(way: str, end: int) -> None:
    late = whole("old")

    async def talk(ask: Ask) -> list[str]:
        await ask("first")
        server.say_more()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        answers: list[str] = []
        while not answers:
            with contextlib.suppress(aiohttp.ClientError, httpx.NetworkError):
                answers.append(await ask("second"))
        return answers

    with TalkativeServer(WAYS[way], late[:end], next_too=late[end:]) as server:
        assert said(asked(server, way, talk)) == ["second"]


@pytest.mark.parametrize("way", WAYS)
def test_a_connection_on_which_nothing_else_came_is_kept(way: str) -> None:
    async def talk(ask: Ask) -> list[str]:
        return [await ask(str(number)) for number in range(4)]

    with TalkativeServer(WAYS[way], at_once=True) as server:
        asked(server, way, talk)
    assert len(set(server.peers)) == 1


def test_a_late_answer_goes_to_nobody_of_many() -> None:
    async def talk(ask: Ask) -> list[str]:
        await ask("first")
        server.say_more()
        return list(await asyncio.gather(*(ask(f"number {number}") for number in range(12))))

    with TalkativeServer(whole, whole("old")) as server:
        answers = asked(server, "native", talk)
    assert answers == [f"number {number}" for number in range(12)]
