"""McNemar's test: of the changed fixtures, did more break than chance allows? And Fisher's: did one
fixture get worse?

McNemar's exact test decides. The two chi-squares are for information, because papers report them.
Without a changed fixture each of them is 1: there is no evidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from gatekeeper.stats.arguments import require_count, require_passed

Alternative = Literal["worse", "two-sided"]

_WHOLE_NUMBERS_UP_TO = 2000
"""Up to here the p-value is the correctly rounded quotient of two whole numbers, so that
p <= alpha is decided exactly, and scipy need not be loaded; above, integers get slow."""


def mcnemar_exact(broke: int, fixed: int, alternative: Alternative = "worse") -> float:
    """Return the exact p-value for `broke` fixtures that pass on base alone and `fixed` on head
    alone.

    `worse` is P(X >= broke) for X ~ binomial(broke + fixed, 1/2); swap the two counts to ask
    for "better". Without a changed fixture there is no evidence: p = 1. McNemar, Q. (1947),
    Note on the sampling error of the difference between correlated proportions or
    percentages, Psychometrika 12:153-157; exact form in Agresti, A. (2013), Categorical Data
    Analysis, 3rd ed., section 11.1.2.
    """
    require_count("broke", broke)
    require_count("fixed", fixed)
    if alternative == "worse":
        return _upper_tail(broke, broke + fixed)
    if alternative == "two-sided":
        return min(1.0, 2 * _upper_tail(max(broke, fixed), broke + fixed))
    raise ValueError(f"alternative: must be 'worse' or 'two-sided', got {alternative!r}")


def mcnemar_chi_square(broke: int, fixed: int, corrected: bool = True) -> float:
    """Return the two-sided p-value of McNemar's chi-square with one degree of freedom.

    (|broke - fixed| - 1)^2 / (broke + fixed) with Edwards' continuity correction, which takes
    nothing off a difference of 0; without it (broke - fixed)^2 / (broke + fixed), which is for
    comparison with other tools only: it calls chance significant where few fixtures changed.
    Without a changed fixture 0/0, answered by 1. McNemar (1947); Edwards, A. L. (1948), Note on
    the "correction for continuity" in testing the significance of the difference between
    correlated proportions, Psychometrika 13:185-187.
    """
    require_count("broke", broke)
    require_count("fixed", fixed)
    n = broke + fixed
    if n == 0:
        return 1.0
    difference = max(0, abs(broke - fixed) - corrected)
    return math.erfc(difference / math.sqrt(2 * n))  # chi-square: its root is a normal deviate


def critical_counts(levels: Iterable[float]) -> list[int]:
    """Return, for each number n = 0, 1, 2 … of changed fixtures, the fewest broken with P(X >=
    broken) <= level for X ~ binomial(n, 1/2); n + 1 if not even all are enough.

    `levels` holds one level for each n from 1 on, and never rises. The number never decreases with
    n, so one pass that updates the tail probability is enough.
    """
    fewest, tail, weight = 1, 0.0, 1.0  # tail = P(X >= fewest), weight = P(X = fewest - 1)
    found = [1]
    for n, level in enumerate(levels, start=1):
        tail += weight / 2
        below = fewest - 1
        weight *= n / (2 * (n - below)) if n > below else 0.0
        # Beyond n nothing is left of the tail but the rounding of its sums.
        while tail > level and fewest <= n:
            weight *= (n - below) / (below + 1)
            tail -= weight
            fewest += 1
            below += 1
        found.append(fewest)
    return found


def fisher_exact(base_passed: int, base_n: int, head_passed: int, head_n: int) -> float:
    """Return the one-sided p-value that one fixture with several samples is worse on head, given
    how many passed in all: the probability of at most `head_passed`; 1 if an arm has no sample.

    In whole numbers throughout; the counts are the samples of one fixture, hence small. Fisher,
    R. A. (1935), The logic of inductive inference, JRSS 98:39-82.
    """
    require_passed("base_passed", base_passed, "base_n", base_n)
    require_passed("head_passed", head_passed, "head_n", head_n)
    passed = base_passed + head_passed
    ways = {
        k: math.comb(head_n, k) * math.comb(base_n, passed - k)
        for k in range(max(0, passed - base_n), min(head_n, passed) + 1)
    }
    return sum(n for k, n in ways.items() if k <= head_passed) / sum(ways.values())


def _upper_tail(k: int, n: int) -> float:
    """Return P(X >= k) for X ~ binomial(n, 1/2)."""
    if k == 0:
        return 1.0
    if k > n:
        return 0.0
    if n > _WHOLE_NUMBERS_UP_TO:
        from scipy.special import betainc

        return float(betainc(k, n - k + 1, 0.5))
    term = total = 1  # binomial(n, n), then down to binomial(n, k)
    for i in range(n, k, -1):
        term = term * i // (n - i + 1)
        total += term
    return total / (1 << n)
