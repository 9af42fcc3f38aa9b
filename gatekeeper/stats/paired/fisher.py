"""Fisher's exact test: is one fixture worse on head, given several samples on each arm?"""

from __future__ import annotations

import math

from gatekeeper.stats.arguments import require_passed
from gatekeeper.stats.paired.mcnemar import Alternative


def fisher_exact(
    base_passed: int,
    base_n: int,
    head_passed: int,
    head_n: int,
    alternative: Alternative = "worse",
) -> float:
    """Return the p-value of `head_passed` of `head_n` against `base_passed` of `base_n`, given how
    many passed in all; 1 if an arm has no sample.

    `worse` is the probability of at most this many passes on head; `two-sided` that of all tables
    that are at most as probable as this one. In whole numbers throughout, so that equally probable
    tables are recognised as such; the counts are the samples of one fixture, hence small. Fisher,
    R. A. (1935), The logic of inductive inference, JRSS 98:39-82.
    """
    require_passed("base_passed", base_passed, "base_n", base_n)
    require_passed("head_passed", head_passed, "head_n", head_n)
    if alternative not in ("worse", "two-sided"):
        raise ValueError(f"alternative: must be 'worse' or 'two-sided', got {alternative!r}")
    passed = base_passed + head_passed
    ways = {
        k: math.comb(head_n, k) * math.comb(base_n, passed - k)
        for k in range(max(0, passed - base_n), min(head_n, passed) + 1)
    }
    observed = ways[head_passed]
    extreme = sum(
        count
        for k, count in ways.items()
        if (k <= head_passed if alternative == "worse" else count <= observed)
    )
    return extreme / sum(ways.values())
