"""Is head, if worse at all, worse by less than the margin? The non-inferiority look.

Two things must hold. The upper confidence bound of the mean drop lies below the margin, by
Student's t over fixtures: it sees a little drop of many fixtures. And a share of fixtures that
broke outright would have shown itself: where hardly anything changes the variance is too small
to trust, however many samples there are, and only the number of fixtures counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gatekeeper.stats.arguments import require_inside, require_share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BROKEN = 0.5
"""A fixture that fails in more than this share of its samples more often than on base is one
that was seen to break."""

_ROUNDING = 1 + 1e-12
"""Lets P(X <= most) = alpha count as reached in spite of the rounding of sums."""


def drop_bound(drops: Sequence[float] | NDArray[np.float64], level: float) -> float | None:
    """The upper confidence bound of the mean drop at `1 - level`; None below two fixtures.

    `drops` has one entry a fixture: base's pass rate less head's, from -1 to 1. Student (1908),
    The probable error of a mean, Biometrika 6:1-25.
    """
    require_inside("level", level)
    n = len(drops)
    if n < 2:
        return None
    import numpy as np
    from scipy.special import stdtrit

    values = np.asarray(drops, dtype=float)
    error = float(values.std(ddof=1)) / math.sqrt(n)
    return float(values.mean()) + float(stdtrit(n - 1, 1 - level)) * error


def most_broken(fixtures: int, share: float, alpha: float) -> int | None:
    """The most broken fixtures that say, at `alpha`, that fewer than a `share` of all inputs
    broke: P(X <= most) <= alpha for X ~ binomial(fixtures, share). None where not even 0 do.

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
    drops: Sequence[float] | NDArray[np.float64],
    margin: float,
    visible: float | None,
    level: float,
    alpha: float,
) -> bool:
    """Whether head is not worse by `margin`: the look's own `level` is spent on the bound.

    `visible` is the smallest share of broken fixtures that so many fixtures can show (their
    minimum detectable effect), None where they can show none: a claim cannot be finer. What
    fixtures the suite happens to hold is the same at every look, so that part has `alpha` once.
    """
    if visible is None:
        return False
    bound = drop_bound(drops, level)
    if bound is None or bound >= margin:
        return False
    most = most_broken(len(drops), max(margin, visible), alpha)
    return most is not None and sum(drop > BROKEN for drop in drops) <= most
