"""Estimates a mean score from a judge's scores and labels that people scored, also older ones.

The judge's score is taken as a straight line of that of people, plus an error whose mean is zero
whatever people say. The outputs in question may be better or worse than the labelled ones: only
the line must be the same. For scores of 0 and 1 alone the estimate is that of label_shift.py,
because the line then is the judge's sensitivity and specificity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gatekeeper.stats.arguments import (
    require_finite,
    require_inside,
    require_same_length,
    require_share,
)
from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.judges.judge_accuracy import LEAST_INFORMATION
from gatekeeper.stats.judges.label_shift import clipped

LEAST_LABELS = 10
"""With fewer the line says nothing."""
_MOST_LEVERAGE = 0.9
"""Of a single label: above, the line rests on that label alone."""


def corrected_mean(
    observed: float,
    error: float,
    human: Sequence[float],
    judge: Sequence[float],
    confidence: float = 0.95,
) -> Estimate | None:
    """Return the mean score that people would give if the judge's is `observed`, with a standard
    error of `error`.

    `human[i]` and `judge[i]` belong to label i, all from 0 to 1. The estimate is that of the
    classical calibration line (the judge's score by that of people, inverted). Its interval is by
    Fieller, E. C. (1954), Some problems in interval estimation, Journal of the Royal Statistical
    Society B 16:175-185, with the variance of the line that allows errors of any size at any score
    (HC3: MacKinnon, J. G. and White, H. (1985), Journal of Econometrics 29:305-325) and Student's t
    with n - 2 degrees of freedom. None below 10 labels, if people gave nearly all of them one
    score, or if the judge's score hardly depends on that of people.
    """
    require_share("observed", observed)
    require_inside("confidence", confidence)
    require_same_length("judge", judge, "human", human)
    require_finite("human", human)
    require_finite("judge", judge)
    n = len(human)
    if n < LEAST_LABELS:
        return None
    middle_human, middle_judge = math.fsum(human) / n, math.fsum(judge) / n
    apart = [x - middle_human for x in human]
    spread = math.fsum(d * d for d in apart)
    if spread == 0 or max(1 / n + d * d / spread for d in apart) > _MOST_LEVERAGE:
        return None
    pairs = list(zip(apart, judge, strict=True))
    slope = math.fsum(d * (y - middle_judge) for d, y in pairs) / spread
    if slope < LEAST_INFORMATION:
        return None
    squares = [
        ((y - middle_judge - slope * d) / (1 - 1 / n - d * d / spread)) ** 2 for d, y in pairs
    ]
    value = middle_human + (observed - middle_judge) / slope
    ends = _fieller(observed - middle_judge, error, slope, apart, squares, confidence)
    low, high = (clipped(middle_human + end) for end in ends)
    return Estimate(clipped(value), ConfidenceInterval(low, high))


def _fieller(
    distance: float,
    error: float,
    slope: float,
    apart: Sequence[float],
    squares: Sequence[float],
    confidence: float,
) -> tuple[float, float]:
    """Return the scores, less the mean of people's, that the judge's mean does not contradict."""
    from scipy.special import stdtrit

    n = len(apart)
    spread = math.fsum(d * d for d in apart)
    t2 = float(stdtrit(n - 2, (1 + confidence) / 2)) ** 2
    # As if the labels held one more error of the judge than they do.
    level = math.fsum(squares) / n**2 + 1 / n**2
    mixed = math.fsum(u * d for u, d in zip(squares, apart, strict=True)) / (n * spread)
    tilt = math.fsum(u * d * d for u, d in zip(squares, apart, strict=True)) / spread**2
    a = slope**2 - t2 * tilt
    b = slope * distance + t2 * mixed
    c = distance**2 - t2 * (error**2 + level)
    if a <= 0:
        return -math.inf, math.inf  # the line may be level, so every score is possible
    half = math.sqrt(max(0.0, b * b - a * c))
    return (b - half) / a, (b + half) / a
