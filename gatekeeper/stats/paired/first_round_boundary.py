"""Computes the boundary of the sequential test for the first round, pair by pair.

In the first round each fixture is sampled once. Only the fixtures whose result changed count: each
broke or was fixed. If the change is harmless, both are equally likely, so the difference of their
counts is a random walk. For each number of changed fixtures, the boundary says how many of them
must be broken to decide that head is worse. The probability of ever crossing it is at most the
level, so the test may look after each pair. A betting e-process would also be valid. This boundary
uses that the length of the walk is limited, and needs fewer pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gatekeeper.stats.arguments import require_count, require_inside
from gatekeeper.stats.paired.mcnemar import critical_counts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BISECTIONS = 16
_RANGE = 1000
"""How far from the level of the whole that of the first step can be, either way."""


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """`fewest[k]` broken among the first k changed fixtures cross the boundary (k + 1 if none do);
    `spent[k]` is the chance that a harmless change has crossed it by then. Both run from k = 0 to
    the number of fixtures."""

    fewest: NDArray[np.int64]
    spent: NDArray[np.float64]


@lru_cache(maxsize=64)
def walk_boundary(fixtures: int, level: float) -> Walk:
    """Return the boundary for at most `fixtures` changed ones that is crossed with probability
    `level` at most, as near to it as whole numbers allow.

    The k-th changed fixture is tested at a level proportional to 1/k: a broken prompt breaks
    nearly everything and is found by seven or eight changed fixtures, and a smaller drop has
    the later looks. The factor is found by bisection over the exact distribution of the walk:
    Armitage, P., McPherson, C. K. and Rowe, B. C. (1969), Repeated significance tests on
    accumulating data, JRSS A 132:235-244.
    """
    require_count("fixtures", fixtures)
    require_inside("level", level)
    low, high = level / _RANGE, level * _RANGE
    for _ in range(_BISECTIONS):
        middle = (low * high) ** 0.5
        if _walk(fixtures, middle).spent[-1] <= level:
            low = middle
        else:
            high = middle
    return _walk(fixtures, low)


def first_crossing(
    walk: Walk, differences: Sequence[int] | NDArray[np.signedinteger[Any]]
) -> int | None:
    """Return after how many pairs the boundary is crossed; None if it is not.

    `differences` has one entry for each fixture, in the order of sampling: above 0 it broke, below
    0 it was fixed, at 0 it did not change.
    """
    import numpy as np

    signs = np.sign(np.asarray(differences, dtype=np.int64))
    changed, broke = np.cumsum(signs != 0), np.cumsum(signs > 0)
    crossed = np.flatnonzero(broke >= walk.fewest[changed])
    return int(crossed[0]) + 1 if len(crossed) else None


def walk_p_value(walk: Walk, changed: int, broke: int) -> float:
    """Return the probability that a harmless change crosses the boundary within `changed` steps, or
    ends them with at least `broke` broken: the p-value of a look at the end of the first round."""
    require_count("changed", changed)
    require_count("broke", broke)
    inside, spent = _advance(walk.fewest[: changed + 1])
    return min(1.0, float(spent[-1] + inside[broke:].sum()))


def _walk(fixtures: int, factor: float) -> Walk:
    import numpy as np

    levels = (min(0.5, factor / k) for k in range(1, fixtures + 1))
    fewest = np.array(critical_counts(levels), dtype=np.int64)
    return Walk(fewest, _advance(fewest)[1])


def _advance(fewest: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the walks that are still inside the boundary at the end, by how many broke, and the
    probability of having crossed it by each step."""
    import numpy as np

    inside = np.ones(1)
    spent = np.zeros(len(fewest))
    for k, crossing in enumerate(fewest[1:].tolist(), start=1):
        step = np.empty(len(inside) + 1)
        step[0], step[-1] = inside[0], inside[-1]
        step[1:-1] = inside[1:] + inside[:-1]
        step /= 2
        spent[k] = spent[k - 1] + step[crossing:].sum()
        inside = step[:crossing]
    return inside, spent
