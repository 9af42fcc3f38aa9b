"""The product's own adaptive test, asked run by run as the product asks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.decisions.designs import (
    EXHAUSTED,
    NOT_WORSE,
    REGRESSED,
    UNMEASURED,
    Decisions,
)
from benchmarks.decisions.scenarios import ALPHA
from benchmarks.decisions.stream import Stream
from gatekeeper.stats.sequential import SequentialTest, Stop

if TYPE_CHECKING:
    from gatekeeper.stats.sequential import Differences

_ENDED: dict[Stop, int] = {
    "regressed": REGRESSED,
    "not_worse": NOT_WORSE,
    "exhausted": EXHAUSTED,
}


def adaptive(stream: Stream, level: float, margin: float) -> Decisions:
    """`gatekeeper.stats.sequential`: the walk through the first round, then the looks.

    Where contracts share alpha by Holm, `level` is the strictest, which is watched at while
    samples come in. "Not worse" is each contract's own claim and has the whole alpha.
    """
    test = SequentialTest(stream.sizes.size, stream.rounds, level, ALPHA, margin)
    ended = np.full(stream.runs, EXHAUSTED, dtype=np.int8)
    pairs = np.full(stream.runs, stream.pairs)
    kindest, harshest = stream.kindest_by_cluster, stream.harshest_by_cluster
    for run in range(stream.runs):
        stop, clusters, rounds = _one_run(test, kindest[run], harshest[run])
        ended[run] = _ENDED[stop]
        if stop != "regressed" and _could_be_worse(
            test, kindest[run], harshest[run], clusters, rounds
        ):
            ended[run] = UNMEASURED
        drawn_first = int(stream.pairs_after_cluster[clusters - 1])
        pairs[run] = rounds * stream.fixtures if rounds else drawn_first
    return Decisions(ended, pairs)


def _one_run(
    test: SequentialTest, kindest: Differences, harshest: Differences
) -> tuple[Stop, int, int]:
    """The answer, how many inputs were drawn by then, and how many complete rounds."""
    if early := test.after_pairs(kindest[:, 0], harshest[:, 0]):
        stop, clusters = early
        return stop, clusters, 0
    for look in test.looks:
        drawn = slice(None), slice(look.rounds)
        if found := test.after_round(kindest[drawn], harshest[drawn]):
            return found, len(kindest), look.rounds
    return "exhausted", len(kindest), test.rounds


def _could_be_worse(
    test: SequentialTest, kindest: Differences, harshest: Differences, clusters: int, rounds: int
) -> bool:
    """Whether the gate says that it could not measure: had the failed calls all gone against
    head, it would be worse, and by more than the margin."""
    first = harshest[:clusters, 0]
    drawn = harshest[:, :rounds]
    seen = drawn if rounds else first
    if seen.mean() <= test.margin or (kindest == harshest).all():
        return False
    return test.evaluate(drawn, first).regressed
