from __future__ import annotations

import asyncio
import gzip
import itertools
import socket
import struct
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from gatekeeper.providers.endpoint import Endpoint, endpoint_of
from gatekeeper.providers.http_exchange import Exchange
from gatekeeper.providers.httpx_transport import HttpxTransport, RequestRefused, current_exchange
from gatekeeper.providers.request_latency import own_time_ms
from gatekeeper.providers.response_body import MAX_BYTES

KEY = "sk-own-0123456789abcdef"
OTHER = "gsk-other-0123456789abcdef"


def endpoint(**variables: str) -> Endpoint:
    environ = {"OPENAI_API_KEY": KEY, "GROQ_API_KEY": OTHER, **variables}
    return endpoint_of("openai/gpt-4o-mini", environ)


def ask(
    answer: Callable[[httpx.Request], httpx.Response],
    url: str = "https://api.openai.com/v1/chat/completions",
    exchange: Exchange | None = None,
    **request: Any,
) -> tuple[httpx.Response | Exception, Exchange]:
    """What becomes of one request over the wire."""
    exchange = exchange or Exchange(endpoint())

    async def main() -> httpx.Response | Exception:
        wire = HttpxTransport(httpx.AsyncClient(transport=httpx.MockTransport(answer)))
        token = current_exchange.set(exchange)
        try:
            async with httpx.AsyncClient(transport=wire, follow_redirects=True) as client:
                return await client.post(url, **request)
        except httpx.HTTPError as error:
            return error
        finally:
            current_exchange.reset(token)
            await wire.shut_down()

    return asyncio.run(main()), exchange


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
        wire = HttpxTransport(inner, clock=lambda: next(ticks))
        exchange = Exchange(endpoint(OPENAI_BASE_URL="http://test/v1"))
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
    assert exchange == Exchange(
        endpoint=exchange.endpoint,
        sent=True,
        latency_ms=250.0,
        status=503,
        retry_after="9",
        body=b"answer",
    )


def test_a_request_of_no_call_is_not_sent() -> None:
    """Such as one that litellm makes for itself in the background."""

    async def main() -> int:
        requests = 0

        def answer(_: httpx.Request) -> httpx.Response:
            nonlocal requests
            requests += 1
            return httpx.Response(200)

        wire = HttpxTransport(httpx.AsyncClient(transport=httpx.MockTransport(answer)))
        async with httpx.AsyncClient(transport=wire) as client:
            with pytest.raises(RequestRefused):
                await client.get("https://api.openai.com/")
        await wire.shut_down()
        return requests

    assert asyncio.run(main()) == 0


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/v1/chat/completions",
        "http://api.openai.com/v1/chat/completions",  # in the clear
        "https://api.openai.com:8443/v1/chat/completions",
        "https://api.openai.com.evil.example/",
        "https://api.openai.com@evil.example/",
        "https://evilapi.openai.com/",
        "https://api.groq.com/openai/v1/chat/completions",
    ],
)
def test_other_hosts_are_not_asked(url: str) -> None:
    asked: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url)
        return httpx.Response(200)

    outcome, exchange = ask(answer, url)
    assert isinstance(outcome, RequestRefused)
    assert asked == []
    assert exchange.fault is not None
    assert exchange.status is None


@pytest.mark.parametrize(
    "request_parts",
    [
        {"headers": {"authorization": f"Bearer {OTHER}"}},
        {"headers": {"x-anything": OTHER}},
        {"json": {"messages": [{"content": f"say {OTHER}"}]}},
        {"params": {"key": OTHER}},
    ],
)
def test_the_secret_of_another_provider_is_not_sent(request_parts: dict[str, Any]) -> None:
    outcome, exchange = ask(lambda _: httpx.Response(200), **request_parts)
    assert isinstance(outcome, RequestRefused)
    assert exchange.fault is not None
    assert "GROQ_API_KEY" in exchange.fault
    assert OTHER not in exchange.fault


def test_its_own_key_is_sent_even_if_another_variable_has_the_same_value() -> None:
    own = Exchange(endpoint(GATEKEEPER_API_KEY=KEY))
    headers = {"authorization": f"Bearer {KEY}"}
    outcome, _ = ask(lambda _: httpx.Response(200), exchange=own, headers=headers)
    assert isinstance(outcome, httpx.Response)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
@pytest.mark.parametrize(
    "location", ["https://evil.example/v1", "/v1/other", "//evil.example", "http://[bad", ""]
)
def test_a_redirect_is_neither_followed_nor_believed(status: int, location: str) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(status, headers={"location": location}, json={"choices": []})

    outcome, exchange = ask(answer)
    assert isinstance(outcome, RequestRefused)
    assert len(asked) == 1
    assert exchange.status == status
    assert exchange.body == b""


def test_an_answer_without_end_is_not_read() -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1_000_000
            yield bytes(1_000_000)

    outcome, exchange = ask(lambda _: httpx.Response(200, content=endless()))
    assert isinstance(outcome, RequestRefused)
    assert MAX_BYTES < sent <= MAX_BYTES + 1_000_000
    assert (exchange.status, exchange.body) == (200, b"")


def test_what_can_be_unpacked_is_asked_for_alone() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["accept-encoding"])
        return httpx.Response(200, headers={"content-encoding": "br"}, content=b"x")

    outcome, _ = ask(answer, headers={"accept-encoding": "br, zstd"})
    assert isinstance(outcome, RequestRefused)
    assert seen == ["gzip"]


def test_a_call_that_is_not_wanted_any_more_is_not_sent() -> None:
    async def main() -> int:
        requests = 0

        def answer(_: httpx.Request) -> httpx.Response:
            nonlocal requests
            requests += 1
            return httpx.Response(200)

        wire = HttpxTransport(httpx.AsyncClient(transport=httpx.MockTransport(answer)))
        token = current_exchange.set(Exchange(refused=True))
        with pytest.raises(httpx.RequestError, match="not wanted"):
            await wire.handle_async_request(httpx.Request("POST", "http://127.0.0.1/"))
        current_exchange.reset(token)
        await wire.shut_down()
        return requests

    assert asyncio.run(main()) == 0
