"""HTTP on a thread of its own, so that a latency is the request's and nobody else's.

Through litellm, 64 concurrent calls keep an event loop busy for hundreds of milliseconds:
an answer lies in the socket while other requests are being built, and a clock on that loop
would measure the queue. Here a second loop does nothing but send and receive, and the
clock is read there: from the first byte of the request sent (after a connection was had)
until the answer is completely read.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(slots=True)
class Exchange:
    """What happened on the wire for one call; the last request of several counts."""

    latency_ms: float | None = None
    status: int | None = None
    retry_after: str | None = None


current_exchange: ContextVar[Exchange | None] = ContextVar("current_exchange", default=None)


class Wire(httpx.AsyncBaseTransport):
    """A transport for httpx clients of any event loop. Answers are read completely."""

    def __init__(
        self,
        make_client: Callable[[], httpx.AsyncClient],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._clock = clock
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wire", daemon=True)
        self._thread.start()
        # A whole client and not a bare transport: it knows the environment's proxies.
        self._client = make_client()
        self._closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        exchange = current_exchange.get() or Exchange()
        content = await request.aread()
        sent = httpx.Request(
            request.method,
            request.url,
            headers=request.headers,
            content=content,
            extensions=request.extensions,
        )
        future = asyncio.run_coroutine_threadsafe(self._transfer(sent, exchange), self._loop)
        return await asyncio.wrap_future(future)

    async def aclose(self) -> None:
        """Nothing: clients come and go, the owner calls `shut_down`."""

    async def shut_down(self) -> None:
        """Close the connections and end the thread."""
        if self._closed:
            return
        self._closed = True
        closing = asyncio.run_coroutine_threadsafe(self._close_inner(), self._loop)
        await asyncio.wrap_future(closing)
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)
        self._loop.close()

    async def _close_inner(self) -> None:
        transfers = asyncio.all_tasks() - {asyncio.current_task()}
        for transfer in transfers:
            transfer.cancel()
        await asyncio.gather(*transfers, return_exceptions=True)
        await self._client.aclose()

    async def _transfer(self, request: httpx.Request, exchange: Exchange) -> httpx.Response:
        started = self._clock()

        async def trace(event: str, _info: dict[str, Any]) -> None:
            # Emitted by httpcore; not by other transports, for which the start is good enough.
            nonlocal started
            if event.endswith("send_request_headers.started"):
                started = self._clock()

        request.extensions = {**request.extensions, "trace": trace}
        response = await self._client.send(request, stream=True, follow_redirects=False)
        try:
            # The bytes as they came: the client that asked undoes any content encoding.
            body = b"".join([part async for part in response.aiter_raw()])
        finally:
            await response.aclose()
        exchange.latency_ms = (self._clock() - started) * 1000
        exchange.status = response.status_code
        exchange.retry_after = response.headers.get("retry-after")
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=httpx.ByteStream(body),
            request=request,
            extensions={
                name: value
                for name, value in response.extensions.items()
                if name in ("http_version", "reason_phrase")
            },
        )
