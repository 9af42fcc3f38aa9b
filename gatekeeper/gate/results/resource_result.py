"""The results for cost, tokens and latency: part of `result`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gatekeeper.contract.values.resource_limits import LimitName
from gatekeeper.stats.interval import ConfidenceInterval

LimitFinding = Literal["kept", "exceeded", "open", "unmeasured", "unknown"]
"""`open`: above the limit, which can be chance; `unmeasured`: the limited amount is not known for
every call; `unknown`: it depends on calls that failed."""
Resource = Literal["cost_per_call_usd", "tokens_per_call", "latency_p50_ms", "latency_p95_ms"]
_MATERIAL = 0.05
"""The share by which a resource must change before a report highlights it."""
_CENT_IN_A_THOUSAND = 0.00001
"""The smallest change of the cost of a call that is reported, in US dollars."""


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """The cost, tokens or latency of a call on both arms, over the fixtures that have both: a mean
    or a quantile.

    `interval` is that of `head / base - 1`, at 99 %; None if there are too few fixtures for one.
    """

    resource: Resource
    base: float
    head: float
    interval: ConfidenceInterval | None

    @property
    def relative(self) -> float | None:
        """Return by which share head takes more than base; None if base takes nothing."""
        return self.head / self.base - 1 if self.base > 0 else None

    @property
    def differs(self) -> bool:
        """Whether the change is beyond chance, at least a twentieth, and of cost at least a cent in
        a thousand calls."""
        if self.interval is None or self.relative is None:
            return False
        if self.resource == "cost_per_call_usd" and (
            abs(self.head - self.base) < _CENT_IN_A_THOUSAND
        ):
            return False
        beyond_chance = self.interval.low > 0 or self.interval.high < 0
        return beyond_chance and abs(self.relative) >= _MATERIAL


@dataclass(frozen=True, slots=True)
class LimitResult:
    """A limit of `gate` on what a call takes, such as `cost: +20%`, over the inputs that both arms
    answered.

    `low` is the lower end of the one-sided interval of `head / base - 1`, and `p_value` that of
    swapping the arms: `exceeded` takes both, at `level`. `inputs_needed` is how many it takes.
    """

    name: LimitName
    limit: float
    base: float | None
    head: float | None
    low: float | None
    p_value: float | None
    level: float
    inputs: int
    inputs_needed: int
    found: LimitFinding
    uneven: bool = False
    """Whether base was too irregular for so few inputs: see `stats.relative_change.Rise`."""

    @property
    def relative(self) -> float | None:
        """Return by which share head takes more than base; None if base takes nothing or is
        unknown."""
        if self.base is None or self.head is None or self.base <= 0:
            return None
        return self.head / self.base - 1
