"""Computes the power of the exact one-sided McNemar test: which drop could a run detect?

The power is unconditional and exact: the number of changed fixtures is binomial, and so is the
number of broken ones among them (Connett, J. E., Smith, J. A. and McHugh, R. B. (1987), Sample size
and power for pair-matched case-control studies, Statistics in Medicine 6:53-59). Numbers of changed
fixtures with a probability below 1e-15 are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

from gatekeeper.stats.arguments import require_count, require_inside, require_share
from gatekeeper.stats.paired.mcnemar import critical_counts

MOST_FIXTURES = 1_000_000
"""Where `fixtures_needed` gives up."""

_DEVIATIONS = 9.0
_BISECTIONS = 30
_ROUNDING = 1 + 1e-9
"""Lets p = alpha count as rejected in spite of the rounding of sums: alpha 0.5, 0.25, ..."""


def regression_power(fixtures: int, drop: float, alpha: float, fixed_rate: float = 0.0) -> float:
    """Return the probability that the test says "worse" at `alpha` if each of `fixtures` breaks
    with probability `drop` and is fixed with probability `fixed_rate`."""
    require_count("fixtures", fixtures)
    require_inside("alpha", alpha)
    require_share("drop", drop)
    require_share("fixed_rate", fixed_rate)
    if drop + fixed_rate > 1 + 1e-12:
        raise ValueError(f"drop: must be at most `1 - fixed_rate` = {1 - fixed_rate:g}, got {drop}")
    changed = min(1.0, drop + fixed_rate)
    if fixtures == 0 or drop == 0:
        # Fixtures that only get fixed never make p <= alpha < 1.
        return 0.0
    if fixed_rate == 0:
        return _binomial_tail(fixtures, drop, _fewest_that_reject(alpha))
    import numpy as np
    from scipy.special import betainc, gammaln, xlog1py, xlogy

    mean = fixtures * changed
    reach = _DEVIATIONS * math.sqrt(mean * (1 - changed)) + _DEVIATIONS**2
    first, last = max(1, math.floor(mean - reach)), min(fixtures, math.ceil(mean + reach))
    n = np.arange(first, last + 1, dtype=float)
    critical = np.asarray(_critical_values(_round_up(last), alpha)[first : last + 1], dtype=float)
    can_reject = critical <= n
    n, critical = n[can_reject], critical[can_reject]
    log_weight = (
        gammaln(fixtures + 1)
        - gammaln(n + 1)
        - gammaln(fixtures - n + 1)
        + xlogy(n, changed)
        + xlog1py(fixtures - n, -changed)
    )
    rejects = betainc(critical, n - critical + 1, drop / changed)
    return min(1.0, float(np.sum(np.exp(log_weight) * rejects)))


@lru_cache(maxsize=256)
def minimum_detectable_effect(
    fixtures: int, alpha: float, power: float = 0.8, fixed_rate: float = 0.0
) -> float | None:
    """Return the smallest share of fixtures that must break to be found with probability `power`.

    None if even the largest possible drop (every fixture that is not fixed) is not detected: below
    5 fixtures at alpha 0.05. With a `fixed_rate` the net drop is the answer less that rate.
    """
    require_inside("power", power)
    require_share("fixed_rate", fixed_rate)
    return _smallest(
        lambda drop: regression_power(fixtures, drop, alpha, fixed_rate) >= power, 1.0 - fixed_rate
    )


def smallest_spread_drop(
    fixtures: int, rounds: int, alpha: float, power: float = 0.8, flicker: float = 0.0
) -> float | None:
    """Return the smallest drop of every fixture's pass rate, all alike, that the sign-flip test of
    `rounds` samples finds with probability `power`; None if it finds none.

    `flicker` is half the variance of a fixture's mean difference without the drop. The drop adds
    its own, `drop (1 - drop) / rounds`. The total of the differences is normal, and is compared
    with its spread over swaps of base and head.
    """
    require_count("rounds", rounds)
    require_inside("alpha", alpha)
    require_inside("power", power)
    require_share("flicker", flicker)
    if 0.5**fixtures > alpha * _ROUNDING:
        return None
    rejects, finds = (NormalDist().inv_cdf(share) for share in (1 - alpha, power))

    def is_found(drop: float) -> bool:
        variance = 2 * flicker + drop * (1 - drop) / rounds
        needed = rejects * math.sqrt(drop**2 + variance) + finds * math.sqrt(variance)
        return math.sqrt(fixtures) * drop >= needed

    return _smallest(is_found, 1.0)


def fixtures_needed(
    drop: float, alpha: float, power: float = 0.8, fixed_rate: float = 0.0
) -> int | None:
    """Return how many fixtures find a `drop` with probability `power`: one fewer is not enough.

    None if no number up to a million does, such as for a drop that fixes outweigh.
    """
    require_inside("power", power)
    regression_power(1, drop, alpha, fixed_rate)
    if drop <= fixed_rate:
        return None
    few, enough = 0, 1
    while regression_power(enough, drop, alpha, fixed_rate) < power:
        if enough >= MOST_FIXTURES:
            return None
        few, enough = enough, min(2 * enough, MOST_FIXTURES)
    while enough - few > 1:
        middle = (few + enough) // 2
        if regression_power(middle, drop, alpha, fixed_rate) < power:
            few = middle
        else:
            enough = middle
    return enough


def _smallest(is_found: Callable[[float], bool], most: float) -> float | None:
    """Return the smallest drop that is found, of at most `most`; None if not even that is."""
    if not is_found(most):
        return None
    low, high = 0.0, most
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_found(middle) else (middle, high)
    return high


def _fewest_that_reject(alpha: float) -> int:
    """Return the smallest number of changed fixtures, all of them broken, for which the test
    rejects."""
    fewest = 1
    while 0.5**fewest > alpha * _ROUNDING:
        fewest += 1
    return fewest


def _binomial_tail(count: int, share: float, least: int) -> float:
    """Return P(X >= least) for X ~ binomial(count, share), without scipy, whose import takes longer
    than everything else in `validate`."""
    if least > count:
        return 0.0
    if share >= 1:
        return 1.0
    odds, upward = share / (1 - share), count * share < least
    first = least if upward else 0
    last = count if upward else least - 1
    log_first = (
        math.lgamma(count + 1) - math.lgamma(first + 1) - math.lgamma(count - first + 1)
    ) + (first * math.log(share) + (count - first) * math.log1p(-share))
    weight = total = math.exp(log_first)
    for k in range(first, last):
        weight *= odds * (count - k) / (k + 1)
        total += weight
        if upward and weight < total * 1e-17:
            break
    return min(1.0, total if upward else max(0.0, 1 - total))


def _round_up(last: int) -> int:
    """Round up to a power of two, so that a search needs few different tables."""
    return 1 << max(8, last.bit_length())


@lru_cache(maxsize=16)
def _critical_values(last: int, alpha: float) -> tuple[int, ...]:
    return tuple(critical_counts([alpha * _ROUNDING] * last))
