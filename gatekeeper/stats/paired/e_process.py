"""E-processes (bets) on bounded numbers: is head not worse by the margin?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gatekeeper.stats.arguments import require_inside

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_STAKE = 0.9
"""The largest share of the capital that is ever put at risk: a lost bet leaves some of it."""
_FIRST_VARIANCE = 0.1
"""The variance of a difference before any is observed: one fixture in ten changes."""
_MOST_LOG = 700.0
"""The logarithm of a capital that is still a double."""


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
