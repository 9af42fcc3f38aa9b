"""Tests whether a failure rate is above the allowed rate, at any number of looks.

It is a group-sequential test of one binomial rate. The number of failures at each look is compared
with a boundary. If the true rate is exactly the allowed one, the probability of *ever* crossing the
boundary is at most the level: Armitage, P., McPherson, C. K. and Rowe, B. C. (1969), Repeated
significance tests on accumulating data, JRSS A 132:235-244. A spending function of the calendar
says which part of the level may be spent by which time: Lan, K. K. G. and DeMets, D. L. (1983),
Discrete sequential boundaries for clinical trials, Biometrika 70:659-663, and (1989), Group
sequential procedures: calendar versus information time, Statistics in Medicine 8:1191-1198. The
boundary is exact for counts. The rates that it does not reject are the repeated confidence interval
of Jennison, C. and Turnbull, B. W. (1984), Controlled Clinical Trials 5:33-45.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from gatekeeper.stats.arguments import require_count, require_inside, require_share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SPENDING = ((0.0, 0.04), (0.25, 0.45), (0.5, 0.95), (1.0, 1.0))
"""The share of the level that may be spent by a share of the time, linear in between. Nearly all
is spent in the first half: a rate of twice what is allowed has shown itself by then."""

FEWEST = 2
"""One failure alone is never too many: it could be a fault outside of what is measured."""

_NEGLIGIBLE = 1e-18
"""Probabilities below this cannot move a boundary."""


def fewest_failures(looks: Sequence[tuple[int, float]], allowed: float, alpha: float) -> int | None:
    """Return the fewest failures in all that show, at `alpha`, that the failure rate is above
    `allowed`; None if not even failures alone would.

    `looks` are in order: how many samples came since the look before, and the share of the time
    that has passed, from 0 to 1. The samples are independent given their rates. If the rates
    differ, their mean counts, and the test errs on the side of too few alarms: the sum then
    varies less (Hoeffding, W. (1956), On the distribution of the number of successes in
    independent trials, Annals of Mathematical Statistics 27:713-721).

    Later looks never ask for fewer failures, so that good samples which are added at the end never
    raise an alarm.
    """
    require_share("allowed", allowed)
    require_inside("alpha", alpha)
    before = 0.0
    for samples, elapsed in looks:
        require_count("looks", samples)
        require_share("looks", elapsed)
        if elapsed < before:
            raise ValueError(f"looks: must be sorted by time, got {elapsed} after {before}")
        before = elapsed
    total = sum(samples for samples, _ in looks)
    fewest = _last_of_boundary(tuple(looks), float(allowed), alpha)
    return fewest if fewest <= total else None


def spent_share(elapsed: float) -> float:
    """Return the share of the level that may be spent by that share of the time."""
    require_share("elapsed", elapsed)
    for (start, low), (end, high) in pairwise(SPENDING):
        if elapsed <= end:
            return low + (high - low) * (elapsed - start) / (end - start)
    raise AssertionError("the spending function must end at time 1")


@lru_cache(maxsize=4096)
def _last_of_boundary(looks: tuple[tuple[int, float], ...], allowed: float, alpha: float) -> int:
    import numpy as np

    below = np.ones(1)  # the probabilities of each count that has not crossed; from `offset` on
    offset, fewest, spent = 0, FEWEST, 0.0
    for samples, elapsed in looks:
        start, chances = _binomial(samples, allowed)
        below, offset = np.convolve(below, chances), offset + start
        # What was cut off is so little that the mass of the tail can be had from both ends.
        tail = np.append(np.cumsum(below[::-1])[::-1], 0.0)
        affordable = np.flatnonzero(tail <= alpha * spent_share(elapsed) - spent)
        first = int(affordable[0]) if len(affordable) else len(below)
        fewest = max(fewest, offset + first)
        kept = max(0, min(fewest - offset, len(below)))
        spent += float(tail[kept])
        below = below[:kept]
        if not len(below):
            # Every count crosses, or none is left that has not.
            return fewest
        likely = np.flatnonzero(below > _NEGLIGIBLE)
        if len(likely):
            below, offset = below[likely[0] :], offset + int(likely[0])
    return fewest


@lru_cache(maxsize=4096)
def _binomial(n: int, rate: float) -> tuple[int, NDArray[np.float64]]:
    """Return the likely counts of a binomial variable: the first of them, and their
    probabilities."""
    import numpy as np
    from scipy.special import gammaln, xlog1py, xlogy

    counts = np.arange(n + 1)
    log = gammaln(n + 1) - gammaln(counts + 1) - gammaln(n - counts + 1)
    chances = np.exp(log + xlogy(counts, rate) + xlog1py(n - counts, -rate))
    likely = np.flatnonzero(chances > _NEGLIGIBLE)
    first, last = int(likely[0]), int(likely[-1])
    return first, chances[first : last + 1]
