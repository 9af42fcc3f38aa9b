"""Says how far the batches are that a run waits for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gatekeeper.numbers import count


@dataclass(slots=True)
class _Open:
    requests: int
    done: int | None = None


class BatchWait:
    """The batches that have not ended. `on_change` gets a text for people at each poll, empty once
    no batch is waited for."""

    def __init__(self) -> None:
        self.on_change: Callable[[str], object] = lambda _: None
        self._open: dict[str, _Open] = {}

    def saw(self, batch: str, requests: int, done: int | None = None) -> None:
        """Note how many of the batch's requests are done; None is not known."""
        self._open[batch] = _Open(requests, done)
        self.on_change(self._text())

    def ended(self, batch: str) -> None:
        """Note that the batch is no longer waited for."""
        if self._open.pop(batch, None):
            self.on_change(self._text())

    def _text(self) -> str:
        if not self._open:
            return ""
        requests = sum(each.requests for each in self._open.values())
        known = [each.done for each in self._open.values() if each.done is not None]
        said = f"waiting for {count(len(self._open), 'batch', 'batches')}"
        if known:
            return f"{said}, {sum(known):,} of {count(requests, 'request')} done"
        return f"{said} of {count(requests, 'request')}"
