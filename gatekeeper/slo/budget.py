"""Error budgets and burn rates, as in Google's SRE books.

The budget is (1 - S) x events for an objective S; the burn rate is the observed failure
rate divided by (1 - S): 1 spends the budget exactly within the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """`budget`, `spent` and `left` count failed events; `left` may be negative.

    `burn_rate` maps a window such as `1d` to its rate, None where it saw no event;
    `projected_burn_rate` is what merging head would burn, `(low, high)` from head's interval.
    """

    window: str
    events: int
    budget: float
    spent: int
    left: float
    burn_rate: Mapping[str, float | None] = field(default_factory=dict)
    projected_burn_rate: tuple[float, float] | None = None
