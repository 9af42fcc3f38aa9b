"""Computes how many of the changed fixtures must be broken for a significant result."""

from __future__ import annotations

from collections.abc import Iterable


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
