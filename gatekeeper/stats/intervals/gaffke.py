"""The interval of a mean of bounded numbers, whatever their distribution: Gaffke's bound.

Each value, and one imagined value at the bad end, gets a random weight. The weights are uniform
among all that add up to 1. The lower bound of the mean is a quantile of the weighted mean. If all
values are 0 or 1, this is the interval of Clopper and Pearson (1934). The imagined value stands for
values that were not observed. So some uncertainty remains even if all values are the same, and only
more values reduce it.

Gaffke, N. (2005), Three test statistics for a nonparametric one-sided hypothesis on the mean of
a nonnegative variable, Mathematical Methods of Statistics 14:451-467. Learned-Miller, E. and
Thomas, P. S. (2020), A new confidence interval for the mean of a bounded random variable,
arXiv:1905.06208. That the level holds for every distribution is proven for some (those of two
values among them) and has no known counterexample; `make bench-stats` tries hard ones.

Both papers draw the weights at random. Here the distribution of the weighted mean is computed: it
lies below t if and only if the sum of (value - t) times an exponential variable is negative, and
the distribution of such a sum is an integral along a line through its saddle point: Rice, S. O.
(1980), Distribution of quadratic forms in normal random variables - evaluation by numerical
integration, SIAM Journal on Scientific and Statistical Computing 1:438-448.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from gatekeeper.stats.arguments import require_finite, require_inside, require_share
from gatekeeper.stats.interval import ConfidenceInterval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_STEP, _AT_ONCE, _MOST_POINTS, _NEGLIGIBLE = 0.1, 20, 200, 1e-13
"""Of the integral: the trapezoidal rule after a substitution that makes its ends die away."""
_MOST_STEPS, _NEAR = 60, 0.01
"""Towards the saddle, which need not be met exactly: in its own widths."""
_LARGEST_RATIO = 1e100
"""Of two sizes: beyond it the chance is 0 to every digit."""
_PRECISE = 1e-7
"""The precision of the ends, as a share of the range."""


def gaffke_interval(
    values: Sequence[float], least: float, most: float, confidence: float = 0.95
) -> ConfidenceInterval | None:
    """Return the interval of the mean of independent numbers between `least` and `most`; None
    without a number, or if the ends are equal. Each end misses the mean with probability (1 -
    confidence) / 2 at most."""
    require_inside("confidence", confidence)
    require_finite("values", values)
    require_finite("least", [least])
    require_finite("most", [most])
    if least > most:
        raise ValueError(f"least: must not exceed `most` = {most}, got {least}")
    if len(values) and (min(values) < least or max(values) > most):
        raise ValueError(f"values: every value must lie between {least} and {most}")
    if not len(values) or least == most:
        return None
    tail = (1 - confidence) / 2
    scale = most - least
    shares = [min(1.0, (value - least) / scale) for value in values]
    low = _lower_bound(shares, tail)
    high = 1 - _lower_bound([1 - share for share in shares], tail)
    return ConfidenceInterval(float(least + scale * low), float(least + scale * high))


def proven_side(
    values: Sequence[float], target: float, confidence: float = 0.95
) -> Literal["above", "below"] | None:
    """Return whether the interval of the mean of independent numbers from 0 to 1 lies `above` the
    target (at it, or higher) or `below` it; None while it contains the target, and without a
    number."""
    require_inside("confidence", confidence)
    require_share("target", target)
    require_finite("values", values)
    if len(values) and (min(values) < 0 or max(values) > 1):
        raise ValueError("values: every value must lie between 0 and 1")
    if not len(values):
        return None
    tail = (1 - confidence) / 2
    if chance_below(values, target) <= tail:
        return "above"
    return "below" if chance_below([1 - v for v in values], 1 - target) < tail else None


def inputs_needed(target: float, confidence: float) -> int | None:
    """Return how many numbers from 0 to 1 are needed to prove that their mean is at least `target`,
    if all of them are 1 and one fewer is not enough. None for a target of 1, which nothing proves.

    The lower bound of m ones is the m-th root of (1 - confidence) / 2.
    """
    require_inside("confidence", confidence)
    require_share("target", target)
    if target == 1:
        return None
    if target == 0:
        return 1
    tail = (1 - confidence) / 2
    fewest = max(1, math.ceil(math.log(tail) / math.log(target)))
    # The logarithms are rounded: the neighbour may be the answer.
    return fewest - 1 if fewest > 1 and tail ** (1 / (fewest - 1)) >= target else fewest


def chance_below(values: Sequence[float], mean: float) -> float:
    """Return the one-sided p-value that the mean of numbers of 0 and more is above `mean`: the
    probability that the randomly weighted mean of these and of one 0 lies below it."""
    require_finite("values", values)
    require_finite("mean", [mean])
    if len(values) and min(values) < 0:
        raise ValueError(f"values: no value may be negative, got {min(values)}")
    return _chance_below(*_distinct([0.0, *values]), mean)


def _lower_bound(shares: Sequence[float], tail: float) -> float:
    points, times = _distinct([0.0, *shares])
    low, high = 0.0, math.fsum(shares) / len(shares)
    if high == 0:
        return 0.0
    at_low, at_high = -tail, _chance_below(points, times, high) - tail
    if at_high <= 0:
        return high
    side = 0
    while high - low > _PRECISE:
        # Regula falsi (Illinois), and a halving where that hardly moves.
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        middle = min(max(middle, low + (high - low) / 16), high - (high - low) / 16)
        found = _chance_below(points, times, middle) - tail
        if found > 0:
            high, at_high = middle, found
            at_low = at_low / 2 if side == 1 else at_low
            side = 1
        else:
            low, at_low = middle, found
            at_high = at_high / 2 if side == -1 else at_high
            side = -1
    return low


def _distinct(values: Sequence[float]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    import numpy as np

    points, times = np.unique(np.asarray(values, dtype=float), return_counts=True)
    return points, times.astype(float)


def _chance_below(points: NDArray[np.float64], times: NDArray[np.float64], mean: float) -> float:
    away = points - mean
    if away[0] >= 0:
        return 0.0
    if away[-1] <= 0:
        return 1.0
    # The smaller tail is the one that can be had precisely.
    if float(times @ away) >= 0:
        return _chance_of_more_than_zero(-away, times)
    return 1.0 - _chance_of_more_than_zero(away, times)


def _chance_of_more_than_zero(sizes: NDArray[np.float64], times: NDArray[np.float64]) -> float:
    """Return P(sum of sizes times gamma(times) variables > 0); the largest size is above 0."""
    import numpy as np

    # The chance does not depend on the unit. In that of the largest size, no power underflows.
    largest = float(sizes.max())
    sizes = np.maximum(sizes, -_LARGEST_RATIO * largest) / largest
    # The integrand along a line to the right of 0 is smallest, and smoothest, at this saddle.
    low, high = 0.0, 1.0
    saddle = high / 2
    for _ in range(_MOST_STEPS):
        parts = sizes / (1 - saddle * sizes)
        slope = float(times @ parts) - 1 / saddle
        curvature = float(times @ parts**2) + saddle**-2
        low, high = (low, saddle) if slope > 0 else (saddle, high)
        if abs(slope) < _NEAR * curvature**0.5:
            break
        newton = saddle - slope / curvature
        saddle = newton if low < newton < high else (low + high) / 2
    width = curvature**-0.5
    total = 0.0
    for start in range(0, _MOST_POINTS, _AT_ONCE):
        steps = _STEP * np.arange(start, start + _AT_ONCE)
        line = saddle + 1j * np.sinh(steps) * width
        log = -(times[:, None] * np.log(1 - sizes[:, None] * line)).sum(axis=0) - np.log(line)
        heights = np.exp(log) * np.cosh(steps)
        if start == 0:
            # The other half of the line is its mirror image.
            heights[0] /= 2
        total += float(heights.real.sum())
        if abs(heights[-1]) <= _NEGLIGIBLE * abs(total):
            break
    return float(min(1.0, max(0.0, total * width * _STEP / np.pi)))
