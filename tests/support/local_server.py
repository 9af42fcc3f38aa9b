"""What servers of the tests share: a thread on 127.0.0.1 that a `with` block starts and ends."""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class QuietHandler(BaseHTTPRequestHandler):
    """Writes no log."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing: tests print no log."""

    def read_body(self) -> bytes:
        """What the client sent."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """Answer with a body of known length."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class JsonHandler(QuietHandler):
    """Speaks JSON over connections that are kept open."""

    protocol_version = "HTTP/1.1"
    # Headers and body are two writes: the second would wait 40 ms for the first to be confirmed.
    disable_nagle_algorithm = True

    def read_json(self) -> Any:
        """What the client sent; None if that is nothing."""
        raw = self.read_body()
        return json.loads(raw) if raw else None

    def send_json(self, status: int, text: str, headers: Mapping[str, str]) -> None:
        """Answer with a text, which is JSON unless a test sends rubbish."""
        json_type = {"Content-Type": "application/json; charset=utf-8"}
        self.send(status, text.encode(), {**headers, **json_type})


class QuietHttpServer(ThreadingHTTPServer):
    """Takes many connections at once, and does not wait for those that hang."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up first is part of the tests, not worth a traceback."""


class LocalServer:
    """Serves in a thread while its `with` block runs."""

    def __init__(self, server: socketserver.TCPServer) -> None:
        self._server = server
        self.port: int = server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)

    @classmethod
    def http(cls, handler: type[BaseHTTPRequestHandler]) -> socketserver.TCPServer:
        """Make a server of the handler on a free port."""
        return QuietHttpServer(("127.0.0.1", 0), handler)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
