"""The product's own adaptive test, asked run by run as the product asks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
from gatekeeper.stats.paired.futility import is_look
from gatekeeper.stats.paired.sequential import SequentialTest, Stop

if TYPE_CHECKING:
    from gatekeeper.stats.paired.sequential import Differences

_ENDED: dict[Stop, int] = {
    "regressed": REGRESSED,
    "not_worse": NOT_WORSE,
    "exhausted": EXHAUSTED,
}


def adaptive(
    stream: Stream, level: float, margin: float, weights: Sequence[tuple[int, ...]] = ()
) -> Decisions:
    """`gatekeeper.stats.paired.sequential`: the walk through the first round, then the looks.

    Where contracts share alpha by Holm, `level` is the strictest, which is watched at while
    samples come in. "Not worse" is each contract's own claim and has the whole alpha. `weights`
    are those of the inputs in each run.
    """
    test = SequentialTest(stream.sizes.size, stream.rounds, level, ALPHA, margin)
    ended = np.full(stream.runs, EXHAUSTED, dtype=np.int8)
    pairs = np.full(stream.runs, stream.pairs)
    kindest, harshest = stream.kindest_by_cluster, stream.harshest_by_cluster
    for run in range(stream.runs):
        test = replace(test, weights=weights[run]) if weights else test
        stop, clusters, rounds = _one_run(test, kindest[run], harshest[run])
        pairs[run] = _drawn(stream, clusters, rounds)
        futile = _futile(test, kindest[run], harshest[run], clusters, rounds)
        if futile is not None:
            stop, (clusters, rounds, further) = "exhausted", futile
            pairs[run] = rounds * stream.fixtures + _drawn(stream, further, 0)
        ended[run] = _ENDED[stop]
        if stop != "regressed" and _could_be_worse(
            test, kindest[run], harshest[run], clusters, rounds
        ):
            ended[run] = UNMEASURED
    return Decisions(ended, pairs)


def _drawn(stream: Stream, clusters: int, rounds: int) -> int:
    """How many pairs that many rounds are, or without one that many inputs of the first."""
    if rounds:
        return rounds * stream.fixtures
    return int(stream.pairs_after_cluster[clusters - 1]) if clusters else 0


def _futile(
    test: SequentialTest, kindest: Differences, harshest: Differences, clusters: int, rounds: int
) -> tuple[int, int, int] | None:
    """Where sampling is futile before the test decides: the inputs of the first round and the
    complete rounds that the answer rests on, and the inputs drawn of the next round."""
    inputs = len(kindest)
    end = rounds * inputs or clusters
    step = range(1, inputs + 1)
    looks = [k for k in step if is_look(k, inputs)]
    for number in range(test.rounds):
        for k in looks:
            if number * inputs + k >= end:
                return None
            done, further = (number + 1, 0) if k == inputs else (number, k)
            seen = harshest[:, :done] if done else harshest[:further, 0]
            if (
                test.is_futile(kindest[:, :done], kindest[:further, number])
                and seen.mean() <= test.margin
            ):
                return (inputs if done else further), done, further
    return None


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
