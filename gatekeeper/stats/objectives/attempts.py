"""Estimates how often several samples of one input all pass, or any of them does, from at least as
many samples.

Both are the share among all choices of k of the n samples, and so without bias: pass^k of Yao, S.
et al. (2024), tau-bench: a benchmark for tool-agent-user interaction in real-world domains,
arXiv:2406.12045, and pass@k of Chen, M. et al. (2021), Evaluating large language models trained on
code, arXiv:2107.03374. The obvious estimate (c/n)^k is too high, and 1 - (1 - c/n)^k too low.

Of one input little is sure: 5 of 5 passes are likely too if each passes with 0.9. But the values of
independent inputs are independent numbers from 0 to 1 with the right mean, so that Gaffke's bound
(stats/intervals/gaffke.py) of their mean holds, however few the samples are and however much inputs
differ. More samples of an input make its value precise, but say nothing of other inputs.
"""

from __future__ import annotations

from math import comb

from gatekeeper.stats.arguments import require_passed


def all_of(k: int, passed: int, n: int) -> float:
    """Return the share of choices of k of the n samples that all passed: C(passed, k) / C(n, k)."""
    _require(k, passed, n)
    return comb(passed, k) / comb(n, k)


def any_of(k: int, passed: int, n: int) -> float:
    """Return the share of choices of k of the n samples of which one or more passed."""
    _require(k, passed, n)
    return 1 - comb(n - passed, k) / comb(n, k)


def _require(k: int, passed: int, n: int) -> None:
    require_passed("passed", passed, "n", n)
    if not 1 <= k <= n:
        raise ValueError(f"k: must be from 1 to `n` = {n}, got {k}")
