"""Chooses the inputs that a suite lacks most, and says how much of what was logged it covers.

The choice is the greedy k-centre algorithm (Gonzalez 1985, *Clustering to minimize the maximum
intercluster distance*, Theoretical Computer Science 38:293-306): each step takes the input that is
farthest from all that are there. The distance of two inputs is that of Jaccard over their words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

NEAR = 0.7
"""An input counts as covered by another up to this distance: they share three tenths of their
words."""
CLOSE = 0.5
"""Two chosen inputs are proposed as one cluster if a logged input is no farther from either."""
_WORD = re.compile(r"\w+")

Input = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The inputs that were chosen, by their position, the most distant first, with the cluster that
    each belongs to; None for one that is alone. `covered` of all inputs are near one that the suite
    had before, and `covered_then` with the chosen ones too."""

    positions: tuple[int, ...]
    clusters: tuple[str | None, ...]
    covered: float
    covered_then: float


def words_of(values: Input) -> frozenset[str]:
    """Return the words of an input, in lower case."""
    text = " ".join(v if isinstance(v, str) else json.dumps(v) for v in values.values())
    return frozenset(_WORD.findall(text.lower()))


def choose_inputs(known: Sequence[Input], logged: Sequence[Input], most: int) -> Chosen:
    """Choose at most `most` of the `logged` inputs, which `known` ones do not cover."""
    words = [words_of(values) for values in logged]
    nearest = [1.0] * len(words)
    for values in known:
        _approach(nearest, words, words_of(values))
    before = _share_near(nearest)
    chosen: list[int] = []
    close: list[list[int]] = []
    while len(chosen) < most and words:
        farthest = max(range(len(words)), key=nearest.__getitem__)
        if nearest[farthest] <= NEAR and (known or chosen):
            break
        chosen.append(farthest)
        close.append(_approach(nearest, words, words[farthest]))
    return Chosen(tuple(chosen), _clusters(close), before, _share_near(nearest))


def _approach(
    nearest: list[float], words: Sequence[AbstractSet[str]], centre: AbstractSet[str]
) -> list[int]:
    """Shorten each input's distance to the nearest centre by a new centre, and return those that
    are close to the new one."""
    close = []
    for position, own in enumerate(words):
        if nearest[position] > 0:
            found = distance(own, centre)
            nearest[position] = min(nearest[position], found)
            if found <= CLOSE:
                close.append(position)
    return close


def distance(one: AbstractSet[str], other: AbstractSet[str]) -> float:
    """Return Jaccard's distance of two sets of words, from 0 (the same) to 1 (nothing shared)."""
    shared = len(one & other)
    together = len(one) + len(other) - shared
    return 1 - shared / together if together else 0.0


def _share_near(nearest: Sequence[float]) -> float:
    return sum(far <= NEAR for far in nearest) / len(nearest) if nearest else 1.0


def _clusters(close: Sequence[Sequence[int]]) -> tuple[str | None, ...]:
    """Return a name for each family of chosen inputs: those that share an input in `close`, which
    has the positions of what is close to each."""
    family = list(range(len(close)))
    first: dict[int, int] = {}
    for number, positions in enumerate(close):
        for position in positions:
            one, other = family[first.setdefault(position, number)], family[number]
            if one != other:
                family = [min(one, other) if name in (one, other) else name for name in family]
    return tuple(f"family-{one + 1}" if family.count(one) > 1 else None for one in family)
