"""Keeps connections for further requests, but closes those on which the server sent something that
nobody asked for. HTTP/1.1 does not number answers, so a late second answer to one request would
otherwise become the answer to the next one, which can belong to the other arm."""

from __future__ import annotations

import select
from typing import Any
from weakref import WeakSet

import aiohttp
from aiohttp.connector import Connection


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
