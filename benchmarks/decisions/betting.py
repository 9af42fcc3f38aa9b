"""E-processes: a bettor against a claim, whose capital rarely grows while the claim is true.

Ville's inequality: while the claim holds, the capital reaches 1 / alpha in at most a share
alpha of all runs, no matter how often one looks. Waudby-Smith and Ramdas (2024), Estimating means
of bounded random variables by betting, Journal of the Royal Statistical Society B 86:1-27.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.decisions.stream import Bools, Ints

_STAKES = (np.arange(20) + 0.5) / 20
"""Shares of the capital; the money is spread over bettors who each stake one, all the time."""


def worse(differences: NDArray[np.int8], alpha: float) -> Bools:
    """Where capital bet against "breaks no more often than fixes" has reached 1 / alpha.

    `differences` (runs, steps) are 1 for broke, -1 for fixed, 0 for neither.
    """
    broke = np.cumsum(differences == 1, axis=1, dtype=np.int32)
    fixed = np.cumsum(differences == -1, axis=1, dtype=np.int32)
    needed = _needed_to_reject(alpha, differences.shape[1])
    reached: Bools = broke >= needed[fixed]
    return reached


@lru_cache
def _needed_to_reject(alpha: float, steps: int) -> Ints:
    """The number of broke that rejects, for each number of fixed from 0 to `steps`."""
    needed = np.empty(steps + 1, dtype=np.int32)
    broke = 0
    for fixed in range(steps + 1):
        while broke <= steps and _log_capital(broke, fixed) < -np.log(alpha):
            broke += 1
        needed[fixed] = broke
    return needed


def _log_capital(broke: int, fixed: int) -> float:
    logs = broke * np.log1p(_STAKES) + fixed * np.log1p(-_STAKES)
    return float(np.logaddexp.reduce(logs) - np.log(_STAKES.size))


def first(reached: Bools) -> Ints:
    """The first step at which it was so, for each run; the number of steps where it never was."""
    steps: Ints = np.where(reached.any(axis=1), reached.argmax(axis=1), reached.shape[1])
    return steps
