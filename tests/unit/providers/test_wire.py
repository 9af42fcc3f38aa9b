from __future__ import annotations

import asyncio
import gzip
import itertools
import socket
import struct
from typing import Any

import httpx
import pytest

from gatekeeper.providers.wire import Exchange, Wire, current_exchange, own_time_ms


class FakeSocket:
    """A connection that last sent and received data so many milliseconds ago."""

    def __init__(self, sent_ago: int = 0, received_ago: int = 0, *, broken: bool = False) -> None:
        fields = [0] * 24
        fields[9], fields[11] = sent_ago, received_ago
        self._info = bytes(8) + struct.pack("@24I", *fields)
        self._broken = broken

    def getsockopt(self, level: int, option: int, length: int) -> bytes:
        assert (level, option) == (socket.IPPROTO_TCP, socket.TCP_INFO)
        if self._broken:
            raise OSError("not a TCP connection")
        return self._info[:length]


@pytest.mark.parametrize(
    ("elapsed", "connection", "own"),
    [
        (711.0, FakeSocket(700, 200), 500.0),  # the answer lay in the socket for 200 ms
        (503.2, FakeSocket(501, 1), 503.2),  # within a tick the clock is finer
        (3.5, FakeSocket(4, 0), 3.5),
        (711.0, FakeSocket(100, 300), 711.0),  # received before anything was sent: not ours
        (711.0, FakeSocket(broken=True), 711.0),
        (711.0, None, 711.0),
    ],
)
def test_own_time(elapsed: float, connection: Any, own: float) -> None:
    assert own_time_ms(elapsed, connection) == own


def test_without_the_kernels_help_the_clock_has_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "TCP_INFO")
    assert own_time_ms(711.0, FakeSocket(700, 200)) == 711.0  # type: ignore[arg-type]


def test_what_happened_is_noted_and_the_answer_passed_on() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.read() == b"question"
        headers = {"Content-Encoding": "gzip", "Retry-After": "9"}
        return httpx.Response(503, headers=headers, content=gzip.compress(b"answer"))

    async def main() -> tuple[httpx.Response, Exchange]:
        ticks = itertools.count(start=0, step=0.25)
        inner = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        wire = Wire(inner, clock=lambda: next(ticks))
        exchange = Exchange()
        token = current_exchange.set(exchange)
        async with httpx.AsyncClient(transport=wire) as client:
            response = await client.post("http://test/", content=b"question")
        current_exchange.reset(token)
        assert not inner.is_closed
        await wire.shut_down()
        assert inner.is_closed
        return response, exchange

    response, exchange = asyncio.run(main())
    assert (response.status_code, response.content) == (503, b"answer")
    assert exchange == Exchange(sent=True, latency_ms=250.0, status=503, retry_after="9")


def test_nobody_needs_to_watch() -> None:
    async def main() -> int:
        transport = httpx.MockTransport(lambda _: httpx.Response(200))
        wire = Wire(httpx.AsyncClient(transport=transport))
        async with httpx.AsyncClient(transport=wire) as client:
            response = await client.get("http://test/")
        await wire.shut_down()
        return response.status_code

    assert asyncio.run(main()) == 200


def test_a_call_that_is_not_wanted_any_more_is_not_sent() -> None:
    async def main() -> int:
        requests = 0

        def answer(_: httpx.Request) -> httpx.Response:
            nonlocal requests
            requests += 1
            return httpx.Response(200)

        wire = Wire(httpx.AsyncClient(transport=httpx.MockTransport(answer)))
        token = current_exchange.set(Exchange(refused=True))
        with pytest.raises(httpx.RequestError, match="not wanted"):
            await wire.handle_async_request(httpx.Request("POST", "http://127.0.0.1/"))
        current_exchange.reset(token)
        await wire.shut_down()
        return requests

    assert asyncio.run(main()) == 0
