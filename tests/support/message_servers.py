"""Where notifications arrive: a webhook and a mail server on 127.0.0.1, both real.

with Webhook() as webhook:
    ...json://127.0.0.1:PORT/...
assert webhook.received[0]["title"] == "..."
"""

from __future__ import annotations

import json
import socketserver
import threading
from typing import Any

from support.local_server import LocalServer, QuietHandler


class Webhook(LocalServer):
    """Takes JSON; `status` and `headers` are what it answers."""

    def __init__(self, status: int = 200, **headers: str) -> None:
        self.received: list[dict[str, Any]] = []
        self.paths: list[str] = []
        received, paths = self.received, self.paths

        class Handler(QuietHandler):
            def do_POST(self) -> None:  # noqa: N802
                received.append(json.loads(self.read_body()))
                paths.append(self.path)
                self.send(status, b"", headers)

        super().__init__(self.http(Handler))


class EndlessServer(LocalServer):
    """Answers whoever connects with `start`, and then with one `piece` after another, `seconds`
    apart, until the other side hangs up."""

    def __init__(self, start: bytes, piece: bytes, seconds: float = 0.0) -> None:
        ended = self._ended = threading.Event()
        self.gone = gone = threading.Event()
        """The other side has hung up."""

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                try:
                    self.wfile.write(start)
                    while not ended.wait(seconds):
                        self.wfile.write(piece)
                except OSError:
                    gone.set()

        super().__init__(EndlessTcpServer(("127.0.0.1", 0), Handler))

    def __exit__(self, *error: Any) -> None:
        self._ended.set()
        super().__exit__(*error)


class EndlessTcpServer(socketserver.ThreadingTCPServer):
    """Waits for no thread of a client that is still connected."""

    daemon_threads = True
    block_on_close = False


class MailServer(LocalServer):
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
