"""Tests whether head is not worse than base by the margin (non-inferiority): within the first round
by a bet (an e-process), and at the end of a round by two conditions, which must both hold:

- The upper confidence bound of the mean drop, by Student's t over fixtures, is below the margin.
  This detects a small drop of many fixtures.
- Fewer fixtures broke outright than one would expect if a share of inputs as large as the margin
  were broken. If hardly anything changes, the variance is too small to be trusted, however many
  samples there are, and only the number of fixtures counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gatekeeper.stats.arguments import require_finite, require_inside, require_share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BROKEN = 0.5
"""A fixture counts as broken outright if head fails in more than this share of its samples more
than base."""

_STAKE = 0.9
"""The largest share of the capital that is ever put at risk: a lost bet leaves some of it."""
_FIRST_VARIANCE = 0.1
"""The variance of a difference before any is observed: one fixture in ten changes."""
_MOST_LOG = 700.0
"""The logarithm of a capital that is still a double."""

_ROUNDING = 1 + 1e-12
"""Lets P(X <= most) = alpha count as reached in spite of the rounding of sums."""


def drop_bound(drops: Sequence[float] | NDArray[np.float64], level: float) -> float | None:
    """Return the upper confidence bound of the mean drop at `1 - level`; None below two fixtures.

    `drops` has one entry a fixture: base's pass rate less head's, from -1 to 1. Student's t, raised
    if few fixtures drop by much: Johnson, N. J. (1978), Modified t tests and confidence intervals
    for asymmetrical populations, JASA 73:536-544; with the skewness term that Chen, L. (1995), JASA
    90:767-772, gives for this tail. It is never lowered.

    If all drops are equal the bound is that drop: what does not vary leaves Student's t no
    doubt. It is no proof then, which is why `not_worse` asks for `most_broken` as well.
    """
    require_inside("level", level)
    require_finite("drops", drops)
    n = len(drops)
    if n < 2:
        return None
    import numpy as np
    from scipy.special import stdtrit

    values = np.asarray(drops, dtype=float)
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    if variance == 0:
        return mean
    t = float(stdtrit(n - 1, 1 - level))
    skew = float(((values - mean) ** 3).mean()) / (6 * variance * n) * (1 + 2 * t**2)
    return mean + max(0.0, skew) + t * math.sqrt(variance / n)


def most_broken(fixtures: int, share: float, alpha: float) -> int | None:
    """Return the largest number of broken fixtures that shows, at `alpha`, that fewer than a
    `share` of all inputs broke: P(X <= most) <= alpha for X ~ binomial(fixtures, share). None if
    not even 0 does.

    Clopper, C. J. and Pearson, E. S. (1934), Biometrika 26:404-413.
    """
    require_inside("alpha", alpha)
    require_share("share", share)
    import numpy as np
    from scipy.special import bdtr

    chances = bdtr(np.arange(fixtures), fixtures, share)
    few = int(np.searchsorted(chances, alpha * _ROUNDING, side="right"))
    return few - 1 if few else None


def not_worse(
    drops: Sequence[float] | NDArray[np.float64], margin: float, level: float, alpha: float
) -> bool:
    """Return whether head is not worse by `margin`: the look's own `level` is spent on the bound.

    Which fixtures the suite happens to hold is the same at every look, so that the other part
    has half of `alpha`, once. By simulation (benchmarks/decisions, and drops of 1, 1/2 and 1/4
    on the fewest fixtures that make the margin) both together are wrong in about 5 % at most.
    """
    bound = drop_bound(drops, level)
    if bound is None or bound >= margin:
        return False
    most = most_broken(len(drops), margin, alpha / 2)
    return most is not None and sum(drop > BROKEN for drop in drops) <= most


def not_worse_capital(
    differences: Sequence[int] | NDArray[np.signedinteger[Any]] | NDArray[np.float64],
    margin: float,
) -> NDArray[np.float64]:
    """Return the capital after each pair of a player who starts with 1 and bets that the mean drop
    is below `margin`. `differences` has one entry per fixture in random order: 1 if it broke, -1 if
    it was fixed, 0 if it stayed the same; for several fixtures that count as one, their mean.

    If the mean drop is `margin` or more, every bet is fair or worse, and the chance that the
    capital *ever* reaches 1/alpha is at most alpha (Ville 1939), at whatever pair one looks.
    The stake is the plug-in estimate of the one with the greatest growth, made from the pairs
    before: Waudby-Smith, I. and Ramdas, A. (2024), Estimating means of bounded random
    variables by betting, JRSS B 86:1-27, section B.3.
    """
    require_inside("margin", margin)
    import numpy as np

    capital: NDArray[np.float64] = np.exp(np.minimum(_log_capital(differences, margin), _MOST_LOG))
    return capital


def _log_capital(
    losses: Sequence[float] | NDArray[np.signedinteger[Any]] | NDArray[np.float64], margin: float
) -> NDArray[np.float64]:
    """Return the logarithm of the capital after each of the `losses`, none above 1, of a player who
    bets that their mean is below `margin`."""
    import numpy as np

    x = np.asarray(losses, dtype=float)
    observed = np.arange(1, len(x) + 1) + 1
    mean = _before(np.cumsum(x) / observed, 0.0)
    variance = _before((_FIRST_VARIANCE + np.cumsum((x - mean) ** 2)) / observed, _FIRST_VARIANCE)
    gap = margin - mean
    stake = np.clip(gap / (variance + gap**2), 0.0, _STAKE / (1 - margin))
    growth: NDArray[np.float64] = np.cumsum(np.log1p(stake * (margin - x)))
    return growth


def _before(after: NDArray[np.float64], first: float) -> NDArray[np.float64]:
    """Shift values by one pair, so that each holds what was known before the pair."""
    import numpy as np

    return np.concatenate([[first], after])[: len(after)]
