"""The betting e-process that may say, after any pair, that head is not worse by the margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gatekeeper.stats.arguments import require_inside

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_STAKE = 0.9
"""The largest share of the capital that is ever put at risk: a lost bet leaves some of it."""
_FIRST_VARIANCE = 0.1
"""The variance of a difference before any was seen: one fixture in ten changes."""


def not_worse_capital(
    differences: Sequence[int] | NDArray[np.int8], margin: float
) -> NDArray[np.float64]:
    """The capital after each pair of one who bets, from 1 on, that the mean drop is below
    `margin`. `differences` has one entry a fixture in random order: 1 where it broke, -1
    where it was fixed, 0 where it stayed.

    If the mean drop is `margin` or more, every bet is fair or worse, and the chance that the
    capital *ever* reaches 1/alpha is at most alpha (Ville 1939), at whatever pair one looks.
    The stake is the plug-in estimate of the one with the greatest growth, made from the pairs
    before: Waudby-Smith, I. and Ramdas, A. (2024), Estimating means of bounded random
    variables by betting, JRSS B 86:1-27, section B.3.
    """
    require_inside("margin", margin)
    import numpy as np

    x = np.asarray(differences, dtype=float)
    seen = np.arange(1, len(x) + 1) + 1
    mean = _before(np.cumsum(x) / seen, 0.0)
    variance = _before((_FIRST_VARIANCE + np.cumsum((x - mean) ** 2)) / seen, _FIRST_VARIANCE)
    gap = margin - mean
    stake = np.clip(gap / (variance + gap**2), 0.0, _STAKE / (1 - margin))
    growth: NDArray[np.float64] = np.exp(np.cumsum(np.log1p(stake * (margin - x))))
    return growth


def _before(after: NDArray[np.float64], first: float) -> NDArray[np.float64]:
    """What was known before each pair, of what is known after it."""
    import numpy as np

    return np.concatenate([[first], after])[: len(after)]
