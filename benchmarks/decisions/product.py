"""The product's own adaptive test, asked run by run as the product asks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.decisions.designs import EXHAUSTED, NOT_WORSE, REGRESSED, Decisions
from benchmarks.decisions.stream import Stream
from gatekeeper.stats.sequential import SequentialTest, Stop

if TYPE_CHECKING:
    from gatekeeper.stats.sequential import Differences

_ENDED: dict[Stop, int] = {
    "regressed": REGRESSED,
    "not_worse": NOT_WORSE,
    "exhausted": EXHAUSTED,
}


def adaptive(stream: Stream, alpha: float, margin: float) -> Decisions:
    """`gatekeeper.stats.sequential`: the walk through the first round, then the looks."""
    test = SequentialTest(stream.sizes.size, stream.rounds, alpha, alpha, margin)
    ended = np.full(stream.runs, EXHAUSTED, dtype=np.int8)
    pairs = np.full(stream.runs, stream.pairs)
    kindest, harshest = stream.kindest_by_cluster, stream.harshest_by_cluster
    for run in range(stream.runs):
        stop, pairs[run] = _one_run(test, stream, kindest[run], harshest[run])
        ended[run] = _ENDED[stop]
    return Decisions(ended, pairs)


def _one_run(
    test: SequentialTest, stream: Stream, kindest: Differences, harshest: Differences
) -> tuple[Stop, int]:
    if early := test.after_pairs(kindest[:, 0], harshest[:, 0]):
        stop, clusters = early
        return stop, int(stream.pairs_after_cluster[clusters - 1])
    for look in test.looks:
        drawn = slice(None), slice(look.rounds)
        if found := test.after_round(kindest[drawn], harshest[drawn]):
            return found, look.rounds * stream.fixtures
    return "exhausted", stream.pairs
