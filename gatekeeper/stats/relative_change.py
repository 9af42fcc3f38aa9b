"""By which share a mean or a quantile changed between two arms that were measured on the same
units: the paired bootstrap, which draws units whole.

`bootstrap.paired_bootstrap_interval` gives the quantile of the units' own differences. Here it is
the change of the arms' quantiles, which is what a limit on latency is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gatekeeper.stats.arguments import (
    require_count,
    require_finite,
    require_inside,
    require_same_length,
)
from gatekeeper.stats.interval import ConfidenceInterval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

RESAMPLES = 1000
_BLOCK = 2_000_000
"""How many weights are held at once: 16 MB."""


@dataclass(frozen=True, slots=True)
class Change:
    """The statistic on both arms, and the interval of `head / base - 1`; None where that has no
    meaning, because base is not above zero or there are too few units."""

    base: float
    head: float
    interval: ConfidenceInterval | None


def relative_change(
    base: Sequence[Sequence[float]],
    head: Sequence[Sequence[float]],
    confidence: float,
    rng: np.random.Generator,
    quantile: float | None = None,
    resamples: int = RESAMPLES,
) -> Change | None:
    """The change of the mean over units, or of a quantile of all values; None without a unit.

    `base` and `head` hold the values of each unit, none of them empty, in the same order; the mean
    counts each unit once. A quantile is the smallest value with at least that share at or below
    it. Efron, B. and Tibshirani, R. J. (1993), An Introduction to the Bootstrap, chapter 13: a
    percentile interval, too narrow for few units.
    """
    require_inside("confidence", confidence)
    require_count("resamples", resamples)
    require_same_length("head", head, "base", base)
    for name, units in (("base", base), ("head", head)):
        for values in units:
            require_finite(name, values)
            if not values:
                raise ValueError(f"{name}: must have a value of each unit")
    if quantile is not None:
        require_inside("quantile", quantile)
    if not base:
        return None
    import numpy as np

    arms = [_Statistic(units, quantile) for units in (base, head)]
    before, after = (float(arm.of(np.ones((1, len(base))))[0]) for arm in arms)
    if before <= 0 or len(base) < 2:
        return Change(before, after, None)
    n = len(base)
    rows = max(1, _BLOCK // max(arm.size for arm in arms))
    ratios = []
    for start in range(0, resamples, rows):
        weights = rng.multinomial(n, [1 / n] * n, size=min(rows, resamples - start)).astype(float)
        low, high = (arm.of(weights) for arm in arms)
        ratios.append(high[low > 0] / low[low > 0] - 1)
    tail = (1 - confidence) / 2
    ends = np.quantile(np.concatenate(ratios), [tail, 1 - tail])
    return Change(before, after, ConfidenceInterval(float(ends[0]), float(ends[1])))


class _Statistic:
    """One arm's statistic as a function of how often each unit was drawn."""

    def __init__(self, units: Sequence[Sequence[float]], quantile: float | None) -> None:
        import numpy as np

        self._quantile = quantile
        if quantile is None:
            self._values = np.array([sum(values) / len(values) for values in units])
        else:
            every = np.concatenate([np.asarray(values, dtype=float) for values in units])
            owner = np.repeat(np.arange(len(units)), [len(values) for values in units])
            order = np.argsort(every, kind="stable")
            self._values, self._owner = every[order], owner[order]
        self.size = len(self._values)

    def of(self, weights: Values) -> Values:
        """One value for each row of weights."""
        if self._quantile is None:
            mean: Values = weights @ self._values / weights.sum(axis=1)
            return mean
        summed = weights[:, self._owner].cumsum(axis=1)
        # A tiny slack, so that a share that is reached exactly counts in spite of rounding.
        reached = summed >= (self._quantile - 1e-12) * summed[:, -1:]
        found: Values = self._values[reached.argmax(axis=1)]
        return found
