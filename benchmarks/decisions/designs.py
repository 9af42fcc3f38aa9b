"""Designs: rules that look at a stream, stop at some pair and say what they found.

A design takes a stream, its level and the margin, and decides all runs of the stream at
once. Here stand those that count an input as one piece of evidence however often it is drawn;
rivals.py has the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.decisions import betting
from benchmarks.decisions.sign_flip import sign_flip_p
from benchmarks.decisions.stream import Bools, Floats, Ints, Stream

EXHAUSTED, REGRESSED, NOT_WORSE, UNMEASURED = 0, 1, 2, 3


@dataclass(frozen=True)
class Decisions:
    """What each run ended with, and how many pairs (two calls each) it had drawn by then."""

    ended: NDArray[np.int8]
    pairs: Ints

    @property
    def regressed(self) -> Bools:
        regressed: Bools = self.ended == REGRESSED
        return regressed

    @property
    def not_worse(self) -> Bools:
        not_worse: Bools = self.ended == NOT_WORSE
        return not_worse

    @property
    def unmeasured(self) -> Bools:
        """Too many calls failed to tell."""
        unmeasured: Bools = self.ended == UNMEASURED
        return unmeasured


Design = Callable[[Stream, float, float], Decisions]
"""(stream, level, margin) to what was decided."""


class Undecided:
    """The runs of a stream that are still going on, and how the others ended."""

    def __init__(self, stream: Stream) -> None:
        self._ended = np.full(stream.runs, EXHAUSTED, dtype=np.int8)
        self._pairs = np.full(stream.runs, stream.pairs)
        self._open = np.ones(stream.runs, dtype=bool)

    @property
    def open(self) -> Ints:
        """The numbers of the runs that go on."""
        return np.flatnonzero(self._open)

    def end(self, runs: Ints, ended: int, pairs: Ints | int) -> None:
        self._ended[runs] = ended
        self._pairs[runs] = pairs
        self._open[runs] = False

    def decisions(self) -> Decisions:
        return Decisions(self._ended, self._pairs)


def decided_at_the_end(stream: Stream, regressed: Bools) -> Decisions:
    ended = np.where(regressed, REGRESSED, EXHAUSTED).astype(np.int8)
    return Decisions(ended, np.full(stream.runs, stream.pairs))


def decided_at_first(stream: Stream, reached: Bools) -> Decisions:
    """Regressed at the first pair, in plan order, where the rule was met."""
    steps = betting.first(reached)
    ended = np.where(steps < stream.pairs, REGRESSED, EXHAUSTED).astype(np.int8)
    return Decisions(ended, np.minimum(steps + 1, stream.pairs))


def fixed(stream: Stream, alpha: float, margin: float) -> Decisions:  # noqa: ARG001
    """All pairs, then the exact sign-flip test on each input's count difference, as if every
    call without an answer had spoken for head."""
    counts = stream.kindest_by_cluster.sum(axis=2, dtype=np.int32)
    return decided_at_the_end(stream, sign_flip_p(counts) <= alpha)


@dataclass(frozen=True)
class Look:
    """A look when this many rounds are complete, with its share of alpha."""

    rounds: int
    share: float


ROUND_ONE_SHARE = 0.3
LOOKS = (Look(2, 0.1), Look(3, 0.1), Look(5, 0.1), Look(10, 0.4))


def prototype(stream: Stream, alpha: float, margin: float) -> Decisions:
    """Round one under watch of two bettors, then four looks that share the rest of alpha."""
    runs = Undecided(stream)
    _watch_round_one(stream, ROUND_ONE_SHARE * alpha, margin, runs)
    for look in _looks_within(LOOKS, stream.rounds):
        _look(stream, look, alpha, margin, runs)
    return runs.decisions()


def _looks_within(looks: Sequence[Look], rounds: int) -> list[Look]:
    """Where there are fewer rounds, the last look comes after them and takes what is left."""
    early = [look for look in looks if look.rounds < rounds]
    left = sum(look.share for look in looks) - sum(look.share for look in early)
    return [*early, Look(rounds, left)]


def _watch_round_one(stream: Stream, level: float, margin: float, runs: Undecided) -> None:
    round_one = stream.by_cluster[:, :, 0]
    worse = betting.first(betting.worse(round_one, level))
    fine = betting.first(betting.not_worse(round_one, level, margin))
    clusters = round_one.shape[1]
    for steps, other, ended in ((worse, fine, REGRESSED), (fine, worse, NOT_WORSE)):
        stopped = np.flatnonzero((steps < clusters) & (steps <= other))
        runs.end(stopped, ended, stream.pairs_after_cluster[steps[stopped]])


def _look(stream: Stream, look: Look, alpha: float, margin: float, runs: Undecided) -> None:
    going_on = runs.open
    counts = stream.by_cluster[going_on, :, : look.rounds].sum(axis=2, dtype=np.int32)
    drawn = look.rounds * stream.fixtures
    regressed = sign_flip_p(counts) <= look.share * alpha
    runs.end(going_on[regressed], REGRESSED, drawn)
    fine = ~regressed & (_highest_drop(counts / look.rounds, look.share * alpha) < margin)
    runs.end(going_on[fine], NOT_WORSE, drawn)


def _highest_drop(means: Floats, level: float) -> Floats:
    """Upper confidence bound, by Student's t, for the mean over inputs of `means`."""
    from scipy.stats import t

    n = means.shape[1]
    spread = means.std(axis=1, ddof=1) / np.sqrt(n)
    bound: Floats = means.mean(axis=1) + t.isf(level, n - 1) * spread
    return bound
