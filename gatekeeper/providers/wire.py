"""An HTTP transport that knows how long each request itself took.

Through litellm, 64 concurrent calls keep a process busy: an answer lies in the socket for
hundreds of milliseconds while other requests are being built, and any clock read by this
process measures that queue too. The kernel knows better: it remembers when it last sent and
last received data on a connection, so the difference of the two, read once the answer is
complete, is the request's own time (`TCP_INFO`, tcp(7)). Where there is no such thing, the
clock has to do.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpx

# struct tcp_info of linux/tcp.h: eight bytes, then 32-bit fields, of which the tenth and the
# twelfth are tcpi_last_data_sent and tcpi_last_data_recv, both in milliseconds ago.
_LAST_DATA_SENT_AND_RECEIVED = struct.Struct("@44xI4xI")
_TCP_INFO_BYTES = 104

# The kernel counts in ticks of up to 10 ms; within one, the clock is the finer instrument.
_TICK_MS = 10.0


@dataclass(slots=True)
class Exchange:
    """What happened on the wire for one call; of several requests the last one counts.

    `sent` says that a request was handed to the wire, `refused` that the wire takes no more.
    """

    sent: bool = False
    refused: bool = False
    latency_ms: float | None = None
    status: int | None = None
    retry_after: str | None = None


current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)


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
        exchange = current_exchange.get() or Exchange()
        exchange.sent = True
        if exchange.refused:
            raise httpx.RequestError("the call is not wanted any more", request=request)
        started = self._clock()

        async def trace(event: str, _info: dict[str, Any]) -> None:
            nonlocal started
            if event.endswith("send_request_headers.started"):  # a connection was had
                started = self._clock()

        request.extensions = {**request.extensions, "trace": trace}
        response = await self._client.send(request, stream=True, follow_redirects=False)
        try:
            # The bytes as they came: the client that asked undoes any content encoding.
            # Not aiter_raw, which gives the connection back before it was asked for its times.
            assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101
            body = b"".join([part async for part in response.stream])
            elapsed_ms = (self._clock() - started) * 1000
            exchange.latency_ms = own_time_ms(elapsed_ms, _socket_of(response))
        finally:
            await response.aclose()
        exchange.status = response.status_code
        exchange.retry_after = response.headers.get("retry-after")
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=httpx.ByteStream(body),
            extensions={
                name: value
                for name, value in response.extensions.items()
                if name in ("http_version", "reason_phrase")
            },
        )

    async def aclose(self) -> None:
        """Nothing: litellm's clients come and go, the owner calls `shut_down`."""

    async def shut_down(self) -> None:
        await self._client.aclose()


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
