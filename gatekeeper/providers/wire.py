"""An HTTP transport that sends to the expected hosts alone and knows how long each request took.

Refused are a request to another host than the model's, one that carries another provider's
secret, a redirect (the client that follows it would take the key along, and believe whoever
answers), and an answer without end.

Through litellm, 64 concurrent calls keep a process busy: an answer lies in the socket for
hundreds of milliseconds while other requests are being built, and any clock read by this
process measures that queue too. The kernel knows better: it remembers when it last sent and
last received data on a connection, so the difference of the two, read once the answer is
complete, is the request's own time (`TCP_INFO`, tcp(7)). Where there is no such thing, the
clock has to do.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from gatekeeper.providers.endpoint import Endpoint
from gatekeeper.providers.response_body import (
    ACCEPTED_ENCODINGS,
    MAX_ERROR_BYTES,
    UnreadableBody,
    read_body,
)

# struct tcp_info of linux/tcp.h: eight bytes, then 32-bit fields, of which the tenth and the
# twelfth are tcpi_last_data_sent and tcpi_last_data_recv, both in milliseconds ago.
_LAST_DATA_SENT_AND_RECEIVED = struct.Struct("@44xI4xI")
_TCP_INFO_BYTES = 104

_OF_THE_BODY_AS_SENT = ("content-encoding", "content-length", "transfer-encoding")

# The kernel counts in ticks of up to 10 ms; within one, the clock is the finer instrument.
_TICK_MS = 10.0


@dataclass(slots=True)
class Exchange:
    """What happened on the wire for one call; of several requests the last one counts.

    `endpoint` says where it may go. `sent` says that a request was handed to the wire, `reached`
    that a connection was had and the provider may have got it, `refused` that the wire takes no
    more. `fault` says why the wire itself refused the request or the answer: the same would be
    refused again. `body` is the answer, unpacked.
    """

    endpoint: Endpoint | None = None
    sent: bool = False
    reached: bool = False
    refused: bool = False
    fault: str | None = None
    latency_ms: float | None = None
    status: int | None = None
    retry_after: str | None = None
    body: bytes = b""


current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)


class WireRefused(httpx.RequestError):
    """A request that is not sent, or an answer that is not read."""


class Wire(httpx.AsyncBaseTransport):
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
            raise WireRefused("a request that belongs to no call", request=request)
        exchange.sent = True
        if exchange.refused:
            raise WireRefused("the call is not wanted any more", request=request)
        await _require_expected(request, exchange)
        request.headers["accept-encoding"] = ACCEPTED_ENCODINGS
        response, body = await self._exchange(request, exchange)
        exchange.status = response.status_code
        exchange.retry_after = response.headers.get("retry-after")
        if 300 <= response.status_code < 400:
            exchange.fault = _redirect(response)
            raise WireRefused(exchange.fault, request=request)
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
            raise WireRefused(exchange.fault, request=request) from error
        finally:
            await response.aclose()
        return response, body

    async def aclose(self) -> None:
        """Nothing: litellm's clients come and go, the owner calls `shut_down`."""

    async def shut_down(self) -> None:
        await self._client.aclose()


async def _require_expected(request: httpx.Request, exchange: Exchange) -> None:
    """Raise WireRefused for a request to another host, or with another provider's secret."""
    endpoint = exchange.endpoint
    if endpoint is None:
        exchange.fault = "a request of a call that has no provider"
    else:
        headers = [part for header in request.headers.raw for part in header]
        content = [*headers, await request.aread()]
        exchange.fault = endpoint.refusal(str(request.url), content)
    if exchange.fault:
        raise WireRefused(exchange.fault, request=request)


def _redirect(response: httpx.Response) -> str:
    host = None
    with contextlib.suppress(ValueError):
        host = urlsplit(response.headers.get("location", "")).hostname
    host = host if host and host.isprintable() else None
    return (
        f"a redirect to {host[:100] if host else 'elsewhere'}, which is not followed, because the "
        "key would go along; set the address in the environment to where the server really is"
    )


def own_time_ms(elapsed_ms: float, connection: socket.socket | None) -> float:
    """From the last data sent to the last received; `elapsed_ms` where that is not known."""
    if connection is None or not hasattr(socket, "TCP_INFO"):
        return elapsed_ms
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    except OSError:
        return elapsed_ms
    sent_ago, received_ago = _LAST_DATA_SENT_AND_RECEIVED.unpack_from(info)
    own = float(sent_ago - received_ago)
    if not 0 <= own < elapsed_ms - _TICK_MS:
        return elapsed_ms
    return max(own, 1.0)  # the kernel counts whole milliseconds; no answer takes none


def _socket_of(response: httpx.Response) -> Any:
    stream = response.extensions.get("network_stream")
    return stream.get_extra_info("socket") if stream is not None else None
