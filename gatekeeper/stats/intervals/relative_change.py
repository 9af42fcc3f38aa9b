"""The relative change of a mean or a quantile between two arms that were measured on the same
units, with the paired bootstrap, which resamples whole units.

A limit on latency is about the change of the arms' quantiles, not the quantile of the units' own
differences.
"""

from __future__ import annotations

import math
import statistics
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
_BLOCK = 100_000
"""How many weights are held at once: 0.8 MB, which stays in the processor's cache."""
_ROUNDING = 1e-9
"""A value this near to a limit counts as equal to it."""
UNEVEN_BELOW = 100
"""From that many units on, a twentieth of dear calls is practically never missed."""
_UNEVEN, _WIDEST = 2, 5
"""From when on base's amounts are too irregular to compare: simulated in benchmarks/limits.py."""
_MOST_DRAWS = 400_000
"""The most random swaps: levels below one in 400,000 cannot be reached."""
_MOST_WEIGHTS = 100_000_000
"""The most random swaps times units: some ten seconds. With more units, small levels cannot be
reached."""


@dataclass(frozen=True, slots=True)
class Change:
    """The statistic on both arms, and the interval of `head / base - 1`; None if base is not above
    zero or there are too few units."""

    base: float
    head: float
    interval: ConfidenceInterval | None


@dataclass(frozen=True, slots=True)
class Rise:
    """What speaks for a rise above a limit. `low` is the lower end of the bootstrap's one-sided
    interval of `head / base - 1`, None if base is not above zero; `p_value` that of swapping arms.

    Both must say so: the bootstrap says too often that a limit is exceeded if units are few, and
    swapping supposes that the arms would have the same distribution but for the limit.
    """

    base: float
    head: float
    low: float | None
    p_value: float
    limit: float
    level: float
    uneven: bool = False
    """Whether base's amounts are so much more irregular than head's that a few dear calls, which
    base happened not to have, may explain the rise."""

    @property
    def exceeds(self) -> bool:
        """Whether the limit is exceeded by more than chance explains."""
        above = self.low is None or self.low > self.limit + _ROUNDING
        return above and self.p_value <= self.level and not self.uneven


def relative_change(
    base: Sequence[Sequence[float]],
    head: Sequence[Sequence[float]],
    confidence: float,
    rng: np.random.Generator,
    quantile: float | None = None,
    resamples: int = RESAMPLES,
) -> Change | None:
    """Return the change of the mean over units, or of a quantile of all values; None without a
    unit.

    `base` and `head` hold the values of each unit, none of them empty, in the same order; the mean
    counts each unit once. A quantile is the smallest value with at least that share at or below
    it. Efron, B. and Tibshirani, R. J. (1993), An Introduction to the Bootstrap, chapter 13: a
    percentile interval, too narrow for few units.
    """
    require_inside("confidence", confidence)
    require_count("resamples", resamples)
    _require_units(base, head, quantile)
    if not base:
        return None
    import numpy as np

    arms = [_Statistic(units, quantile) for units in (base, head)]
    before, after = (float(arm.of(np.ones((1, len(base))))[0]) for arm in arms)
    if before <= 0 or len(base) < 2:
        return Change(before, after, None)
    tail = (1 - confidence) / 2
    ends = np.quantile(_resampled(arms, len(base), resamples, rng), [tail, 1 - tail])
    return Change(before, after, ConfidenceInterval(float(ends[0]), float(ends[1])))


def rise_beyond(
    limit: float,
    base: Sequence[Sequence[float]],
    head: Sequence[Sequence[float]],
    level: float,
    rng: np.random.Generator,
    quantile: float | None = None,
) -> Rise | None:
    """Return the evidence that `head / base - 1` is above the `limit`; None without a unit. The
    values are as in `relative_change`.

    The swap test multiplies base by `1 + limit`. If no unit takes more than the limit allows, each
    unit's arms could be swapped, and a difference as large as the observed one has a
    probability of at most `p_value`: exact for any number of units and any distribution. Fisher,
    R. A. (1935), The Design of Experiments, section 21; random, as in Phipson, B. and Smyth, G. K.
    (2010), Permutation p-values should never be zero, SAGMB 9:39.
    """
    require_inside("level", level)
    if not limit >= 0:
        raise ValueError(f"limit: must be at least 0, got {limit!r}")
    _require_units(base, head, quantile)
    if not base:
        return None
    import numpy as np

    draws = _draws(len(base), level)
    arms = [_Statistic(units, quantile) for units in (base, head)]
    before, after = (float(arm.of(np.ones((1, len(base))))[0]) for arm in arms)
    low: float | None = None
    if before > 0:
        low = float(np.quantile(_resampled(arms, len(base), draws, rng), level))
    allowed = [[value * (1 + limit) for value in values] for values in base]
    p_value = _swap_test(allowed, head, draws, rng, quantile)
    uneven = before > 0 and _is_uneven(base, head, after / before / (1 + limit))
    return Rise(before, after, low, p_value, limit, level, uneven)


