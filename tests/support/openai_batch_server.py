"""A real HTTP server on 127.0.0.1 that speaks OpenAI's files and batches.

with OpenAIBatchServer(lambda body: "positive") as server:
    ...  # OPENAI_BASE_URL=server.base
"""

from __future__ import annotations

import json
from collections.abc import Callable
from email import message_from_bytes
from typing import Any

from support.batch_server import BatchServer, Row, Submitted, lines
from support.native_clients import chat, response, spoken


def answered(name: str, document: Any, status: int = 200) -> Row:
    """A line of the results."""
    response = {"status_code": status, "request_id": "r", "body": document}
    return {"id": "batch_req_1", "custom_id": name, "response": response, "error": None}


def unanswered(name: str, code: str = "batch_expired") -> Row:
    error = {"code": code, "message": "This request could not be executed."}
    return {"id": "batch_req_1", "custom_id": name, "response": None, "error": error}


def _document(answer: Callable[[Any], str], body: Any) -> dict[str, Any]:
    """The answer to a request of the API that the request is for."""
    if "input" not in body:
        return chat(answer(body), model=body["model"])
    asked = [{"content": item["content"][0]["text"]} for item in body["input"]]
    return response(spoken(answer({"messages": asked})), model=body["model"])


class OpenAIBatchServer(BatchServer):
    """`status` is the one in which batches end. `shown_list` is an answer in place of the list of
    batches, `output_file` the name of a file in place of the one with the answers."""

    def __init__(self, answer: Callable[[Any], str]) -> None:
        super().__init__(
            lambda batch: [
                answered(name, _document(answer, body)) for name, body in batch.requests.items()
            ]
        )
        self.status = "completed"
        self.files: dict[str, bytes] = {}
        self.shown_list: Any = None
        self.output_file: Any = None
        self.base = f"{self.url}/v1"

    def route(self, method: str, path: str, body: bytes, kind: str) -> tuple[int, Any]:
        parts = path.partition("?")[0].strip("/").split("/")
        match method, parts[1:]:
            case "POST", ["files"]:
                return 200, {"id": self._keep(body, kind), "object": "file"}
            case "POST", ["batches"]:
                return 200, self._create(json.loads(body))
            case "GET", ["batches"] if self.shown_list is not None:
                return 200, self.shown_list
            case "GET", ["batches"]:
                return 200, {"data": [self._shown(b) for b in self.batches], "has_more": False}
            case "GET", ["batches", name]:
                batch, ended = self.poll(name)
                return 200, self._shown(batch, ended=ended)
            case "GET", ["files", name, "content"]:
                found = self.files.get(name)
                return (404, {}) if found is None else (200, found)
        return 404, {"error": {"message": f"no {path}"}}

    def _keep(self, body: bytes, kind: str) -> str:
        form = message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
        purpose, file = form.get_payload()
        assert purpose.get_payload() == "batch"
        name = f"file-{len(self.files)}"
        self.files[name] = file.get_payload(decode=True)
        return name

    def _create(self, asked: Any) -> Any:
        assert asked["completion_window"] == "24h"
        rows = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        assert {(row["method"], row["url"]) for row in rows} == {("POST", asked["endpoint"])}
        for row in rows:
            here = "responses" if "input" in row["body"] else "chat/completions"
            assert row["url"] == f"/v1/{here}"
        requests = {row["custom_id"]: row["body"] for row in rows}
        assert len(requests) == len(rows)
        assert len({body["model"] for body in requests.values()}) == 1
        name = self.name_batch(f"batch_{len(self.batches)}")
        self.batches.append(Submitted(name, requests, asked["metadata"]))
        return self._shown(self.batches[-1])

    def _shown(self, batch: Submitted, *, ended: bool = False) -> Any:
        shown = {"id": batch.id, "object": "batch", "metadata": batch.metadata}
        if not ended:
            done = min(batch.polls, len(batch.requests))
            counts = {"total": len(batch.requests), "completed": done, "failed": 0}
            return {**shown, "status": "in_progress", "request_counts": counts}
        if self.status == "failed":
            errors = {"data": [{"code": "token_limit", "message": "Enqueued token limit reached"}]}
            return {**shown, "status": "failed", "errors": errors}
        rows = self.rows(batch)
        good = [row for row in rows if row["response"]]
        for kind, part in (("output", good), ("error", [r for r in rows if r not in good])):
            if part:
                self.files[f"{kind}-{batch.id}"] = lines(part)
                shown[f"{kind}_file_id"] = f"{kind}-{batch.id}"
        if self.output_file is not None:
            shown["output_file_id"] = self.output_file
        return {**shown, "status": self.status}
