"""What judges prefer, base's outputs or head's: the result of one check over a suite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gatekeeper.stats.estimate import Estimate


def name_against_base(check: str) -> str:
    """Return the name of a comparison in pairs in the outcome of head's sample."""
    return f"{check} (against base)"


@dataclass(frozen=True, slots=True)
class PreferenceResult:
    """Pairs of outputs to the same input, compared by judges in both orders.

    `pairs` have a result: base preferred, head preferred or tied; `unmeasured` have none.
    `contradictory` is the share of verdicts in both orders that contradict each other, and count as
    a tie; `for_first` the share of those for one place that are for the first. `worse` says that
    base is preferred by more than chance explains, `open` that it may be by more than the margin,
    `could_be_worse` that the unmeasured pairs could show it. `difference` is the share of pairs for
    head minus that for base.
    """

    check: str
    judges: tuple[str, ...]
    pairs: int
    base_preferred: int
    head_preferred: int
    unmeasured: int
    contradictory: Estimate | None
    for_first: Estimate | None
    p_value: float
    level: float
    difference: float | None
    worse: bool
    open: bool
    could_be_worse: bool
    stopped: Literal["regressed", "not_worse", "exhausted"] | None

    @property
    def name_against_base(self) -> str:
        """The name under which head's outcomes carry what the judges say of each pair."""
        return name_against_base(self.check)

    @property
    def unreadable(self) -> bool:
        """Whether judges certainly contradict themselves in more than half of the verdicts, so that
        their ties say more about the judges than about the answers."""
        found = self.contradictory
        return found is not None and found.interval is not None and found.interval.low > 0.5

    @property
    def tied(self) -> int:
        return self.pairs - self.base_preferred - self.head_preferred