def _is_uneven(
    base: Sequence[Sequence[float]], head: Sequence[Sequence[float]], beyond: float
) -> bool:
    """Return whether the logarithms of base's amounts vary more than twice as much as head's, and
    enough for a rise of `beyond` times the limit. The units' means count."""
    spreads = []
    for units in (base, head):
        means = [math.fsum(values) / len(values) for values in units]
        logs = [math.log(mean) for mean in means if mean > 0]
        spreads.append(statistics.stdev(logs) if len(logs) > 1 else 0.0)
    before, after = spreads
    varies = len(base) < UNEVEN_BELOW and before > _UNEVEN * after + _ROUNDING
    return varies and math.log(max(beyond, 1.0)) < _WIDEST * before


def _draws(units: int, level: float) -> int:
    """Return the number of resamples: enough for the level, within a bound on the work."""
    fewest = 2 * RESAMPLES
    wanted = min(_MOST_DRAWS, max(fewest, math.ceil(10 / level)))
    possible = max(fewest, min(wanted, _MOST_WEIGHTS // units))
    # Fewer draws than 1 / level can reject nothing: the rest would be for nothing.
    return possible if level * (possible + 1) >= 1 else fewest


def _require_units(
    base: Sequence[Sequence[float]], head: Sequence[Sequence[float]], quantile: float | None
) -> None:
    require_same_length("head", head, "base", base)
    for name, units in (("base", base), ("head", head)):
        for values in units:
            require_finite(name, values)
            if not values:
                raise ValueError(f"{name}: must have at least one value for each unit")
    if quantile is not None:
        require_inside("quantile", quantile)


def _resampled(
    arms: Sequence[_Statistic], n: int, resamples: int, rng: np.random.Generator
) -> Values:
    """Return `head / base - 1` of resamples of the units, with replacement."""
    import numpy as np

    rows = max(1, _BLOCK // max(arm.size for arm in arms))
    ratios = []
    for start in range(0, resamples, rows):
        weights = _weights(n, min(rows, resamples - start), rng)
        low, high = (arm.of(weights) for arm in arms)
        ratios.append(high[low > 0] / low[low > 0] - 1)
    found: Values = np.concatenate(ratios)
    return found


def _weights(n: int, rows: int, rng: np.random.Generator) -> Values:
    """Return how often each of `n` units is in each resample: a multinomial draw in each row.

    Counting resampled units takes less than half the time of `Generator.multinomial`.
    """
    import numpy as np

    resampled = rng.integers(n, size=(rows, n)) + n * np.arange(rows)[:, np.newaxis]
    return np.bincount(resampled.ravel(), minlength=rows * n).reshape(rows, n).astype(float)


def _swap_test(
    base: Sequence[Sequence[float]],
    head: Sequence[Sequence[float]],
    draws: int,
    rng: np.random.Generator,
    quantile: float | None,
) -> float:
    """Return how often head exceeds base by at least the observed amount if each unit's arms are
    exchanged at random."""
    import numpy as np

    n = len(base)
    both = _Statistic([*base, *head], quantile)
    rows = max(1, _BLOCK // both.size)

    def difference(swapped: NDArray[np.bool_]) -> Values:
        first = np.hstack([swapped, ~swapped]).astype(float)
        found: Values = both.of(first) - both.of(1 - first)
        return found

    observed = float(difference(np.zeros((1, n), dtype=bool))[0])
    slack = _ROUNDING * float(both.of(np.ones((1, 2 * n)))[0])
    as_large = 0
    for start in range(0, draws, rows):
        swapped = rng.random((min(rows, draws - start), n)) < 0.5
        as_large += int((difference(swapped) >= observed - slack).sum())
    return (1 + as_large) / (1 + draws)


class _Statistic:
    """One arm's statistic as a function of the number of times that each unit was resampled."""

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
        """Return one value for each row of weights."""
        if self._quantile is None:
            mean: Values = weights @ self._values / weights.sum(axis=1)
            return mean
        summed = weights[:, self._owner].cumsum(axis=1)
        # A tiny slack, so that a share that is reached exactly counts in spite of rounding.
        reached = summed >= (self._quantile - 1e-12) * summed[:, -1:]
        found: Values = self._values[reached.argmax(axis=1)]
        return found
