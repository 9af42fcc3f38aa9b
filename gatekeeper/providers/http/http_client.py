"""The HTTP client of every hosted model: one pool of connections, over aiohttp. The native clients
use it, and litellm does through `HttpxTransport`.

It sends to the expected hosts alone, follows no redirect, reads an answer within a limit of size,
and knows how long the request itself took. Proxies and certificate authorities are those that
litellm takes from the environment.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakSet

import aiohttp
import certifi
from aiohttp.connector import Connection
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from gatekeeper.errors import CallFailed
from gatekeeper.providers.http.answer_stream import AnswerStream, read_events
from gatekeeper.providers.http.network_guard import environment_proxies, proxy_for
from gatekeeper.providers.http.rate_limits import pause_until_reset
from gatekeeper.providers.http.response_body import (
    ACCEPTED_ENCODINGS,
    MAX_ERROR_BYTES,
    MAX_RESULTS_BYTES,
    UnknownPacking,
    UnreadableAnswer,
    UnreadableBody,
    read_body,
    unpack,
)
from gatekeeper.providers.models.endpoint import Endpoint

# What happened on the network for one call.
#
# A request to another host than the model's, or one with another provider's secret, is not sent. A
# redirect is not followed: a client that follows it would send the key along, and trust any server
# that answers.


@dataclass(slots=True)
class Exchange:
    """What happened on the network for one call; of several requests the last one counts.

    `endpoint` says to which hosts it may be sent. `sent` says that a request was handed to the HTTP
    client, `reached` that a connection was had and the provider may have got it, `refused` that no
    further request is taken. `fault` says why gatekeeper refused the request or the answer; another
    try would be refused too. `body` is the answer, unpacked. `stream` joins an answer that comes
    token by token, and `ttft_ms` is then the time until its first one; `body` is the whole. `pause`
    is the number of seconds until used-up rate limits are reset; None if something remains. `sink`
    takes a large answer instead of `body`: each part as it comes in, and no bytes at its end.
    `batched` says that the answer came in a batch and costs less, `unwatched` that it is a
    credential, which no watcher may see.
    """

    endpoint: Endpoint | None = None
    sent: bool = False
    reached: bool = False
    refused: bool = False
    fault: str | None = None
    latency_ms: float | None = None
    status: int | None = None
    retry_after: str | None = None
    pause: float | None = None
    body: bytes = b""
    stream: AnswerStream | None = None
    ttft_ms: float | None = None
    sink: Callable[[bytes], None] | None = None
    batched: bool = False
    unwatched: bool = False


def request_refused(exchange: Exchange, url: str, content: Iterable[bytes]) -> str | None:
    """Say why the request must not be sent; None if it may. `content` is all that it says."""
    if exchange.endpoint is None:
        return "a request for which no provider is known"
    return exchange.endpoint.refusal(url, content)


# Keeps connections for further requests, but closes those on which the server sent something that
# nobody asked for. HTTP/1.1 does not number answers, so a late second answer to one request would
# otherwise become the answer to the next one, which can belong to the other arm.


class QuietConnector(aiohttp.TCPConnector):
    """Reuses a connection only if nothing came in since the last answer ended."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._answered: WeakSet[object] = WeakSet()

    async def connect(
        self, req: aiohttp.ClientRequest, traces: list[Any], timeout: aiohttp.ClientTimeout
    ) -> Connection:
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol = connection.protocol
            if protocol not in self._answered:
                self._answered.add(protocol)
                return connection
            if not _has_unread(connection):
                return connection
            connection.close()


def _has_unread(connection: Connection) -> bool:
    """Return whether bytes wait to be read, or the server closed the connection. They are in the
    protocol if the event loop has seen them, else still in the socket."""
    protocol, transport = connection.protocol, connection.transport
    if protocol is None or transport is None or protocol.should_close:
        return True
    poll = select.poll()
    poll.register(transport.get_extra_info("socket"), select.POLLIN)
    return bool(poll.poll(0))


# How long one HTTP request took by itself, by the kernel's clock.
#
# 64 concurrent calls can keep a process busy: an answer then lies in the socket while other
# requests are being built, and any clock read by this process measures that queue too. The kernel
# knows better: it remembers when it last sent and last received data on a connection, so the
# difference of the two, read once the answer is complete, is the request's own time (`TCP_INFO`,
# tcp(7)). On other systems the clock is used.


# struct tcp_info of linux/tcp.h: eight bytes, then 32-bit fields, of which the tenth and the
# twelfth are tcpi_last_data_sent and tcpi_last_data_recv, both in milliseconds ago.
_LAST_DATA_SENT_AND_RECEIVED = struct.Struct("@44xI4xI")
_TCP_INFO_BYTES = 104

# The kernel counts in ticks of up to 10 ms; within one, the clock is the finer instrument.
_TICK_MS = 10.0


