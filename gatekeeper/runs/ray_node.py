"""The models of one node of a Ray cluster, in a process of its own on that node.

It has the node's environment: its keys and addresses never leave it. Whatever goes back to the
process that runs the gate comes without the node's secrets.
"""

from __future__ import annotations

import traceback
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gatekeeper import __version__
from gatekeeper.contract.trial import Completion, Request
from gatekeeper.errors import CallFailed, GatekeeperError
from gatekeeper.providers import ModelRouter
from gatekeeper.reports.redact import environment_redactor


@dataclass(frozen=True, slots=True)
class NodeFailure:
    """Why a node has no answer: the fields of CallFailed. `unexpected` says that it was no failed
    call, but an error that nobody foresaw."""

    message: str
    retryable: bool = False
    retry_after: float | None = None
    fatal: bool = False
    author: bool = False
    billable: bool = False
    throttled: bool = False
    unexpected: bool = False

    def as_error(self) -> CallFailed:
        """Return the error that the node's client raised."""
        return CallFailed(
            self.message,
            retryable=self.retryable,
            retry_after=self.retry_after,
            fatal=self.fatal,
            author=self.author,
            billable=self.billable,
            throttled=self.throttled,
        )


class NodeModels:
    """Answers requests on a node. Embedded models are loaded once, with the first request."""

    def __init__(self, through_litellm: Collection[str]) -> None:
        self._models = ModelRouter(_no_recording, through_litellm=through_litellm)
        self._redact = environment_redactor()

    async def version(self) -> str:
        """Return the version of gatekeeper on this node."""
        return __version__

    async def slots(self, model: str) -> int | None:
        """Return how many requests to the model make sense at once on this node."""
        return self._models.slots(model)

    async def can_stream(self, request: Request) -> bool:
        """Return whether the answer can come token by token."""
        return self._models.can_stream(request)

    async def find_missing_key(self, models: Sequence[str]) -> str | None:
        """Say which model cannot be asked from this node for want of a key; None if all can."""
        try:
            await self._models.require_keys(models)
        except GatekeeperError as error:
            return self._redact.text(str(error))
        return None

    async def complete(self, request: Request) -> Completion | NodeFailure:
        """Answer the request, or say why there is no answer."""
        try:
            return self._redact.value(await self._models.complete(request))
        except CallFailed as error:
            return NodeFailure(
                self._redact.text(str(error)),
                retryable=error.retryable,
                retry_after=error.retry_after,
                fatal=error.fatal,
                author=error.author,
                billable=error.billable,
                throttled=error.throttled,
            )
        except Exception:
            text = self._redact.text(traceback.format_exc().rstrip())
            return NodeFailure(text, billable=True, unexpected=True)


def _no_recording(path: str) -> bytes:
    raise FileNotFoundError(path)  # recordings are answered where the gate runs
