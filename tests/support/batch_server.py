"""What the servers of the two batch interfaces have in common: faults to order, and a log."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from support.local_server import JsonHandler, LocalServer

Row = dict[str, Any]


@dataclass
class Submitted:
    """One batch: the bodies of its requests by their names, in order."""

    id: str
    requests: dict[str, Any]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    polls: int = 0


@dataclass(frozen=True)
class Fault:
    """Answers a request with an error; without a status, closes the connection. `after` says that
    the request was carried out."""

    status: int | None
    headers: Mapping[str, str] = field(default_factory=dict)
    after: bool = False


class BatchServer(LocalServer):
    """`batches` are those submitted. `faults` are the next answers to a request, by its method and
    the last part of its path. `rows` makes the lines of the results of a batch. A batch ends at the
    poll number `polls`; `polled` is called at each, `asked` with the name of each request.
    `name_batch` makes the id of a batch of an ordinary one."""

    def __init__(self, rows: Callable[[Submitted], list[Row]]) -> None:
        self.batches: list[Submitted] = []
        self.faults: dict[str, list[Fault]] = {}
        self.log: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.rows = rows
        self.polls = 1
        self.polled: Callable[[Submitted], None] = lambda batch: None
        self.asked: Callable[[str], None] = lambda name: None
        self.name_batch: Callable[[str], Any] = lambda name: name
        self.lock = threading.Lock()
        super().__init__(self.http(self._handler()))

    def route(self, method: str, path: str, body: bytes, kind: str) -> tuple[int, Any]:
        """Carry out a request: a status, and a document or bytes."""
        raise NotImplementedError

    def find(self, name: str) -> Submitted:
        return next(batch for batch in self.batches if batch.id == name)

    def poll(self, name: str) -> tuple[Submitted, bool]:
        """Count a poll: the batch, and whether it has ended."""
        batch = self.find(name)
        batch.polls += 1
        self.polled(batch)
        return batch, batch.polls >= self.polls

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(JsonHandler):
            def do_GET(self) -> None:  # noqa: N802
                self._serve("GET")

            def do_POST(self) -> None:  # noqa: N802
                self._serve("POST")

            def _serve(self, method: str) -> None:
                body = self.read_body()
                path = self.path.partition("?")[0]
                name = f"{method} {path.rsplit('/', 1)[-1]}"
                server.log.append(f"{method} {self.path}")
                server.headers.append({k.lower(): v for k, v in self.headers.items()})
                server.asked(name)
                ordered = server.faults.get(name) or []
                fault = ordered.pop(0) if ordered else None
                if fault is None or fault.after:
                    with server.lock:
                        kind = self.headers.get("Content-Type", "")
                        status, answer = server.route(method, self.path, body, kind)
                if fault is not None:
                    self._fail(fault)
                elif isinstance(answer, bytes):
                    self.send(status, answer, {"Content-Type": "application/octet-stream"})
                else:
                    self.send_json(status, json.dumps(answer), {})

            def _fail(self, fault: Fault) -> None:
                if fault.status is None:
                    self.close_connection = True
                    return
                error = json.dumps({"error": {"message": "ordered", "type": "error"}})
                self.send_json(fault.status, error, fault.headers)

        return Handler


def lines(rows: list[Row]) -> bytes:
    """Rows as a file of lines."""
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
