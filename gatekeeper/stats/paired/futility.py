"""Predicts whether the samples still to come could show that head is worse.

The prediction is a predictive power: the probability that the last test of all planned samples
would find head worse, if the mean difference is distributed as the samples so far say. Sampling
that ends because this probability is low only leaves out later tests, so it can never cause a false
alarm: such a rule is called non-binding.

Conditional power at the observed trend is not used, because it takes an early estimate for the
truth: with 20 fixtures and 10 samples, it loses 21 points of power. Spiegelhalter, D. J., Freedman,
L. S. and Blackburn, P. R. (1986), Monitoring clinical trials: conditional or predictive power?,
Controlled Clinical Trials 7:8-17.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Differences = NDArray[np.number[Any]]

FUTILE, FUTILE_IN_FEW = 0.07, {1: 0.1, 2: 0.105, 3: 0.1}
"""Sampling is futile if the predictive power is below this times the share of the planned pairs
that were taken: the fewer there are, the less a prediction knows. The second are the limits of few
rounds, in which fewer predictions are made. Two rounds end after one that broke as much as it
fixed, where the power is the level."""
FIRST_PAIRS = 8
"""How many pairs the first prediction needs."""
_PARTS = 10
"""How often a round is looked at while it is sampled."""
_NORMAL = NormalDist()


def is_look(pairs: int, fixtures: int) -> bool:
    """Return whether a prediction is made after so many pairs of a round: after every tenth of the
    fixtures."""
    step = max(1, fixtures // _PARTS)
    return pairs == fixtures or (pairs % step == 0 and pairs >= FIRST_PAIRS)


def is_futile(sampled: Differences, further: Differences, rounds: int, level: float) -> bool:
    """Return whether more samples could hardly show that head is worse.

    Args:
        sampled: The differences of the complete rounds, of shape (fixtures, rounds so far), or
            these times weights whose mean square is 1.
        further: Those of the first fixtures in the next round; empty at the end of a round.
        rounds: How many rounds are planned.
        level: The level of the last test.
    """
    fixtures, done = sampled.shape
    share = (fixtures * done + len(further)) / (fixtures * rounds)
    limit = FUTILE_IN_FEW.get(rounds, FUTILE)
    return bool(predictive_power(sampled, further, rounds, level) < limit * share)


def predictive_power(
    sampled: Differences, further: Differences, rounds: int, level: float
) -> float:
    """Return the probability that the test of all planned rounds would find head worse.

    The total of all planned pairs is predicted from the total so far, with the variance of the
    pairs to come. The test compares the total with its spread over swaps of base and head, which
    also holds the variance between fixtures.
    """
    fixtures, done = sampled.shape
    planned, taken = fixtures * rounds, fixtures * done + len(further)
    if taken < FIRST_PAIRS or taken >= planned:
        return 1.0
    part = taken / planned
    within, between = _variances(sampled, further)
    predicted = float(sampled.sum(dtype=float) + further.sum(dtype=float)) / part
    spread = math.sqrt(fixtures * (rounds**2 * between + rounds * within))
    needed = _NORMAL.inv_cdf(1 - level) * spread
    return _NORMAL.cdf((predicted - needed) / math.sqrt(within * planned * (1 - part) / part))


def _variances(sampled: Differences, further: Differences) -> tuple[float, float]:
    """Return the variance of the pairs of one fixture, and that between fixtures, which takes two
    rounds to tell."""
    fixtures, done = sampled.shape
    taken = fixtures * done + len(further)
    least = 0.5 / (taken + 1)
    if done < 2:
        squares = float((sampled**2).sum(dtype=float) + (further**2).sum(dtype=float))
        return (squares + 0.5) / (taken + 1), 0.0
    means = float((sampled.mean(axis=1) ** 2).mean())
    within = max(least, (float((sampled.astype(float) ** 2).mean()) - means) * done / (done - 1))
    return within, max(0.0, means - within / done)
