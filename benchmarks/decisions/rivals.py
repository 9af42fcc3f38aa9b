"""Rules found elsewhere, on the same streams. What each takes for granted is in its docstring."""

from __future__ import annotations

import numpy as np

from benchmarks.decisions import betting
from benchmarks.decisions.designs import (
    REGRESSED,
    Decisions,
    Undecided,
    decided_at_first,
    decided_at_the_end,
)
from benchmarks.decisions.sign_flip import sign_flip_p
from benchmarks.decisions.stream import Bools, Floats, Ints, Stream

EVALSIG_FROM_PAIR = 30
EVALSIG_RHO = 1.0


def evalsig(stream: Stream, alpha: float, margin: float) -> Decisions:  # noqa: ARG001
    """`evalsig.sequential_gate` of version 0.1.2, fed pair by pair in plan order.

    Takes every pair for a new independent one and the spread so far for the true one.
    """
    return decided_at_first(stream, evalsig_fires(stream, alpha))


def evalsig_fires(stream: Stream, alpha: float) -> Bools:
    """Where its lower bound, mean less half-width, is above zero; (runs, pairs).

    The half-width for n differences of standard deviation s is
    s sqrt(2 (n + rho²) log(sqrt(n + rho²) / (alpha rho))) / n, and infinite for s = 0.
    """
    fed = stream.measured_in_plan_order
    n = np.cumsum(fed, axis=1, dtype=np.int32)
    total = np.cumsum(stream.in_plan_order, axis=1, dtype=np.float64)
    squares = np.cumsum(stream.in_plan_order != 0, axis=1, dtype=np.float64)
    variance_by_n = squares * n - total**2  # n (n - 1) times the variance, a whole number
    squared_width = _squared_width(stream.pairs, alpha)[n] * variance_by_n
    above_zero = (total > 0) & (variance_by_n > 0) & (total**2 > squared_width)
    fires: Bools = above_zero & fed & (n >= EVALSIG_FROM_PAIR)
    return fires


def _squared_width(pairs: int, alpha: float) -> Floats:
    """The half-width of the sum, squared, per n (n - 1) times the variance; for n up to `pairs`."""
    n = np.arange(pairs + 1, dtype=np.float64)
    shifted = n + EVALSIG_RHO**2
    logs = np.log(np.maximum(np.sqrt(shifted) / (alpha * EVALSIG_RHO), 1 + 1e-12))
    widths = np.zeros(pairs + 1)  # below two pairs there is no variance to multiply it by
    widths[2:] = (2 * shifted * logs)[2:] / (n * (n - 1))[2:]
    return widths


def pooled_mcnemar(stream: Stream, alpha: float, margin: float) -> Decisions:  # noqa: ARG001
    """Exact McNemar over all pairs at the end: repeated draws count as new fixtures."""
    broke = (stream.differences == 1).sum(axis=(1, 2))
    fixed = (stream.differences == -1).sum(axis=(1, 2))
    return decided_at_the_end(stream, _mcnemar_p(broke, fixed) <= alpha)


def _mcnemar_p(broke: Ints, fixed: Ints) -> Floats:
    from scipy.stats import binom

    p: Floats = binom.sf(broke - 1, broke + fixed, 0.5)
    return p


def naive_e_process(stream: Stream, alpha: float, margin: float) -> Decisions:  # noqa: ARG001
    """The bettor of round one, betting on through all rounds: repeated draws count as new."""
    return decided_at_first(stream, betting.worse(stream.in_plan_order, alpha))


def threshold(stream: Stream, alpha: float, margin: float) -> Decisions:  # noqa: ARG001
    """Fails when head's pass rate is below base's by more than the margin; no statistics at all."""
    base = (stream.base & stream.measured).sum(axis=(1, 2))
    head = (stream.head & stream.measured).sum(axis=(1, 2))
    allowed = margin * stream.measured.sum(axis=(1, 2))
    return decided_at_the_end(stream, base - head > allowed + 1e-9)


def peeking(stream: Stream, alpha: float, margin: float) -> Decisions:  # noqa: ARG001
    """The fixed design's test at the full alpha after every round, until it is significant."""
    runs = Undecided(stream)
    for rounds in range(1, stream.rounds + 1):
        going_on = runs.open
        counts = stream.by_cluster[going_on, :, :rounds].sum(axis=2, dtype=np.int32)
        significant = sign_flip_p(counts) <= alpha
        runs.end(going_on[significant], REGRESSED, rounds * stream.fixtures)
    return runs.decisions()
