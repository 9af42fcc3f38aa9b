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

Samples of one night may fail together. `compare_nights` estimates from the nights how much less
they say than independent samples, and divides the counts by this design effect: Rao, J. N. K. and
Scott, A. J. (1992), A simple method for the analysis of clustered binary data, Biometrics
48:577-585.
Simulations chose the constants: benchmarks/objectives.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from gatekeeper.stats.arguments import require_count, require_inside, require_share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SPENDING = ((0.0, 0.04), (0.2, 0.5), (0.5, 0.95), (1.0, 1.0))
"""The share of the level that may be spent by a share of the time, linear in between. Nearly all
is spent in the first half: a rate of twice what is allowed has shown itself by then."""

NIGHTS_NEEDED = 7
"""From that many nights on, the nights themselves say how much they vary."""

_EARLY_SAMPLES = 4
_EARLY_SHARE = 0.05
"""Before that, a night counts as at most four samples, and a twentieth of the level is spent:
samples of one night may fail together, and only a plain failure is certain."""

FEWEST = 2
"""One failure alone is never too many: it could be a fault outside of what is measured."""

_NEGLIGIBLE = 1e-18
"""Probabilities below this cannot move a boundary."""

_LIMITS = 32
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Look:
    """The runs of one night: their number, the sum of their shares of failures, the sum of one over
    their numbers of samples, and the share of the time that has passed."""

    runs: int
    failing: float
    inverse: float
    elapsed: float


class Evidence(NamedTuple):
    """A mean rate of failures, and the number of independent samples that it is as certain as."""

    rate: float
    samples: float

    def strength(self, allowed: float) -> float:
        """Return by how many standard deviations the rate is above the allowed one."""
        variance = self.rate * (1 - self.rate)
        above = self.rate - allowed
        if variance > 0:
            return above * math.sqrt(self.samples / variance)
        return math.inf if above > 0 else -math.inf


@dataclass(frozen=True, slots=True)
class NightsTest:
    """Whether the failure rate is above the allowed one, and the rate from which it would be."""

    frozen: bool
    freezing_rate: float


def compare_nights(nights: Sequence[Look], allowed: float, alpha: float) -> NightsTest | None:
    """Test at level `alpha` whether the mean failure rate of the nights' runs is above `allowed`;
    None if not even failures alone would show it. The nights are independent of each other; the
    samples of a night need not be."""
    evidence = weigh_nights(nights, allowed)
    if len(nights) < NIGHTS_NEEDED:
        looks = [(night.runs, 1.0) for night in nights]
        return _against_boundary(looks, evidence, allowed, alpha * _EARLY_SHARE)
    learned = nights[:NIGHTS_NEEDED]
    looks = [(sum(night.runs for night in learned), learned[-1].elapsed)]
    looks += [(night.runs, night.elapsed) for night in nights[NIGHTS_NEEDED:]]
    return _against_boundary(looks, evidence, allowed, alpha)


def weigh_nights(nights: Sequence[Look], allowed: float) -> Evidence:
    """Return the mean rate of the nights' runs, where each run counts the same, and as how many
    independent samples all of them count.

    From NIGHTS_NEEDED nights on, they are `mean x (1 - mean) / variance of the mean` samples, and
    never more than they are. The variance is that of each night from the one before (von Neumann,
    J. (1941), Annals of Mathematical Statistics 12:367-395), with two more nights for its own
    error: a rate that rose a week ago is then not taken for nights that vary. A single night that
    is much worse than the others makes nights look more different. So no night counts as worse
    than the limit with which the evidence is strongest; otherwise another failure could end a
    freeze.
    """
    runs = sum(night.runs for night in nights)
    most = runs**2 / math.fsum(night.inverse for night in nights)
    mean = math.fsum(night.failing for night in nights) / runs
    if len(nights) < NIGHTS_NEEDED:
        return Evidence(mean, min(most, _EARLY_SAMPLES * len(nights)))
    worst = max(night.failing / night.runs for night in nights)
    limits = (worst + (allowed - worst) * step / _LIMITS for step in range(_LIMITS))
    return max(
        (_limited(nights, limit, runs, most) for limit in limits),
        key=lambda found: found.strength(allowed),
    )


def shows_more(evidence: Evidence, allowed: float, alpha: float) -> bool:
    """Return whether the evidence, looked at once, shows a rate above the allowed one."""
    found = _against_boundary([(1, 1.0)], evidence, allowed, alpha)
    return found is not None and found.frozen


def _limited(nights: Sequence[Look], limit: float, runs: int, most: float) -> Evidence:
    """Return the mean rate of the runs, where no night's is above the limit, and how many
    independent samples would vary as much."""
    failing = [min(night.failing, night.runs * limit) for night in nights]
    mean = math.fsum(failing) / runs
    around = [each - night.runs * mean for each, night in zip(failing, nights, strict=True)]
    squares = math.fsum((after - before) ** 2 for before, after in pairwise(around)) / 2
    squares *= (len(nights) + 2) / (len(nights) - 1)
    samples = runs**2 * mean * (1 - mean)
    return Evidence(mean, most if samples >= most * squares else samples / squares)


def _against_boundary(
    looks: Sequence[tuple[int, float]], evidence: Evidence, allowed: float, alpha: float
) -> NightsTest | None:
    mean, samples = evidence
    each = samples / sum(runs for runs, _ in looks)
    totals = [math.floor(each * runs + _ROUNDING) for runs in accumulate(runs for runs, _ in looks)]
    counts = [after - before for before, after in pairwise([0, *totals])]
    elapsed = [time for _, time in looks]
    fewest = fewest_failures([*zip(counts, elapsed, strict=True)], allowed, alpha)
    if fewest is None:
        return None
    return NightsTest(samples * mean >= fewest - _ROUNDING, fewest / samples)


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
