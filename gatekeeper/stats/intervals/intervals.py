"""Confidence intervals for rates, quantiles and the difference of two paired rates.

None means that there is no data, or too little for an interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gatekeeper.stats.arguments import (
    require_count,
    require_finite,
    require_inside,
    require_numbers,
    require_passed,
    require_same_length,
)
from gatekeeper.stats.estimate import Estimate, normal_quantile
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.gaffke import gaffke_interval

UNSEEN = 1000
"""How many times the largest observed amount an amount without a limit could be."""

SMALL_SAMPLE = 10
"""Below this many samples `rate_interval` takes Jeffreys, as Brown, Cai and DasGupta (2001) and
the PCSL paper do."""


def wilson(passed: int, n: int, confidence: float = 0.95) -> ConfidenceInterval:
    """Return the score interval of one rate. `n` must be at least 1.

    Wilson, E. B. (1927), Probable inference, the law of succession, and statistical
    inference, JASA 22:209-212.
    """
    _require_sample(passed, n, confidence)
    z2 = normal_quantile(confidence) ** 2
    centre = (passed + z2 / 2) / (n + z2)
    half = math.sqrt(z2 * (passed * (n - passed) / n + z2 / 4)) / (n + z2)
    # At the ends the formula gives exactly 0 and 1; floating point does not.
    low = 0.0 if passed == 0 else max(0.0, centre - half)
    high = 1.0 if passed == n else min(1.0, centre + half)
    return ConfidenceInterval(low, high)


def jeffreys(passed: int, n: int, confidence: float = 0.95) -> ConfidenceInterval:
    """Return the equal-tailed interval of the Beta(1/2, 1/2) prior. `n` must be at least 1.

    With no pass the lower end is 0, with no failure the upper end is 1, so that the
    coverage does not fall to 0 if the true rate nears an end: Brown, L. D., Cai, T. T.
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
    """Return the interval of one rate that the gate shows; None without a sample.

    Jeffreys below 10 samples and if all or none passed, else Wilson.
    """
    require_passed("passed", passed, "n", n)
    require_inside("confidence", confidence)
    if n == 0:
        return None
    method = jeffreys if n < SMALL_SAMPLE or passed in (0, n) else wilson
    return method(passed, n, confidence)


def estimated_rate(passed: int, n: int, confidence: float = 0.95) -> Estimate | None:
    """Return one rate with the interval that the gate shows; None without a sample."""
    interval = rate_interval(passed, n, confidence)
    return Estimate(passed / n, interval) if n else None


def clustered_rate_interval(
    passed: Sequence[int], samples: Sequence[int], confidence: float = 0.95
) -> ConfidenceInterval | None:
    """Return the interval of one rate over samples in clusters, with one entry per cluster, as in
    surveys; None without a sample. It is for information: with few clusters of high rates its lower
    end is too high (docs/statistics.md).

    Clopper-Pearson on the effective sample size: Korn, E. L. and Graubard, B. I. (1998),
    Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data, Survey Methodology 24:193-201. With one sample a cluster it
    is Clopper-Pearson itself.
    """
    require_inside("confidence", confidence)
    if len(passed) != len(samples):
        raise ValueError(
            f"samples: must have {len(passed)} entries, as many as `passed`; got {len(samples)}"
        )
    for k, n in zip(passed, samples, strict=True):
        require_passed("passed", k, "samples", n)
    clusters = [(k, n) for k, n in zip(passed, samples, strict=True) if n]
    if not clusters:
        return None
    total, good = sum(n for _, n in clusters), sum(k for k, _ in clusters)
    share = _effective_size(clusters, confidence) / total
    return _clopper_pearson(good * share, (total - good) * share, confidence)


def clustered_mean_interval(
    totals: Sequence[float],
    samples: Sequence[int],
    confidence: float = 0.95,
    most: float | None = None,
) -> ConfidenceInterval | None:
    """Return the interval of the mean of amounts over inputs, such as costs: the total of each
    input's samples and their number. Each input has the same weight. None without a sample, and if
    all amounts are 0, which says nothing about others.

    No method can bound such a mean from above without an assumption about the unobserved: one
    input in a million could cost anything (Bahadur, R. R. and Savage, L. J. (1956), The
    nonexistence of certain statistical procedures in nonparametric problems, Annals of
    Mathematical Statistics 27:1115-1122). `most` is what one could be at most; by default
    `UNSEEN` times the largest observed, so that little is proven. Gaffke's bound (gaffke.py).
    """
    require_inside("confidence", confidence)
    require_finite("totals", totals)
    require_same_length("samples", samples, "totals", totals)
    for total, count in zip(totals, samples, strict=True):
        require_count("samples", count)
        if total < 0:
            raise ValueError(f"totals: must not be negative, got {total}")
    means = [total / count for total, count in zip(totals, samples, strict=True) if count]
    largest = max(means, default=0.0)
    if most is not None:
        require_finite("most", [most])
    if largest == 0:
        return None
    return gaffke_interval(
        means, 0.0, max(largest, UNSEEN * largest if most is None else most), confidence
    )


def quantile_bounds(
    values: Sequence[float], q: float, confidence: float = 0.95
) -> tuple[float | None, float | None]:
    """Order statistics below and above the `q` quantile, each missed with probability at most (1 -
    confidence) / 2; None for an end that needs more values.

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


def paired_difference_interval(
    both: int, broke: int, fixed: int, neither: int, confidence: float = 0.95
) -> ConfidenceInterval | None:
    """Return the interval of head's rate minus base's over the same fixtures; None without any.

    `both` passed on both arms, `broke` on base alone, `fixed` on head alone, `neither` on none.
    Wilson limits of the two rates combined by their correlation phi, continuity corrected if
    positive: Newcombe, R. G. (1998), Improved confidence intervals for the difference between
    binomial proportions based on paired data, Statistics in Medicine 17:2635-2650, method 10.
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


def _effective_size(clusters: Sequence[tuple[int, int]], confidence: float) -> float:
    """Return how many independent samples the clusters' (passed, samples) are worth.

    The variance of the ratio estimator between clusters takes the place of p(1-p)/n; its few
    degrees of freedom shrink the size once more, as in Korn and Graubard. The result lies
    between the size for samples that only repeat their cluster (Kish (1965), Survey Sampling,
    chapter 5: the number of clusters, if they are of one size) and the number of samples:
    an estimate from few clusters can fall outside either.
    """
    m, n = len(clusters), sum(size for _, size in clusters)
    if m in (1, n):
        return m
    p = sum(passed for passed, _ in clusters) / n
    if p in (0, 1):
        return m  # all alike: the clustering cannot be estimated, so the worst is taken
    from scipy.special import stdtrit

    between = m / (m - 1) * math.fsum((k - p * size) ** 2 for k, size in clusters) / n**2
    estimated = p * (1 - p) / between if between else math.inf
    tail = (1 + confidence) / 2
    freedom = (stdtrit(n - 1, tail) / stdtrit(m - 1, tail)) ** 2
    copies = n**2 / sum(size**2 for _, size in clusters)
    return float(max(copies, min(n, estimated) * freedom))


def _clopper_pearson(good: float, bad: float, confidence: float) -> ConfidenceInterval:
    """Return the Clopper-Pearson interval, exact for whole counts; the beta quantiles take others
    as well."""
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = 0.0 if good == 0 else float(betaincinv(good, bad + 1, tail))
    high = 1.0 if bad == 0 else float(betaincinv(good + 1, bad, 1 - tail))
    return ConfidenceInterval(low, high)


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
