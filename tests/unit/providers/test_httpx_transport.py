"""What litellm sends through httpx: over the same client, by the same rules."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from support.answering_server import Answer, AnsweringServer

from gatekeeper.providers.http.http_client import Exchange, HttpClient
from gatekeeper.providers.litellm import (
    HttpxTransport,
    RequestRefused,
    current_exchange,
)
from gatekeeper.providers.models.endpoint import endpoint_of

KEY = "sk-own-0123456789abcdef"
OTHER = "gsk-other-0123456789abcdef"


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    with AnsweringServer(Answer(200, {"a": 1})) as server:
        yield server


def exchange_at(address: str, **variables: str) -> Exchange:
    environ = {"OPENAI_API_KEY": KEY, "GROQ_API_KEY": OTHER, "OPENAI_BASE_URL": address}
    return Exchange(endpoint_of("openai/gpt-4o-mini", {**environ, **variables}))


def ask(url: str, exchange: Exchange | None, **request: Any) -> httpx.Response | Exception:
    """What becomes of one request over the transport."""

    async def main() -> httpx.Response | Exception:
        client = HttpClient()
        token = current_exchange.set(exchange)
        try:
            transport = HttpxTransport(client)
            async with httpx.AsyncClient(transport=transport, follow_redirects=True) as sender:
                return await sender.post(url, **{"json": {}, **request})
        except httpx.HTTPError as error:
            return error
        finally:
            current_exchange.reset(token)
            await client.aclose()

    return asyncio.run(main())


def test_what_happened_is_noted_and_the_answer_passed_on(server: AnsweringServer) -> None:
    packed = {"Content-Encoding": "gzip", "Retry-After": "9", "X-Own": "a"}
    server.answer = Answer(503, gzip.compress(b"answer"), packed)
    exchange = exchange_at(server.url)
    given = {"X-Asked": "b", "Accept-Encoding": "br, zstd"}
    response = ask(f"{server.url}/v1?a=%2F", exchange, json={"say": "question"}, headers=given)
    assert isinstance(response, httpx.Response)
    assert (response.status_code, response.content) == (503, b"answer")
    assert response.headers["x-own"] == "a"
    assert "content-encoding" not in response.headers
    (received,) = server.requests
    assert (received.path, received.body) == ("/v1?a=%2F", {"say": "question"})
    assert received.headers["x-asked"] == "b"
    assert received.headers["accept-encoding"] == "gzip"
    assert received.headers["content-type"] == "application/json"
    assert exchange.latency_ms is not None
    assert (exchange.status, exchange.retry_after, exchange.body) == (503, "9", b"answer")
    assert (exchange.sent, exchange.reached) == (True, True)


def test_a_request_of_no_call_is_not_sent(server: AnsweringServer) -> None:
    """Such as one that litellm makes for itself in the background."""
    assert isinstance(ask(server.url, None), RequestRefused)
    assert isinstance(ask(server.url, Exchange()), RequestRefused)
    assert server.requests == []


def test_a_call_that_is_not_wanted_any_more_is_not_sent(server: AnsweringServer) -> None:
    exchange = exchange_at(server.url)
    exchange.refused = True
    outcome = ask(server.url, exchange)
    assert isinstance(outcome, RequestRefused)
    assert "no longer needed" in str(outcome)
    assert exchange.sent
    assert server.requests == []


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
    exchange = exchange_at("https://api.openai.com/v1")
    assert isinstance(ask(url, exchange), RequestRefused)
    assert exchange.fault is not None
    assert not exchange.reached
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
def test_the_secret_of_another_provider_is_not_sent(
    server: AnsweringServer, request_parts: dict[str, Any]
) -> None:
    exchange = exchange_at(server.url)
    assert isinstance(ask(server.url, exchange, **request_parts), RequestRefused)
    assert exchange.fault is not None
    assert "GROQ_API_KEY" in exchange.fault
    assert OTHER not in exchange.fault
    assert server.requests == []


def test_its_own_key_is_sent_even_if_another_variable_has_the_same_value(
    server: AnsweringServer,
) -> None:
    own = exchange_at(server.url, GATEKEEPER_API_KEY=KEY)
    outcome = ask(server.url, own, headers={"authorization": f"Bearer {KEY}"})
    assert isinstance(outcome, httpx.Response)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_neither_followed_nor_believed(server: AnsweringServer, status: int) -> None:
    server.answer = Answer(status, {"choices": []}, {"Location": "/v1/other"})
    exchange = exchange_at(server.url)
    assert isinstance(ask(server.url, exchange), RequestRefused)
    assert len(server.requests) == 1
    assert (exchange.status, exchange.body) == (status, b"")


def test_an_answer_that_cannot_be_unpacked_is_not_read(server: AnsweringServer) -> None:
    server.answer = Answer(200, b"x", {"Content-Encoding": "br"})
    exchange = exchange_at(server.url)
    assert isinstance(ask(server.url, exchange), RequestRefused)
    assert (exchange.status, exchange.body) == (200, b"")


def test_a_server_that_is_not_there() -> None:
    exchange = exchange_at("http://127.0.0.1:1/v1")
    assert isinstance(ask("http://127.0.0.1:1/v1", exchange), httpx.NetworkError)
    assert (exchange.sent, exchange.reached) == (True, False)


def test_an_answer_that_does_not_come_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    async def late(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(HttpClient, "send", late)
    assert isinstance(ask("https://a.example", Exchange()), httpx.ReadTimeout)
