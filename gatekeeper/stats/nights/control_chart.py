"""A control chart of nightly scores: is tonight's score outside its usual range?

The chart shows an exponentially weighted moving average (EWMA) of the scores, in standard
deviations. If nothing changes, the average crosses the limits once in a given number of nights.
The chart reacts quickly and gives false alarms at that rate; `drift.py` decides with a bounded
rate.

The true mean and standard deviation are not known. A chart that estimates them once, from a
reference period, has another false-alarm rate for each reference: Jensen, W. A. et al. (2006),
Effects of parameter estimation on control chart properties, Journal of Quality Technology
38:349-364. So each night is compared only with the nights before it, and Student's t with the
degrees of freedom of these nights is converted to a standard normal. If scores are normal, the
converted scores are exactly standard normal and independent, from the first one on, and the limits
for known parameters hold. Hawkins, D. M. (1987), Self-starting CUSUM charts for location and scale,
The Statistician 36:299-316; Quesenberry, C. P. (1991), SPC Q charts for start-up processes and
short or long runs, Journal of Quality Technology 23:213-224.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from gatekeeper.stats.arguments import require_finite

NIGHTS_PER_FALSE_ALARM = 370.0
"""One a year of nights."""
WEIGHT = 0.2
"""The weight of the last night; each earlier night has 0.8 times the weight of the next one."""
LEARNED_NIGHTS = 7
"""The number of nights that are only used to estimate the usual range."""
_FARTHEST = 6.0
"""The most standard deviations that one night may count, so that one night cannot cause a long
alarm."""
_NODES = 64


@dataclass(frozen=True, slots=True)
class ControlPoint:
    """`value` is the moving average in standard deviations, `limit` how far from 0 it may be;
    below 0 the nights are lower than usual."""

    value: float
    limit: float

    @property
    def signal(self) -> bool:
        return abs(self.value) > self.limit


def ewma_chart(
    scores: Sequence[float | None],
    resolution: float,
    nights_per_false_alarm: float = NIGHTS_PER_FALSE_ALARM,
) -> tuple[ControlPoint | None, ...]:
    """Return the chart's point for each night; None for a night without a score and for those that
    are only learned from.

    `resolution`, above 0, is the smallest difference that two scores can have. The standard
    deviation between nights is never estimated below it, so that the smallest change after
    identical nights is no alarm. Nights beyond the limits do not change the
    estimates, so that a lasting shift stays visible.
    """
    if not resolution > 0:
        raise ValueError(f"resolution: must be above 0, got {resolution!r}")
    require_finite("scores", (score for score in scores if score is not None))
    from scipy.special import ndtri, stdtr

    limit = control_limit(WEIGHT, nights_per_false_alarm)
    points: list[ControlPoint | None] = []
    learned = _Learned()
    average = 0.0
    for score in scores:
        if score is None:
            points.append(None)
            continue
        point = None
        if learned.nights >= LEARNED_NIGHTS:
            below = stdtr(learned.nights - 1, learned.t(score, resolution))
            normal = min(_FARTHEST, max(-_FARTHEST, float(ndtri(below))))
            average += WEIGHT * (normal - average)
            point = ControlPoint(average, limit)
        if point is None or not point.signal:
            learned.add(score)
        points.append(point)
    return tuple(points)


@lru_cache(maxsize=16)
def control_limit(weight: float, run_length: float) -> float:
    """Return the limit that the average of standard normal nights crosses once in `run_length`
    nights."""
    low, high = 0.1, 5.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if average_run_length(weight, middle) < run_length:
            low = middle
        else:
            high = middle
    return high * math.sqrt(weight / (2 - weight))


def average_run_length(weight: float, width: float, shift: float = 0.0) -> float:
    """Return the mean number of nights until the average is beyond `width` of its own standard
    deviations, if nights are normal with mean `shift` and standard deviation 1.

    The integral equation of Crowder, S. V. (1987), A simple method for studying run-length
    distributions of exponentially weighted moving average charts, Technometrics 29:401-407, by
    Gauss-Legendre quadrature. It gives the tables of Lucas, J. M. and Saccucci, M. S. (1990),
    Exponentially weighted moving average control schemes: properties and enhancements,
    Technometrics 32:1-12.
    """
    import numpy as np

    limit = width * math.sqrt(weight / (2 - weight))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    at = limit * nodes
    before = np.append(at, 0.0)  # the last row: the chart starts at 0
    step = (at - (1 - weight) * before[:, None]) / weight - shift
    chance = np.exp(-(step**2) / 2) / math.sqrt(2 * math.pi) / weight * limit * weights
    lengths = np.linalg.solve(np.eye(_NODES) - chance[:-1], np.ones(_NODES))
    return float(1 + chance[-1] @ lengths)


@dataclass(slots=True)
class _Learned:
    """The mean of the nights so far, and the sum of their squared distances from it.

    Updated night by night, in time that does not grow with the number of nights: Welford, B. P.
    (1962), Note on a method for calculating corrected sums of squares and products, Technometrics
    4:419-420.
    """

    nights: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, score: float) -> None:
        self.nights += 1
        distance = score - self.mean
        self.mean += distance / self.nights
        self.squares += distance * (score - self.mean)

    def t(self, score: float, resolution: float) -> float:
        """Return Student's t of one night against those before it."""
        scatter = max(math.sqrt(self.squares / (self.nights - 1)), resolution)
        return (score - self.mean) / (scatter * math.sqrt(1 + 1 / self.nights))
