"""A real HTTP server on 127.0.0.1 that gives one prepared answer to every request, byte by byte.

with AnsweringServer(Answer(429, b"{}", {"Retry-After": "3"})) as server:
    ...  # server.url, server.requests
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.local_server import JsonHandler, LocalServer


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; a `body` that is no bytes is sent as JSON."""

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(frozen=True, slots=True)
class Received:
    """One request: its path, its headers with names in lower case, its JSON, and the port of the
    client's connection."""

    path: str
    headers: Mapping[str, str]
    body: Any
    peer: int = 0


class AnsweringServer(LocalServer):
    """`requests` are those received, in order. Set `answer` to change what is answered.

    With `certificate`, a file of a certificate and its key, it is `https://localhost`.
    """

    def __init__(self, answer: Answer, certificate: Path | None = None) -> None:
        self.answer = answer
        self.requests: list[Received] = []
        server = self

        class Handler(JsonHandler):
            def do_POST(self) -> None:  # noqa: N802
                headers = {name.lower(): value for name, value in self.headers.items()}
                peer = self.client_address[1]
                server.requests.append(Received(self.path, headers, self.read_json(), peer))
                answer = server.answer
                given = {"Content-Type": "application/json", **answer.headers}
                self.send(answer.status, answer.content, given)

        http = self.http(Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            http.socket = context.wrap_socket(http.socket, server_side=True)
        super().__init__(http)
        if certificate is not None:
            self.url = f"https://localhost:{self.port}"
