"""Continues a run that failed: what its model answered already is not asked again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed, UsageError
from gatekeeper.runs.unfinished import read_own_file

if TYPE_CHECKING:
    from gatekeeper.providers import ModelRouter


class ResumedClient:
    """Answers from the recording of an earlier run, and asks the models what it does not hold.

    `earlier` is the recording, whole lines of it. Raises UsageError if it cannot be read.
    """

    def __init__(self, path: Path, models: ModelRouter) -> None:
        from gatekeeper.providers.recorded import ReplayClient

        try:
            content = read_own_file(path)
        except OSError as error:
            raise UsageError(
                f"--resume: {path} cannot be read: {error.strerror or error}; run the command "
                "without --resume, or name the folder of the answers with --out"
            ) from error
        self.earlier = _earlier(content.decode("utf-8", "replace"))
        self._recorded = ReplayClient(lambda _: self.earlier.encode(errors="replace"), str(path))
        self._models = models
        self._forgotten: set[str] = set()

    async def complete(self, request: Request) -> Completion:
        """Answer from the recording, else ask. Raises CallFailed."""
        if _key(request) not in self._forgotten:
            try:
                return await self._recorded.complete(request)
            except CallFailed as failure:
                if failure.fatal:
                    raise  # the file is no recording
        return await self._models.complete(request)

    def forget(self, request: Request) -> None:
        """Ask the model next time, because the recorded answer cannot be used."""
        self._forgotten.add(_key(request))

    def joined(self, recording: str) -> str:
        """Return a recording with the earlier answers that it does not have."""
        return _joined(self.earlier + recording)

    async def require_key(self, model: str) -> None:
        """Refuse a model whose key is missing. Raises UsageError."""
        await self._models.require_keys((model,))

    def slots(self, model: str) -> int | None:
        """Return how many requests the model takes at once; None: any number."""
        return self._models.slots(model)

    async def aclose(self) -> None:
        """Close the client of the models."""
        await self._models.aclose()


def _earlier(text: str) -> str:
    """Return the answers of a file, each request once. A killed process may have left the last line
    without its end. If the file is no recording, replaying it says why."""
    whole, _, last = text.rpartition("\n")
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        text = f"{whole}\n"
    try:
        return _joined(text)
    except (AttributeError, TypeError, ValueError, RecursionError):
        return text


def _joined(text: str) -> str:
    """Return a recording with one answer to each request: the last one."""
    lines = (line for line in text.split("\n") if line.strip())
    rows = {_place(row): row for row in map(json.loads, lines)}
    every = (rows[place] for place in sorted(rows))
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in every)


def _key(request: Request) -> str:
    digest = request_digest(request.messages, request.params)
    return f"{digest} {request.model} {request.repetition}"


def _place(row: Mapping[str, Any]) -> tuple[str, str, int]:
    named = f"{row.get('request')} {row.get('model')}"
    return str(row.get("stage")), named, int(row.get("repetition", 0))
