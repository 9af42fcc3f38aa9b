"""OpenAI's batches. https://platform.openai.com/docs/guides/batch"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from gatekeeper.providers.batch.api import (
    BatchItem,
    BatchState,
    BatchUnknown,
    ItemResult,
    count_done,
    quote_id,
    unknown_status,
)
from gatekeeper.providers.batch.transport import BatchTransport

_ENDPOINTS = ("/chat/completions", "/responses")
_KEY = "gatekeeper"
_PAGE = 100
_MOST_PAGES = 20
_ENDED = frozenset({"completed", "expired", "cancelled"})
_GOING_ON = frozenset({"validating", "in_progress", "finalizing", "cancelling"})


class OpenAIBatches:
    """See `BatchApi`. A batch carries its key as metadata, by which it is found again."""

    def __init__(self, transport: BatchTransport, url: str) -> None:
        """`url` is where a single request goes."""
        self._transport = transport
        endpoint = next(path for path in _ENDPOINTS if url.endswith(path))
        self._endpoint, self._base = f"/v1{endpoint}", url.removesuffix(endpoint)

    async def submit(self, items: Sequence[BatchItem], key: str) -> str:
        boundary = secrets.token_hex(16)
        body = _form(boundary, b"".join(self._line(item) for item in items))
        kind = f"multipart/form-data; boundary={boundary}"
        created = await self._transport.post(f"{self._base}/files", body, kind)
        asked = {
            "input_file_id": self._transport.read_id(created),
            "endpoint": self._endpoint,
            "completion_window": "24h",
            "metadata": {_KEY: key},
        }
        created = await self._transport.create(f"{self._base}/batches", json.dumps(asked).encode())
        return self._transport.read_id(created)

    async def find(self, key: str) -> str | None:
        after = ""
        for _ in range(_MOST_PAGES):
            page = await self._transport.get(f"{self._base}/batches?limit={_PAGE}{after}")
            batches = page.get("data")
            if not isinstance(batches, list) or not all(isinstance(b, Mapping) for b in batches):
                break
            for batch in batches:
                metadata = batch.get("metadata")
                if isinstance(metadata, Mapping) and metadata.get(_KEY) == key:
                    return self._transport.read_id(batch)
            if not batches or not page.get("has_more"):
                return None
            after = f"&after={quote_id(batches[-1].get('id'))}"
        raise BatchUnknown

    async def state(self, batch: str) -> BatchState:
        found = await self._transport.get(f"{self._base}/batches/{quote_id(batch)}")
        status = found.get("status")
        if status == "failed":
            return BatchState(True, fault=_faults(found))
        if status not in _ENDED:
            if status in _GOING_ON:
                return BatchState(False, done=count_done(found, "completed", "failed"))
            raise unknown_status(batch, status)
        files = (found.get("output_file_id"), found.get("error_file_id"))
        places = (f"{self._base}/files/{quote_id(file)}/content" for file in files if file)
        return BatchState(True, tuple(places))

    def read_result(self, row: Mapping[str, Any]) -> ItemResult | None:
        name, response, error = (row.get(k) for k in ("custom_id", "response", "error"))
        if not isinstance(name, str):
            return None
        status = response.get("status_code") if isinstance(response, Mapping) else None
        if isinstance(response, Mapping) and isinstance(status, int):
            return ItemResult(name, status, response.get("body"))
        fields = error if isinstance(error, Mapping) else {}
        code = str(fields.get("code"))
        said = f"{code}: {fields.get('message')}"
        return ItemResult(name, fault=said, retryable=code != "batch_cancelled")

    def how_to_cancel(self, batch: str) -> str:
        return f"POST {self._base}/batches/{quote_id(batch)}/cancel"

    def _line(self, item: BatchItem) -> bytes:
        head = {"custom_id": item.name, "method": "POST", "url": self._endpoint}
        return json.dumps(head).encode()[:-1] + b',"body":' + item.body + b"}\n"


def _form(boundary: str, content: bytes) -> bytes:
    """Return a form with the file of requests and what it is for."""
    mark = f"--{boundary}".encode()
    disposition = b"Content-Disposition: form-data; "
    return b"\r\n".join(
        [
            mark,
            disposition + b'name="purpose"',
            b"",
            b"batch",
            mark,
            disposition + b'name="file"; filename="requests.jsonl"',
            b"Content-Type: application/jsonl",
            b"",
            content,
            mark + b"--",
            b"",
        ]
    )


def _faults(found: Mapping[str, Any]) -> str:
    errors = found.get("errors")
    rows = errors.get("data") if isinstance(errors, Mapping) else None
    said = [str(e.get("message")) for e in rows or () if isinstance(e, Mapping)]
    return said[0][:300] if said else "no reason given"
