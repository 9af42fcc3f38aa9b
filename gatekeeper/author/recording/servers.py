"""Talks to an MCP server with the official SDK.

The server is not trusted. It gets few variables of the environment, may send a limited number of
bytes, has a limited time for each answer, and is ended with all that it started in its process
group. What it writes to standard error is shown only if it fails.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gatekeeper.author.recording.tool_lists import KEPT, Tool
from gatekeeper.errors import GatekeeperError, MeasurementError, UsageError
from gatekeeper.providers.http.network_guard import NetworkGuard
from gatekeeper.reports.redact import environment_redactor, keep_secret

if TYPE_CHECKING:
    import httpx2
    from mcp import Client
    from mcp.client._transport import TransportStreams

MOST_BYTES = 20_000_000
MOST_TOOLS = 1_000
SECONDS = 60.0
"""The longest that a server may take for its start or for one answer."""
_SECONDS_TO_END = 2.0
_BYTES_OF_A_LINE = 100  # a short line takes time, too
_TRUSTED_EVENTS = ("push", "schedule", "workflow_dispatch")
# What other systems set in the run of a pull request. Travis CI writes `false` elsewhere.
_OF_CHANGES = (
    *("BITBUCKET_PR_ID", "CHANGE_ID", "CI_MERGE_REQUEST_IID", "CI_EXTERNAL_PULL_REQUEST_IID"),
    *("CIRCLE_PULL_REQUEST", "SYSTEM_PULLREQUEST_PULLREQUESTID", "TRAVIS_PULL_REQUEST"),
    *("BUILDKITE_PULL_REQUEST", "DRONE_PULL_REQUEST", "APPVEYOR_PULL_REQUEST_NUMBER"),
)


@dataclass(frozen=True, slots=True)
class Server:
    """A server: the command that starts it with variables, or an address with headers."""

    command: tuple[str, ...] = ()
    url: str = ""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(slots=True)
class _Said:
    """How many bytes the server may still send, the end of its standard error, and why it was
    left."""

    left: int = field(default_factory=lambda: MOST_BYTES)
    errors: bytes = b""
    fault: str = ""

    def take(self, size: int) -> bool:
        self.left -= size
        if self.left < 0:
            self.fault = f"it sent more than {MOST_BYTES // 1_000_000} MB"
        return self.left >= 0

    @contextmanager
    def as_told(self, doing: str) -> Iterator[None]:
        """Raise MeasurementError for whatever goes wrong with the server."""
        try:
            yield
        except Exception as error:
            raise self.told(_innermost(error), doing) from None

    def told(self, error: BaseException, doing: str) -> BaseException:
        """Return the error to raise."""
        if isinstance(error, GatekeeperError) or not isinstance(error, Exception):
            return error
        said = " ".join(str(error).split())[:300] or type(error).__name__
        if isinstance(error, TimeoutError):
            said = f"it sent no answer that can be read within {SECONDS:.0f} seconds"
        why = self.fault or said
        tail = self.errors.decode(errors="replace").strip()
        last = f"; its standard error ends with: {tail}" if tail else ""
        return MeasurementError(f"the MCP server failed to {doing}: {why}{last}")


@dataclass(frozen=True, slots=True)
class Live:
    """A server that runs, and its tools."""

    tools: tuple[Tool, ...]
    _client: Client
    _said: _Said

    async def call(self, name: str, arguments: Mapping[str, Any]) -> tuple[str, bool]:
        """Call a tool; return the text of its answer, and whether it is an error. Raises
        MeasurementError."""
        with self._said.as_told(f"answer a call of `{name}`"):
            found = await self._client.call_tool(name, dict(arguments))
        parts = [part.model_dump(mode="json", by_alias=True) for part in found.content]
        texts = [part.get("text", f"({part['type']}, not recorded)") for part in parts]
        return "\n".join(texts), bool(found.is_error)


def refuse_in_pull_requests() -> None:
    """Raise UsageError in a run that a pull request can start: there, its author may have written
    what the command starts."""
    event = os.environ.get("GITHUB_EVENT_NAME", "push")
    named = [name for name in _OF_CHANGES if os.environ.get(name, "").lower() not in ("", "false")]
    if event not in _TRUSTED_EVENTS or named:
        raise UsageError(
            f"this run is of a pull request ({named[0] if named else event}), whose author may "
            "have written what the server runs; record on your machine or in a scheduled run"
        )


@asynccontextmanager
async def connected(server: Server) -> AsyncIterator[Live]:
    """Start the server, or connect to it. Raises UsageError and MeasurementError."""
    try:
        from mcp import Client
    except ImportError:  # not installed, or its first version
        raise UsageError("this needs the SDK of MCP: pip install 'gatekeeper[mcp]'") from None
    keep_secret(part for value in server.headers.values() for part in (value, *value.split()))
    logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)  # it would log what the server wrote
    said = _Said()
    try:
        async with AsyncExitStack() as stack:
            with said.as_told("start"):
                transport = _process(server, said) if server.command else _http(server, said)
                client = Client(transport, read_timeout_seconds=SECONDS, cache=None)
                await stack.enter_async_context(client)
            with said.as_told("list its tools"):
                tools = await _list(client)
            yield Live(tools, client, said)
    except BaseExceptionGroup as group:
        first = _innermost(group)  # of the transport, or of the work with the server
        of_transport = type(first).__module__.partition(".")[0] in ("anyio", "httpx2", "mcp")
        raise (said.told(first, "go on") if of_transport else first) from None


async def list_tools(server: Server) -> tuple[Tool, ...]:
    """Return the tools of a server. Calls none of them. Raises UsageError and MeasurementError."""
    async with connected(server) as live:
        return live.tools


async def _list(client: Client) -> tuple[Tool, ...]:
    import anyio

    found: list[Tool] = []
    secrets = environment_redactor()
    cursor: str | None = None
    with anyio.fail_after(SECONDS):
        while True:
            page = await client.list_tools(cursor=cursor)
            if len(found) + len(page.tools) > MOST_TOOLS:
                raise MeasurementError(f"the MCP server lists more than {MOST_TOOLS:,} tools")
            for tool in page.tools:
                parts = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
                kept = {key: parts[key] for key in KEPT if key in parts}
                found.append(secrets.value(kept))
            cursor = page.next_cursor
            if cursor is None:
                return tuple(found)


@asynccontextmanager
async def _process(server: Server, said: _Said) -> AsyncIterator[TransportStreams]:
    """Start the command. The SDK's own transport limits neither a line nor standard error."""
    import anyio
    import mcp_types
    from anyio.streams.buffered import BufferedByteReceiveStream
    from mcp.shared.message import SessionMessage

    received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
    gone = (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)

    async def read(process: Any) -> None:
        lines = BufferedByteReceiveStream(process.stdout)
        with suppress(anyio.IncompleteRead, anyio.EndOfStream, *gone):
            async with received:
                while said.take(0):
                    try:
                        line = await lines.receive_until(b"\n", said.left + 1)
                    except anyio.DelimiterNotFound:
                        said.take(said.left + 1)
                        return
                    if not said.take(len(line) + _BYTES_OF_A_LINE):
                        return
                    with suppress(ValueError):  # a line that is no message, such as of a log
                        message = mcp_types.jsonrpc_message_adapter.validate_json(line)
                        await received.send(SessionMessage(message))

    async def write(process: Any) -> None:
        with suppress(*gone):
            async for sent in to_send:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(f"{text}\n".encode())

    async def keep_errors(process: Any) -> None:
        with suppress(*gone):
            async for chunk in process.stderr:
                said.errors = (said.errors + chunk)[-1_000:]

    async with anyio.create_task_group() as tasks, incoming, outgoing, received, to_send:
        async with _started(server, said) as process:
            for task in (read, write, keep_errors):
                tasks.start_soon(task, process)
            yield incoming, outgoing
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def _started(server: Server, said: _Said) -> AsyncIterator[Any]:
    """Start the command in a process group, and end the group."""
    import anyio
    from mcp.client.stdio import get_default_environment

    environment = {**get_default_environment(), **server.variables}
    try:
        process = await anyio.open_process(server.command, env=environment, start_new_session=True)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot start {server.command[0]!r}: {why}") from None
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            if process.stdin:
                with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
                    await process.stdin.aclose()
            with anyio.move_on_after(0 if said.fault else _SECONDS_TO_END):
                await process.wait()
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.aclose()


@asynccontextmanager
async def _http(server: Server, said: _Said) -> AsyncIterator[TransportStreams]:
    """Connect by Streamable HTTP. The SDK's own client does not limit an answer of JSON."""
    import anyio
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    class Limited(httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._stream:
                if not said.take(len(chunk)):
                    raise httpx2.ReadError(said.fault)
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def limit(response: httpx2.Response) -> None:
        response.headers.pop("content-encoding", None)  # none was asked for; it could explode
        response.stream = Limited(response.stream)

    NetworkGuard.named.add(urlsplit(server.url).hostname or "")
    headers = {**server.headers, "Accept-Encoding": "identity"}
    hooks = {"response": [limit]}
    with anyio.CancelScope() as scope:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=SECONDS, event_hooks=hooks) as client,
            streamable_http_client(server.url, http_client=client) as streams,
        ):
            try:
                yield streams
            finally:  # the SDK asks the server to end the session
                scope.deadline = anyio.current_time() + _SECONDS_TO_END


def _innermost(error: BaseException) -> BaseException:
    """Return the first error of groups, by preference one of Gatekeeper's own."""
    while isinstance(error, BaseExceptionGroup):
        own = error.subgroup(GatekeeperError)
        error = (own or error).exceptions[0]
    return error
