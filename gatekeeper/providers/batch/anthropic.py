"""Anthropic's batches. https://docs.anthropic.com/en/docs/build-with-claude/batch-processing"""

from __future__ import annotations

import json
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

# https://docs.anthropic.com/en/api/errors
_STATUS: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_UNKNOWN_ERROR = 500
_DONE = ("succeeded", "errored", "canceled", "expired")
"""How a request ends. The provider counts none of them before the whole batch has ended."""


class AnthropicBatches:
    """See `BatchApi`. A batch carries nothing by which it could be found again."""

    def __init__(self, transport: BatchTransport, url: str) -> None:
        """`url` is where a single request goes."""
        self._transport = transport
        self._url = f"{url}/batches"

    async def submit(self, items: Sequence[BatchItem], key: str) -> str:  # noqa: ARG002
        rows = (
            b'{"custom_id":' + json.dumps(item.name).encode() + b',"params":' + item.body + b"}"
            for item in items
        )
        created = await self._transport.create(
            self._url, b'{"requests":[' + b",".join(rows) + b"]}"
        )
        return self._transport.read_id(created)

    async def find(self, key: str) -> str | None:  # noqa: ARG002
        raise BatchUnknown

    async def state(self, batch: str) -> BatchState:
        found = await self._transport.get(f"{self._url}/{quote_id(batch)}")
        status, place = found.get("processing_status"), found.get("results_url")
        if status in ("in_progress", "canceling"):
            return BatchState(False, done=count_done(found, *_DONE) or None)
        if status != "ended" or not isinstance(place, str):
            raise unknown_status(batch, status)
        return BatchState(True, (place,))

    def read_result(self, row: Mapping[str, Any]) -> ItemResult | None:
        name, result = row.get("custom_id"), row.get("result")
        if not isinstance(name, str) or not isinstance(result, Mapping):
            return None
        kind = str(result.get("type"))
        if kind == "succeeded":
            return ItemResult(name, 200, result.get("message"))
        if kind == "errored":
            body = result.get("error")
            error = body.get("error") if isinstance(body, Mapping) else None
            error_type = str(error.get("type")) if isinstance(error, Mapping) else ""
            return ItemResult(name, _STATUS.get(error_type, _UNKNOWN_ERROR), body)
        return ItemResult(name, fault=kind[:40], retryable=kind != "canceled")

    def how_to_cancel(self, batch: str) -> str:
        return f"POST {self._url}/{quote_id(batch)}/cancel"
