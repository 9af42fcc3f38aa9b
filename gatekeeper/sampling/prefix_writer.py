"""Lets one call write a prefix to the provider's cache before others read it.

A provider can read a prefix only after the answer of the call that wrote it has begun. Calls that
start at the same time would each write it, and writing is dearer than reading anew.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request
from gatekeeper.errors import CallFailed
from gatekeeper.sampling.client import CachingClient, ModelClient

_Prefix = tuple[str, tuple[Message, ...]]

KEPT_SECONDS = 300
"""How long a provider keeps a prefix after its last use: five minutes at Anthropic."""

_FAILURES = 2
"""After this many failed writers, calls stop waiting. If a provider does not answer at all, calls
that wait for each other would take much longer to fail."""


class PrefixWriter:
    """Holds back calls whose prefix another call is writing."""

    def __init__(self, client: ModelClient, clock: Callable[[], float]) -> None:
        self._client = client if isinstance(client, CachingClient) else None
        self._clock = clock
        self._kept_until: dict[_Prefix, float] = {}
        self._writing: dict[_Prefix, asyncio.Event] = {}
        self._failed: Counter[_Prefix] = Counter()

    @asynccontextmanager
    async def turn(self, request: Request) -> AsyncIterator[None]:
        """Wait while another call writes the request's prefix. A prefix that no call has used for
        `KEPT_SECONDS` is written again. If the writing call fails, the next writes it; after
        `_FAILURES` of them, nobody waits any more. A refusal because of load is no failure here:
        `ModelPace` slows down for it."""
        prefix = self._prefix(request)
        while prefix is not None and prefix in self._writing:
            await self._writing[prefix].wait()
        if prefix is None:
            yield
            return
        if self._clock() < self._kept_until.get(prefix, -math.inf):
            self._use(prefix)
            yield
            return
        ended = self._writing[prefix] = asyncio.Event()
        try:
            yield
            self._use(prefix)
        except CallFailed as failure:
            self._failed[prefix] += not failure.throttled
            if self._failed[prefix] >= _FAILURES:
                self._kept_until[prefix] = math.inf
            raise
        finally:
            del self._writing[prefix]
            ended.set()

    def _use(self, prefix: _Prefix) -> None:
        until = self._clock() + KEPT_SECONDS
        self._kept_until[prefix] = max(until, self._kept_until.get(prefix, until))

    def _prefix(self, request: Request) -> _Prefix | None:
        shared = request.shared_prefix
        if shared is None or self._client is None or not self._client.is_cached(request):
            return None
        return request.model, request.messages[: shared.messages]
