"""The value every interval method returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """A confidence interval `[low, high]` in the unit of what it estimates."""

    low: float
    high: float
