"""Durkalski's clustered McNemar test, for several pairs of samples per fixture.

It is for comparison with the deciding test: it is two-sided, and its level is right only for many
clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gatekeeper.stats.arguments import require_count


@dataclass(frozen=True, slots=True)
class ClusteredMcNemar:
    """`statistic` is chi-square with one degree of freedom; `p_value` is two-sided."""

    statistic: float
    p_value: float


def durkalski(
    broke: Sequence[int], fixed: Sequence[int], pairs: Sequence[int]
) -> ClusteredMcNemar | None:
    """Test for equal rates over clusters of pairs, with one entry per cluster in each sequence.

    Of a cluster's `pairs` (n_k), `broke` passed on base alone (b_k) and `fixed` on head alone
    (c_k): with d_k = (b_k - c_k) / n_k, the statistic is (sum d_k)^2 / sum d_k^2. Each cluster
    counts once, whatever its size. With one pair a cluster it is McNemar's chi-square without
    correction. None below two clusters with a pair, and if no cluster's rates differ: 0/0.
    The order does not matter. Durkalski, V. L., Palesch, Y. Y., Lipsitz, S. R. and Rust, P. F.
    (2003), Analysis of clustered matched-pair data, Statistics in Medicine 22:2417-2428.
    """
    if not len(broke) == len(fixed) == len(pairs):
        raise ValueError(
            "pairs: `broke`, `fixed` and `pairs` must have the same number of entries, "
            f"got {len(broke)}, {len(fixed)} and {len(pairs)} entries"
        )
    shares = []
    for b, c, n in zip(broke, fixed, pairs, strict=True):
        require_count("broke", b)
        require_count("fixed", c)
        require_count("pairs", n)
        if b + c > n:
            raise ValueError(f"pairs: must be at least `broke + fixed` = {b + c}, got {n}")
        if n:
            shares.append((b - c) / n)
    squares = math.fsum(share * share for share in shares)
    if len(shares) < 2 or squares == 0:
        return None
    statistic = math.fsum(shares) ** 2 / squares
    # Chi-square with one degree of freedom: its root is a normal deviate.
    return ClusteredMcNemar(statistic, math.erfc(math.sqrt(statistic / 2)))
