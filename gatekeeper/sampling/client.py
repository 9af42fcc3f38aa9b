"""The one seam between the gate and a model."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from gatekeeper.contract.values.trial import Completion, Request


class AnswerMissing(Exception):
    """The request has no answer and none can be requested, so the run cannot go on. The
    message says what to do."""


class ModelClient(Protocol):
    """Anything that can answer one request."""

    async def complete(self, request: Request) -> Completion:
        """Answer the request. Raises CallFailed if there is no answer."""
        ...

    async def aclose(self) -> None:
        """Let go of connections and memory. Safe to call twice."""
        ...


@runtime_checkable
class LimitedClient(Protocol):
    """A client that can say how many requests to a model make sense at the same time.

    The runner then keeps the others waiting outside of the request's time limit.
    """

    def slots(self, model: str) -> int | None:
        """Return how many requests the model takes at once; None if the client sets no limit."""
        ...


@runtime_checkable
class StreamingClient(Protocol):
    """A client that times the first token of some answers, and not of others."""

    def can_stream(self, request: Request) -> bool:
        """Return whether the answer can come token by token."""
        ...


@runtime_checkable
class CachingClient(Protocol):
    """A client that marks prompts for the provider's cache."""

    def is_cached(self, request: Request) -> bool:
        """Return whether the messages that the request shares with others are kept, so that a
        later request reads them at a lower price."""
        ...


@runtime_checkable
class KeyedClient(Protocol):
    """A client whose models are opened by keys."""

    async def require_key(self, model: str) -> None:
        """Refuse a model whose key is missing, before anything is sent. Raises UsageError."""
        ...
