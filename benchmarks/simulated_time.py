"""An event loop in which waiting takes no time, for simulations of runs that take minutes."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any


class _Selector(selectors.DefaultSelector):
    """Finds nothing, and lets the time pass that it was to wait."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        self.now += timeout or 0.0
        return []


class SimulatedLoop(asyncio.SelectorEventLoop):
    """An event loop whose sleeps take no time."""

    def __init__(self) -> None:
        self.simulated = _Selector()
        super().__init__(self.simulated)

    def time(self) -> float:
        return self.simulated.now
