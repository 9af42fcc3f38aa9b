"""How many pairs a sequential test takes if the change is harmless.

There is no formula for the mean sample number of this design: the boundary of the first round, the
e-process, the looks, and futility at the end of a round stop it together. So the test itself is
simulated, with both arms passing alike: the average sample number of Wald, A. (1947), Sequential
Analysis, chapter 3, by Monte Carlo.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from gatekeeper.stats.paired.futility import is_look
from gatekeeper.stats.paired.sequential import SequentialTest

if TYPE_CHECKING:
    from gatekeeper.stats.paired.sequential import Differences

ASSUMED_PASS_RATE = 0.9
"""How often a sample passes on either arm, each independently of the others."""

_RUNS, _FEWEST_RUNS = 40, 4
_MOST_PAIRS = 1_000_000
"""How many pairs are simulated in total, within the limits on the number of runs."""
_SEED = 20250601


@dataclass(frozen=True, slots=True)
class StoppingTime:
    """After how many pairs a test stops. `fewest` is the earliest stop that any results allow,
    `fewest_regressed` the earliest one for a regression, `expected` the mean of harmless changes,
    `most` all pairs of the plan."""

    fewest: int
    fewest_regressed: int
    expected: float
    most: int


@lru_cache(maxsize=256)
def stopping_time(test: SequentialTest, *, first_round: bool = False) -> StoppingTime:
    """Return when the test stops.

    Args:
        test: The plan.
        first_round: Whether the first round is completed in any case, unless head regressed.
    """
    most = test.fixtures * test.rounds
    if not test.early or not most:
        return StoppingTime(most, most, float(most), most)
    import numpy as np

    rng = np.random.default_rng(_SEED)
    least = test.fixtures if first_round else 0

    def sample() -> Differences:
        shape = (2, test.fixtures, 1)
        base, head = (rng.random(shape) < ASSUMED_PASS_RATE).astype(np.int8)
        difference: Differences = base - head
        return difference

    def constant(difference: int) -> int:
        return _pairs(test, lambda: np.full((test.fixtures, 1), difference, dtype=np.int8))

    runs = max(_FEWEST_RUNS, min(_RUNS, _MOST_PAIRS // most))
    each = [max(least, _pairs(test, sample)) for _ in range(runs)]
    broken = constant(1)
    # What changes alike in every round leaves nothing to later rounds, whichever way it changes.
    settled = min(constant(-1), constant(0), 2 * test.fixtures)
    return StoppingTime(
        fewest=min(broken, max(least, settled), most),
        fewest_regressed=broken,
        expected=sum(each) / runs,
        most=most,
    )


def _pairs(test: SequentialTest, sample: Callable[[], Differences]) -> int:
    """Return after how many pairs the test stops; `sample` returns one more round."""
    import numpy as np

    sampled = sample()
    stop = test.after_pairs(sampled[:, 0], sampled[:, 0])
    if stop is not None:
        return stop[1]
    for pairs in filter(lambda n: is_look(n, test.fixtures), range(1, test.fixtures)):
        first = sampled[:pairs, 0]
        if test.is_futile(sampled[:, :0], first) and first.mean() <= test.margin:
            return pairs
    for _ in range(test.rounds - 1):
        if test.after_round(sampled, sampled) is not None:
            break
        if test.is_futile(sampled, sampled[:0, 0]) and sampled.mean() <= test.margin:
            break
        sampled = np.concatenate([sampled, sample()], axis=1)
    return test.fixtures * int(sampled.shape[1])
