"""The HTTP transport under litellm: it sends to the expected hosts alone and measures each request.

Refused are a request to another host than the model's, one that carries another provider's
secret, a redirect, and an answer without end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import httpx

from gatekeeper.providers.http_exchange import (
    Exchange,
    is_redirect,
    redirect_refused,
    request_refused,
)
from gatekeeper.providers.request_latency import own_time_ms
from gatekeeper.providers.response_body import (
    ACCEPTED_ENCODINGS,
    MAX_ERROR_BYTES,
    UnreadableBody,
    read_body,
)

_OF_THE_BODY_AS_SENT = ("content-encoding", "content-length", "transfer-encoding")

current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)


class RequestRefused(httpx.RequestError):
    """A request that is not sent, or an answer that is not read."""


class HttpxTransport(httpx.AsyncBaseTransport):
    """Sends over `client`, reads answers completely, and notes them in `current_exchange`.

    A whole client and not a bare transport, because it heeds the environment's proxies.
    """

    def __init__(
        self, client: httpx.AsyncClient, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._client = client
        self._clock = clock

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        exchange = current_exchange.get()
        if exchange is None:
            raise RequestRefused("a request that belongs to no call", request=request)
        exchange.sent = True
        if exchange.refused:
            raise RequestRefused("the call is not wanted any more", request=request)
        await _require_expected(request, exchange)
        request.headers["accept-encoding"] = ACCEPTED_ENCODINGS
        response, body = await self._exchange(request, exchange)
        exchange.status = response.status_code
        exchange.retry_after = response.headers.get("retry-after")
        if is_redirect(response.status_code):
            exchange.fault = redirect_refused(response.headers.get("location", ""))
            raise RequestRefused(exchange.fault, request=request)
        if response.status_code >= 400:
            body = body[:MAX_ERROR_BYTES]
        exchange.body = body
        return httpx.Response(
            response.status_code,
            headers=[
                (name, value)
                for name, value in response.headers.multi_items()
                if name not in _OF_THE_BODY_AS_SENT
            ],
            stream=httpx.ByteStream(body),
            extensions={
                name: value
                for name, value in response.extensions.items()
                if name in ("http_version", "reason_phrase")
            },
        )

    async def _exchange(
        self, request: httpx.Request, exchange: Exchange
    ) -> tuple[httpx.Response, bytes]:
        """Send the request and read the answer, timed."""
        started = self._clock()

        async def trace(event: str, _info: dict[str, Any]) -> None:
            nonlocal started
            if event.endswith("send_request_headers.started"):  # a connection was had
                started = self._clock()
                exchange.reached = True

        request.extensions = {**request.extensions, "trace": trace}
        response = await self._client.send(request, stream=True, follow_redirects=False)
        try:
            # The bytes as they came: unpacked here, within the limit. Not aiter_raw, which gives
            # the connection back before it was asked for its times.
            assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101
            encoding = response.headers.get("content-encoding", "")
            body = await read_body(response.stream, encoding)
            elapsed_ms = (self._clock() - started) * 1000
            exchange.latency_ms = own_time_ms(elapsed_ms, _socket_of(response))
        except UnreadableBody as error:
            exchange.status, exchange.fault = response.status_code, str(error)
            raise RequestRefused(exchange.fault, request=request) from error
        finally:
            await response.aclose()
        return response, body

    async def aclose(self) -> None:
        """Do nothing: litellm opens and closes clients, and the owner calls `shut_down`."""

    async def shut_down(self) -> None:
        await self._client.aclose()


async def _require_expected(request: httpx.Request, exchange: Exchange) -> None:
    """Raise RequestRefused for a request to another host, or with another provider's secret."""
    headers = [part for header in request.headers.raw for part in header]
    content = [*headers, await request.aread()]
    exchange.fault = request_refused(exchange, str(request.url), content)
    if exchange.fault:
        raise RequestRefused(exchange.fault, request=request)


def _socket_of(response: httpx.Response) -> Any:
    stream = response.extensions.get("network_stream")
    return stream.get_extra_info("socket") if stream is not None else None
