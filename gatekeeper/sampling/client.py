"""The one seam between the gate and a model."""

from __future__ import annotations

from typing import Protocol

from gatekeeper.contract.trial import Completion, Request


class ModelClient(Protocol):
    """Anything that can answer one request."""

    async def complete(self, request: Request) -> Completion:
        """Answer the request. Raises CallFailed where no answer could be had."""
        ...

    async def aclose(self) -> None:
        """Let go of connections and memory. Safe to call twice."""
        ...