def own_time_ms(elapsed_ms: float, connection: Any) -> float:
    """Return the time from the last data sent to the last received, in milliseconds; `elapsed_ms`
    if the kernel does not know it. `connection` is the request's socket, or None."""
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


_TIMEOUT = aiohttp.ClientTimeout(total=600.0)  # the runner's own limit is far shorter
_IDLE_SECONDS = 4.0
"""Servers on uvicorn close an idle connection after five: a request on it would be lost."""

_MAX_HEADER = 65_536
_FALSE = frozenset({"false", "0", "no", "off"})


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One POST of JSON. The headers carry the key."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes


def encode_json(document: Mapping[str, Any]) -> bytes:
    """Return the document as it is sent. Raises CallFailed for text that cannot be sent."""
    try:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except ValueError as error:
        text = f"{document.get('model')}: the request cannot be written as JSON: {error}"
        raise CallFailed(text, author=True) from None


class RequestRefused(Exception):
    """A request that is not sent, or an answer that is not read."""


Headers = Iterable[tuple[str, str]]
Watcher = Callable[[str, str, Headers, bytes, Exchange, BaseException | None], None]
"""Takes the method, address, headers and body of a request, what came back, and what went wrong."""
_watchers: list[Watcher] = []


@contextlib.contextmanager
def watched_exchanges(watcher: Watcher) -> Iterator[None]:
    """Call `watcher` after every request of this process, while the context lasts."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


class HttpClient:
    """Sends requests. Belongs to the event loop that makes it.

    Raises UsageError if the environment names a proxy that cannot be used.
    """

    def __init__(self) -> None:
        self._proxies = environment_proxies()
        trace = aiohttp.TraceConfig()
        trace.on_request_headers_sent.append(_note_sent)
        self._session = aiohttp.ClientSession(
            connector=QuietConnector(
                limit=0,
                keepalive_timeout=_IDLE_SECONDS,
                # Python looks names up itself, in view of the network guard; c-ares would not.
                resolver=ThreadedResolver(),
            ),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=_TimedResponse,
            skip_auto_headers=("Accept", "Content-Type", "User-Agent"),
            timeout=_TIMEOUT,
            trace_configs=[trace],
            trust_env=False,  # it would also read passwords from ~/.netrc; proxies: see below
            max_line_size=_MAX_HEADER,
            max_field_size=_MAX_HEADER,
        )
        self._tls: ssl.SSLContext | bool | None = None

    async def post(self, request: HttpRequest, exchange: Exchange) -> None:
        """Send the request and record the result in `exchange`. Raises what `send` raises."""
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "gatekeeper",
            **request.headers,
        }
        await self.send("POST", request.url, headers.items(), request.body, exchange)

    async def send(
        self,
        method: str,
        url: str,
        headers: Headers,
        body: bytes,
        exchange: Exchange,
    ) -> Mapping[str, str]:
        """Send a request, record the result in `exchange` (status, body, time), and return the
        answer's headers.

        Raises RequestRefused, aiohttp.ClientError, TimeoutError, OSError.
        """
        exchange.sent = True
        sent = [(name, value) for name, value in headers if name.lower() != "accept-encoding"]
        problem: BaseException | None = None
        try:
            said = [part.encode() for header in sent for part in header]
            exchange.fault = request_refused(exchange, url, [*said, body])
            if exchange.fault:
                raise RequestRefused(exchange.fault)
            sending = self._session.request(
                method,
                URL(url, encoded=True),
                data=body,
                headers=[*sent, ("Accept-Encoding", ACCEPTED_ENCODINGS)],
                allow_redirects=False,
                proxy=proxy_for(url, self._proxies),
                ssl=self._tls_of(url),
                trace_request_ctx=exchange,
            )
            async with sending as response:
                await _read(response, exchange)
                return response.headers
        except BaseException as error:
            problem = error
            raise
        finally:
            for watcher in () if exchange.unwatched else _watchers:
                watcher(method, url, sent, body, exchange, problem)

    def _tls_of(self, url: str) -> ssl.SSLContext | bool:
        """Return the TLS settings that verify the address's certificate. Certificates are loaded
        once, with the first https address."""
        if not url.startswith("https:"):
            return True
        if self._tls is None:
            self._tls = tls_settings(os.environ)
        return self._tls

    async def aclose(self) -> None:
        """Close every connection."""
        await self._session.close()


async def _read(response: aiohttp.ClientResponse, exchange: Exchange) -> None:
    assert isinstance(response, _TimedResponse)  # noqa: S101
    exchange.status = response.status
    exchange.retry_after = response.headers.get("Retry-After")
    exchange.pause = pause_until_reset(response.headers)
    try:
        body = await _read_content(response, exchange)
    except UnreadableBody as error:
        response.close()
        if response.status >= 400 and isinstance(error, UnknownPacking):
            return  # the status says enough: the call may be tried again
        exchange.fault = str(error)
        raise RequestRefused(exchange.fault) from error
    except UnreadableAnswer:
        response.close()
        raise
    exchange.latency_ms = response.own_time_ms()
    if is_redirect(response.status):
        exchange.fault = redirect_refused(_hidden(response.headers.get("Location", ""), exchange))
        raise RequestRefused(exchange.fault)
    if exchange.endpoint and exchange.endpoint.lease:
        body = _hidden(_plain(body).decode("latin-1"), exchange).encode("latin-1")
    exchange.body = body if response.status < 400 else body[:MAX_ERROR_BYTES]


def _hidden(text: str, exchange: Exchange) -> str:
    """Return the text without the credential of the call. No variable of the environment holds it,
    so nobody else would know that it is one."""
    for secret in exchange.endpoint.lease.values() if exchange.endpoint else ():
        text = text.replace(secret, "***")
    return text


def _plain(body: bytes) -> bytes:
    """Return JSON without escapes of characters that need none."""
    if b"\\" not in body:
        return body
    try:
        return json.dumps(json.loads(body)).encode()
    except (ValueError, RecursionError):
        return body


async def _read_content(response: _TimedResponse, exchange: Exchange) -> bytes:
    """Return the answer, joined if it is streamed. A server may answer a streaming request without
    a stream, above all with an error."""
    parts = response.content.iter_any()
    encoding = _hidden(response.headers.get("Content-Encoding", ""), exchange)
    if exchange.sink is not None and response.status < 300:
        async for part in unpack(parts, encoding, MAX_RESULTS_BYTES):
            if part:
                exchange.sink(part)
        exchange.sink(b"")
        return b""
    is_streamed = response.status < 300 and response.content_type == "text/event-stream"
    if exchange.stream is None or not is_streamed:
        return await read_body(parts, encoding)
    joined = await read_events(parts, encoding, exchange.stream, response.time_so_far_ms)
    exchange.ttft_ms = joined.ttft_ms
    return joined.body


class _TimedResponse(aiohttp.ClientResponse):
    """A response that takes its time when its last byte is in, before another request may use the
    connection."""

    _sent_at = 0.0
    _own_time_ms: float | None = None
    _socket: Any = None

    async def start(self, connection: Any) -> aiohttp.ClientResponse:
        self._sent_at = time.perf_counter()
        transport = connection.transport
        self._socket = transport.get_extra_info("socket") if transport is not None else None
        await super().start(connection)
        self.content.on_eof(self._complete)
        return self

    def _complete(self) -> None:
        self._own_time_ms = self.time_so_far_ms()
        self._socket = None

    def time_so_far_ms(self) -> float:
        """Return the request's own time in milliseconds until its last byte that came in."""
        if self._own_time_ms is not None:
            return self._own_time_ms
        elapsed_ms = (time.perf_counter() - self._sent_at) * 1000
        return own_time_ms(elapsed_ms, self._socket)

    def own_time_ms(self) -> float | None:
        """Return the request's own time in milliseconds; None if the answer has not ended."""
        return self._own_time_ms


