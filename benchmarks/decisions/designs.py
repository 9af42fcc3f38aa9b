"""Designs: rules that look at a stream, stop at some pair and say what they found.

A design takes a stream, its level and the margin, and decides all runs of the stream at
once. Here stand those that count an input as one piece of evidence however often it is drawn;
rivals.py has the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.decisions import betting
from benchmarks.decisions.sign_flip import sign_flip_p
from benchmarks.decisions.stream import Bools, Ints, Stream

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
