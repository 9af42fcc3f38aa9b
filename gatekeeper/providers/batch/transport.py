"""Sends the requests of a batch interface: with retries, and results read line by line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from gatekeeper.errors import CallFailed
from gatekeeper.providers.batch.api import SubmissionLost, read_id
from gatekeeper.providers.failures import call_failed
from gatekeeper.providers.hosted import ProviderError, error_text
from gatekeeper.providers.http.http_client import Exchange, HttpClient
from gatekeeper.providers.http.response_body import (
    MAX_BYTES,
    MAX_VALUES,
    UnreadableAnswer,
    UnreadableBody,
)
from gatekeeper.providers.models.endpoint import Endpoint
from gatekeeper.providers.native.endings import read_document
from gatekeeper.sampling.retries import Sleep

_TRIES = 8
_LONGEST_WAIT_SECONDS = 60.0
_JSON = "application/json"
_SHORTEST_SECRET = 8
"""Shorter keys stand in for one where a server asks for none, and can stand in any text."""

OnRow = Callable[[Mapping[str, Any]], None]


class BatchTransport:
    """Asks one address with one key. Refuses other hosts and redirects, as for single requests."""

    def __init__(
        self, http: HttpClient, endpoint: Endpoint, headers: Mapping[str, str], sleep: Sleep
    ) -> None:
        self._http = http
        self._endpoint = endpoint
        self._headers = headers
        self._sleep = sleep

    async def get(self, url: str) -> Mapping[str, Any]:
        """Return the document at the address. Raises CallFailed."""
        return await self._document("GET", url, b"", _JSON)

    async def post(self, url: str, body: bytes, content_type: str = _JSON) -> Mapping[str, Any]:
        """Send what may be sent twice, and return the answer. Raises CallFailed."""
        return await self._document("POST", url, body, content_type)

    async def create(self, url: str, body: bytes) -> Mapping[str, Any]:
        """Send what must not be sent twice, and return the answer. Raises CallFailed, and
        SubmissionLost if the provider may have accepted it."""
        return await self._document("POST", url, body, _JSON, once=True)

    async def read_rows(self, url: str, on_row: OnRow) -> None:
        """Hand over each JSON object of a file of lines as it comes in. After a lost connection the
        file is read again from its beginning. Raises CallFailed."""
        await self._retried("GET", url, b"", _JSON, sink=lambda: RowReader(on_row).feed)

    def read_id(self, created: Mapping[str, Any]) -> str:
        """Return the id of what was created. Raises CallFailed for what is none, and for one that
        repeats the key: it would be in files and messages."""
        found, key = read_id(created.get("id")), self._endpoint.api_key
        if key and len(key) >= _SHORTEST_SECRET and key in found:
            raise CallFailed(
                "the provider's answer contains an id that includes the API key", billable=True
            )
        return found

    async def _document(
        self, method: str, url: str, body: bytes, content_type: str, *, once: bool = False
    ) -> Mapping[str, Any]:
        exchange = await self._retried(method, url, body, content_type, once=once)
        found = read_document(exchange.body)
        if isinstance(found, Mapping):
            return found
        failure = call_failed(self._name, UnreadableAnswer("no JSON object"), exchange)
        raise SubmissionLost(failure) if once else failure

    async def _retried(
        self,
        method: str,
        url: str,
        body: bytes,
        content_type: str,
        *,
        once: bool = False,
        sink: Callable[[], Callable[[bytes], None]] | None = None,
    ) -> Exchange:
        for attempt in range(_TRIES):
            exchange = Exchange(self._endpoint, sink=sink() if sink else None)
            failure = await self._send(method, url, body, content_type, exchange)
            if failure is None:
                return exchange
            if once and failure.billable:
                raise SubmissionLost(failure)
            if failure.fatal or not failure.retryable or attempt == _TRIES - 1:
                raise failure
            asked = failure.retry_after
            wait = 2.0**attempt if asked is None else asked
            await self._sleep(min(wait, _LONGEST_WAIT_SECONDS))
        raise AssertionError("unreachable")

    async def _send(
        self, method: str, url: str, body: bytes, content_type: str, exchange: Exchange
    ) -> CallFailed | None:
        headers = {
            **self._headers,
            "Accept": _JSON,
            "Content-Type": content_type,
            "User-Agent": "gatekeeper",
        }
        try:
            await self._http.send(method, url, headers.items(), body, exchange)
            if exchange.status is not None and exchange.status >= 400:
                raise ProviderError(error_text(exchange.body))
        except Exception as error:
            return call_failed(self._name, error, exchange)
        return None

    @property
    def _name(self) -> str:
        return f"{self._endpoint.model} in a batch"


class RowReader:
    """Cuts a file of lines into JSON objects; skips lines that are none."""

    def __init__(self, on_row: OnRow) -> None:
        self._on_row = on_row
        self._rest: list[bytes] = []
        self._size = 0

    def feed(self, part: bytes) -> None:
        """Add the next bytes; none at the end of the file. Raises UnreadableBody for a line that is
        too long."""
        *whole, rest = part.split(b"\n")
        for end in whole:
            self._keep(end)
            line, self._rest, self._size = b"".join(self._rest), [], 0
            self._read(line)
        self._keep(rest)
        if not part:
            self._read(b"".join(self._rest))

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > MAX_BYTES:
            raise UnreadableBody(f"a result is larger than {MAX_BYTES:,} bytes")
        self._rest.append(part)

    def _read(self, line: bytes) -> None:
        if line.count(b"{") + line.count(b"[") > MAX_VALUES:
            return  # each takes a hundred times its two bytes in memory
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            return
        if isinstance(row, Mapping):
            self._on_row(row)