async def _note_sent(_: aiohttp.ClientSession, context: SimpleNamespace, __: Any) -> None:
    """Note that a connection was had, and that the provider may have got the request."""
    exchange: Exchange = context.trace_request_ctx
    exchange.reached = True


def tls_settings(environ: Mapping[str, str]) -> ssl.SSLContext | bool:
    """Return how certificates are verified, by the variables that litellm reads: SSL_VERIFY (a
    file, or false), SSL_CERT_FILE, SSL_SECURITY_LEVEL, SSL_ECDH_CURVE. False verifies nothing."""
    verify = environ.get("SSL_VERIFY", "")
    if verify.lower() in _FALSE:
        return False
    files = (verify, environ.get("SSL_CERT_FILE", ""), certifi.where())
    context = ssl.create_default_context(cafile=next(f for f in files if os.path.exists(f)))  # noqa: PTH110
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if environ.get("SSL_SECURITY_LEVEL"):
        context.set_ciphers(environ["SSL_SECURITY_LEVEL"])
    if environ.get("SSL_ECDH_CURVE"):
        context.set_ecdh_curve(environ["SSL_ECDH_CURVE"])
    return context


def is_redirect(status: int) -> bool:
    """Return whether the status is a redirect, which is not followed."""
    return 300 <= status < 400


def redirect_refused(location: str) -> str:
    """Say that a redirect is not followed. `location` is the header of that name."""
    host = ""
    with contextlib.suppress(ValueError):
        # As it was sent: in lower case, a key that the server repeats would not be recognised.
        host = urlsplit(location).netloc.rpartition("@")[2].partition(":")[0]
    host = host if host.isprintable() else ""
    return (
        f"a redirect to {host[:100] or 'elsewhere'}, which gatekeeper does not "
        "follow, because the other server would get the key; set the address in the "
        "environment to the server's real address"
    )
