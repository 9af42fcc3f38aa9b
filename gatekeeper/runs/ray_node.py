"""The models of one node of a Ray cluster, in a process of its own on that node.

It has the node's environment: its keys and addresses never leave it. Whatever goes back to the
process that runs the gate comes without the secrets of the node, as bytes of JSON: it unpickles
nothing that a node sends.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from gatekeeper import __version__
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed, GatekeeperError
from gatekeeper.providers import ModelRouter
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.sampling.completion_record import completion_record, read_completion


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
        given = asdict(self)
        message, _ = given.pop("message"), given.pop("unexpected")
        return CallFailed(message, **given)


def as_data(value: Any) -> bytes:
    """Return a value as JSON. Ray sends bytes as they are, and pickles anything else."""
    return json.dumps(value).encode()


def answer_as_data(answer: Completion | NodeFailure) -> bytes:
    """Return the answer to a request as JSON."""
    if isinstance(answer, NodeFailure):
        return as_data({"failure": asdict(answer)})
    return as_data({"completion": completion_record(answer), "pause": answer.pause})


def read_answer(found: Any) -> Completion | NodeFailure:
    """Read what `answer_as_data` wrote. Raises TypeError, ValueError or KeyError for anything
    else."""
    if "failure" in found:
        given = dict(found["failure"])
        message, after = given.pop("message"), given.pop("retry_after")
        if after is not None and (isinstance(after, bool) or not 0 <= after < 1e9):
            raise TypeError("not a pause")
        return NodeFailure(
            str(message), retry_after=after, **{k: v is True for k, v in given.items()}
        )
    pause = found["pause"]
    if pause is not None and (isinstance(pause, bool) or not 0 <= pause < 1e9):
        raise TypeError("not a pause")
    return replace(read_completion(found["completion"]), pause=pause)


class NodeModels:
    """Answers requests on a node. Embedded models are loaded once, with the first request."""

    def __init__(self, through_litellm: Collection[str]) -> None:
        self._models = ModelRouter(_no_recording, through_litellm=through_litellm)
        self._redact = environment_redactor()

    async def version(self) -> bytes:
        """Return the version of gatekeeper on this node."""
        return as_data(__version__)

    async def slots(self, model: str) -> bytes:
        """Return how many requests to the model make sense at once on this node."""
        return as_data(self._models.slots(model))

    async def can_stream(self, request: Request) -> bytes:
        """Return whether the answer can come token by token."""
        return as_data(self._models.can_stream(request))

    async def find_missing_key(self, models: Sequence[str]) -> bytes:
        """Say which model cannot be asked from this node for want of a key; None if all can."""
        try:
            await self._models.require_keys(models)
        except GatekeeperError as error:
            return as_data(self._redact.text(str(error)))
        return as_data(None)

    async def complete(self, request: Request) -> bytes:
        """Answer the request, or say why there is no answer."""
        return answer_as_data(await self._answer(request))

    async def _answer(self, request: Request) -> Completion | NodeFailure:
        try:
            return self._redact.value(await self._models.complete(request))
        except CallFailed as error:
            known = NodeFailure.__dataclass_fields__
            given = {name: value for name, value in vars(error).items() if name in known}
            return NodeFailure(self._redact.text(str(error)), **given)
        except Exception:
            text = self._redact.text(traceback.format_exc().rstrip())
            return NodeFailure(text, billable=True, unexpected=True)


def _no_recording(path: str) -> bytes:
    raise FileNotFoundError(path)  # recordings are answered where the gate runs
