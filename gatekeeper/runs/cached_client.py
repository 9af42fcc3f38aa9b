"""Answers requests that belong to no contract from the sample cache, such as those of `generate`.

The answers of a run that failed are not kept: one that could not be used would end the next run,
too.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gatekeeper.reports.redact import redactor
from gatekeeper.reports.secrets import secrets_in
from gatekeeper.sampling.cache import answer_entry, recall_answer

if TYPE_CHECKING:
    from pathlib import Path

    from gatekeeper.contract.values.trial import Completion, Request
    from gatekeeper.providers import ModelRouter
    from gatekeeper.runs.sample_cache import SampleCache


class CachedClient:
    """Answers from the cache, and asks the models what it does not hold."""

    def __init__(self, path: Path, models: ModelRouter) -> None:
        from gatekeeper.runs.sample_cache import SampleCache

        self._cache: SampleCache = SampleCache.of_file(path)
        self._models = models
        self._new: list[tuple[Request, Completion]] = []

    async def complete(self, request: Request) -> Completion:
        """Answer from the cache, else ask. Raises CallFailed."""
        known = recall_answer(request, self._cache.entries)
        if known is not None:
            return known
        answer = await self._models.complete(request)
        self._new.append((request, answer))
        return answer

    def keep(self) -> tuple[str, ...]:
        """Add the new answers to the cache, without those that were cut or repeat a secret. Returns
        notices about the cache."""
        now = datetime.now(UTC)
        redact = redactor(secrets_in(os.environ))
        sound = [
            (request, answer)
            for request, answer in self._new
            if answer.cut is None and redact.value(answer) == answer
        ]
        new = {entry.plan: entry for entry in (answer_entry(*pair, now) for pair in sound)}
        return (*self._cache.notices, *self._cache.add([*new.values()], now))

    async def require_key(self, model: str) -> None:
        """Refuse a model whose key is missing. Raises UsageError."""
        await self._models.require_keys((model,))

    def slots(self, model: str) -> int | None:
        """Return how many requests the model takes at once; None: any number."""
        return self._models.slots(model)

    async def aclose(self) -> None:
        """Close the client of the models."""
        await self._models.aclose()
