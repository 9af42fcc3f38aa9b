"""Where notifications arrive: a webhook and a mail server on 127.0.0.1, both real.

with Webhook() as webhook:
    ...json://127.0.0.1:PORT/...
assert webhook.received[0]["title"] == "..."
"""

from __future__ import annotations

import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class _Server:
    def __init__(self, server: socketserver.TCPServer) -> None:
        self._server = server
        self.port = server.server_address[1]
        self._thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)

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


class Webhook(_Server):
    """Takes JSON; `status` is what it answers."""

    def __init__(self, status: int = 200) -> None:
        self.received: list[dict[str, Any]] = []
        self.paths: list[str] = []
        received, paths = self.received, self.paths

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received.append(json.loads(body))
                paths.append(self.path)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(ThreadingHTTPServer(("127.0.0.1", 0), Handler))


class MailServer(_Server):
    """Speaks as much SMTP (RFC 5321) as it takes to be handed a message."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        messages = self.messages

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self._say("220 here")
                while line := self.rfile.readline().decode().strip():
                    command = line.split()[0].upper()
                    if command == "DATA":
                        self._say("354 go on")
                        messages.append(self._message())
                    self._say("221 bye" if command == "QUIT" else "250 fine")
                    if command == "QUIT":
                        return

            def _say(self, text: str) -> None:
                self.wfile.write(f"{text}\r\n".encode())

            def _message(self) -> str:
                lines: list[bytes] = []
                while (line := self.rfile.readline()) != b".\r\n":
                    lines.append(line)
                return b"".join(lines).decode()

        super().__init__(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler))
