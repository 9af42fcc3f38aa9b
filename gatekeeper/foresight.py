"""What a comparison could see before a single sample is drawn, from its number of inputs alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gatekeeper.evidence.job import Judging
from gatekeeper.stats.power import fixtures_needed, minimum_detectable_effect


@dataclass(frozen=True, slots=True)
class Foresight:
    """`inputs` distinct inputs are compared at `level`. Shares in [0, 1].

    `minimum_detectable_effect` is the smallest drop found with probability 0.8 where fixtures do
    not flicker, which no number of samples betters; None where none is. `fixtures_needed` is how
    many fixtures find one of `margin`; None where no number does.
    """

    name: str
    inputs: int
    level: float
    margin: float
    minimum_detectable_effect: float | None
    fixtures_needed: int | None

    @property
    def warning(self) -> str | None:
        """What to do about a contract that cannot see the drop it says is worth blocking."""
        seen = self.minimum_detectable_effect
        if seen is not None and seen <= self.margin:
            return None
        # Rounded up: what is advised must be enough.
        percent = None if seen is None else math.ceil(round(seen * 100, 6))
        shown = "no drop at all" if percent is None else f"a drop of {_points(percent)} at best"
        advice = []
        if self.fixtures_needed is not None:
            advice.append(f"{self.fixtures_needed:,} fixtures would do")
        if percent is not None and percent < 100:
            advice.append(f"set gate.margin to {percent / 100:.2g}")
        noun = "distinct fixture" if self.inputs == 1 else "distinct fixtures"
        return (
            f"{self.name}: {self.inputs:,} {noun} can show {shown}, "
            f"its margin is {self.margin * 100:.3g}; {', or '.join(advice) or 'add fixtures'}"
        )


def foresee(judging: Judging, level: float | None = None) -> Foresight:
    """What the judging could see, were its arms compared at `level`: alpha, unless other
    comparisons of the run share it."""
    gate = judging.contract.gate
    inputs = len(judging.inputs())
    level = gate.alpha if level is None else level
    return Foresight(
        name=judging.contract.name,
        inputs=inputs,
        level=level,
        margin=gate.margin,
        minimum_detectable_effect=minimum_detectable_effect(inputs, level),
        fixtures_needed=fixtures_needed(gate.margin, level) if gate.margin > 0 else None,
    )


def _points(percent: int) -> str:
    return "1 point" if percent == 1 else f"{percent} points"
