"""A real HTTP server on 127.0.0.1 that speaks Anthropic's message batches.

with AnthropicBatchServer(lambda body: "positive") as server:
    ...  # ANTHROPIC_API_BASE=server.url
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from support.batch_server import BatchServer, Row, Submitted, lines
from support.native_clients import messages


def succeeded(name: str, document: Any) -> Row:
    """A line of the results."""
    return {"custom_id": name, "result": {"type": "succeeded", "message": document}}


def errored(name: str, kind: str = "api_error", message: str = "Overloaded") -> Row:
    error = {"type": "error", "error": {"type": kind, "message": message}}
    return {"custom_id": name, "result": {"type": "errored", "error": error}}


def unanswered(name: str, kind: str = "expired") -> Row:
    return {"custom_id": name, "result": {"type": kind}}


class AnthropicBatchServer(BatchServer):
    """`results_url`, if set, is named as the place of all results."""

    def __init__(self, answer: Callable[[Any], str]) -> None:
        def row(name: str, body: Any) -> Row:
            text = {"type": "text", "text": answer(body)}
            return succeeded(name, messages(text, model=body["model"]))

        super().__init__(lambda batch: [row(name, b) for name, b in batch.requests.items()])
        self.results_url: str | None = None

    def route(self, method: str, path: str, body: bytes, kind: str) -> tuple[int, Any]:
        match method, path.strip("/").split("/")[2:]:
            case "POST", ["batches"]:
                return 200, self._create(json.loads(body))
            case "GET", ["batches", name]:
                batch, ended = self.poll(name)
                return 200, self._shown(batch, ended=ended)
            case "GET", ["batches", name, "results"]:
                return 200, lines(self.rows(self.find(name)))
        error = {"type": "not_found_error", "message": f"no {path} of {kind}"}
        return 404, {"type": "error", "error": error}

    def _create(self, asked: Any) -> Any:
        requests = {row["custom_id"]: row["params"] for row in asked["requests"]}
        assert len(requests) == len(asked["requests"])
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in requests)
        name = self.name_batch(f"msgbatch_{len(self.batches)}")
        self.batches.append(Submitted(name, requests))
        return self._shown(self.batches[-1])

    def _shown(self, batch: Submitted, *, ended: bool = False) -> Any:
        place = self.results_url or f"{self.url}/v1/messages/batches/{batch.id}/results"
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "results_url": place if ended else None,
        }
