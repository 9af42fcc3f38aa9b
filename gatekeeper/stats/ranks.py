"""Mid-ranks: the place of each value in the order, shared by those that tie."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby


def mid_ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value from 1 up, in the order given; ties get the mean of their
    ranks."""
    ranks = [0.0] * len(values)
    placed = 0
    order = sorted(range(len(values)), key=values.__getitem__)
    for _, tied in groupby(order, key=values.__getitem__):
        members = list(tied)
        middle = placed + (len(members) + 1) / 2
        for i in members:
            ranks[i] = middle
        placed += len(members)
    return ranks
