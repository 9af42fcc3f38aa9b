"""One setting of a sweep with its measurements."""

from __future__ import annotations

from dataclasses import dataclass

from gatekeeper.gate.results.result import ArmResult
from gatekeeper.gate.sweep.grid import Setting


@dataclass(frozen=True, slots=True)
class Cell:
    """A setting and its measurements. `tokens_per_call` counts prompt and answer. `seeds` are those
    of the requests, in order; empty if no seed was sent."""

    setting: Setting
    arm: ArmResult
    tokens_per_call: float | None
    seeds: tuple[int, ...] = ()
