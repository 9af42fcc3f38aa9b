"""Confidence intervals for rates, quantiles, means and the difference of two paired rates.

None means that the data cannot carry an interval: there is none of it, or too little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gatekeeper.stats.arguments import (
    require_count,
    require_finite,
    require_inside,
    require_numbers,
    require_passed,
)
from gatekeeper.stats.interval import ConfidenceInterval

if TYPE_CHECKING:
    import numpy as np

SMALL_SAMPLE = 10
"""Below this many samples `rate_interval` takes Jeffreys, as Brown, Cai and DasGupta (2001) and
the PCSL paper do."""

RESAMPLES = 2000
_BLOCK = 2_000_000
"""How many resampled values are held at once: 16 MB."""


def wilson(passed: int, n: int, confidence: float = 0.95) -> ConfidenceInterval:
    """The score interval of one rate. `n` must be at least 1.

    Wilson, E. B. (1927), Probable inference, the law of succession, and statistical
    inference, JASA 22:209-212.
    """
    _require_sample(passed, n, confidence)
    z2 = _normal_quantile(confidence) ** 2
    centre = (passed + z2 / 2) / (n + z2)
    half = math.sqrt(z2 * (passed * (n - passed) / n + z2 / 4)) / (n + z2)
    # At the ends the formula gives exactly 0 and 1; floating point does not.
    low = 0.0 if passed == 0 else max(0.0, centre - half)
    high = 1.0 if passed == n else min(1.0, centre + half)
    return ConfidenceInterval(low, high)


def jeffreys(passed: int, n: int, confidence: float = 0.95) -> ConfidenceInterval:
    """The equal-tailed interval of the Beta(1/2, 1/2) prior. `n` must be at least 1.

    With no pass the lower end is 0, with no failure the upper end is 1, so that the
    coverage does not fall to 0 where the true rate nears an end: Brown, L. D., Cai, T. T.
    and DasGupta, A. (2001), Interval estimation for a binomial proportion, Statistical
    Science 16:101-133, section 4.1.2.
    """
    _require_sample(passed, n, confidence)
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    a, b = passed + 0.5, n - passed + 0.5
    low = 0.0 if passed == 0 else float(betaincinv(a, b, tail))
    high = 1.0 if passed == n else float(betaincinv(a, b, 1 - tail))
    return ConfidenceInterval(low, high)


def rate_interval(passed: int, n: int, confidence: float = 0.95) -> ConfidenceInterval | None:
    """The interval of one rate as the gate shows it; None without a sample.

    Jeffreys below 10 samples and where all or none passed, else Wilson.
    """
    require_passed("passed", passed, "n", n)
    require_inside("confidence", confidence)
    if n == 0:
        return None
    method = jeffreys if n < SMALL_SAMPLE or passed in (0, n) else wilson
    return method(passed, n, confidence)


def quantile_bounds(
    values: Sequence[float], q: float, confidence: float = 0.95
) -> tuple[float | None, float | None]:
    """Order statistics below and above the `q` quantile, each missed with probability at most
    (1 - confidence) / 2; None for an end that so few values cannot give.

    The number of values below the quantile is binomial(n, q), whatever their distribution
    (at most conservative where values tie): David, H. A. and Nagaraja, H. N. (2003), Order
    Statistics, 3rd ed., section 7.1. An upper end for the 95 % quantile at 95 % confidence
    needs 72 values, a lower end far fewer. A value may be infinite: a call that never came back.
    """
    require_inside("q", q)
    require_inside("confidence", confidence)
    require_numbers("values", values)
    if not len(values):
        return None, None
    import numpy as np
    from scipy.special import bdtr

    n = len(values)
    ordered = sorted(values)
    tail = (1 - confidence) / 2
    below = bdtr(np.arange(n), n, q)  # P(at most k values lie below the quantile), k = 0 … n-1
    lower = int(np.searchsorted(below, tail, side="right")) - 1
    upper = int(np.searchsorted(below, 1 - tail, side="left"))
    return (
        float(ordered[lower]) if lower >= 0 else None,
        float(ordered[upper]) if upper < n else None,
    )


def quantile_interval(
    values: Sequence[float], q: float, confidence: float = 0.95
) -> ConfidenceInterval | None:
    """The distribution-free interval of the `q` quantile; None where either end is out of
    reach for so few values (see `quantile_bounds`)."""
    low, high = quantile_bounds(values, q, confidence)
    return None if low is None or high is None else ConfidenceInterval(low, high)


def mean_interval(
    values: Sequence[float],
    confidence: float,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> ConfidenceInterval | None:
    """The percentile bootstrap interval of the mean; None below two values.

    The order of the values does not matter. Efron, B. and Tibshirani, R. J. (1993), An
    Introduction to the Bootstrap, chapter 13. It is too narrow for small or skewed samples.
    """
    require_inside("confidence", confidence)
    require_finite("values", values)
    if isinstance(resamples, bool) or resamples < 1:
        raise ValueError(f"resamples: must be at least 1, got {resamples!r}")
    n = len(values)
    if n < 2:
        return None
    import numpy as np

    sample = np.sort(np.asarray(values, dtype=float))
    block = max(1, _BLOCK // n)
    means = np.concatenate(
        [
            sample[rng.integers(n, size=(min(block, resamples - start), n))].mean(axis=1)
            for start in range(0, resamples, block)
        ]
    )
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return ConfidenceInterval(float(low), float(high))


def paired_difference_interval(
    both: int, broke: int, fixed: int, neither: int, confidence: float = 0.95
) -> ConfidenceInterval | None:
    """The interval of head's rate minus base's over the same fixtures; None without any.

    `both` passed on both arms, `broke` on base alone, `fixed` on head alone, `neither` on
    none. Wilson limits of the two rates combined by their correlation phi, continuity
    corrected where positive: Newcombe, R. G. (1998), Improved confidence intervals for the
    difference between binomial proportions based on paired data, Statistics in Medicine
    17:2635-2650, method 10.
    """
    counts = {"both": both, "broke": broke, "fixed": fixed, "neither": neither}
    for name, count in counts.items():
        require_count(name, count)
    require_inside("confidence", confidence)
    n = sum(counts.values())
    if n == 0:
        return None
    base, head = (both + broke) / n, (both + fixed) / n
    base_ci = wilson(both + broke, n, confidence)
    head_ci = wilson(both + fixed, n, confidence)
    phi = _phi(both, broke, fixed, neither)
    down = _combine(head - head_ci.low, base_ci.high - base, phi)
    up = _combine(head_ci.high - head, base - base_ci.low, phi)
    difference = (fixed - broke) / n
    return ConfidenceInterval(max(-1.0, difference - down), min(1.0, difference + up))


def _phi(both: int, broke: int, fixed: int, neither: int) -> float:
    n = both + broke + fixed + neither
    margins = (both + broke) * (fixed + neither) * (both + fixed) * (broke + neither)
    if margins == 0:
        return 0.0
    cross = both * neither - broke * fixed
    corrected = max(cross - n / 2, 0.0) if cross > 0 else float(cross)
    return corrected / math.sqrt(margins)


def _combine(head_part: float, base_part: float, phi: float) -> float:
    squared = head_part**2 - 2 * phi * head_part * base_part + base_part**2
    return math.sqrt(max(0.0, squared))


def _require_sample(passed: int, n: int, confidence: float) -> None:
    require_passed("passed", passed, "n", n)
    require_inside("confidence", confidence)
    if n == 0:
        raise ValueError("n: must be at least 1, got 0")


def _normal_quantile(confidence: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + confidence) / 2)
