"""What a simulated gate gets to see: many runs of two arms over the same fixtures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Stream:
    """Every pair of calls of `runs` independent runs, drawn to the end.

    `base` and `head` tell what passed, in shape (runs, fixtures, rounds). Plan order takes the
    rounds one after another and within each the fixtures as they stand: they are exchangeable,
    so a random order of them is no different. A cluster is one input; its copies stand side by
    side, `sizes` tells how many there are of each. What a call of an arm would have given is
    known where it was `answered`; a pair is measured when both of its calls were.
    """

    base: Bools
    head: Bools
    base_answered: Bools
    head_answered: Bools
    sizes: Ints

    @property
    def runs(self) -> int:
        return int(self.base.shape[0])

    @property
    def fixtures(self) -> int:
        return int(self.base.shape[1])

    @property
    def rounds(self) -> int:
        return int(self.base.shape[2])

    @property
    def pairs(self) -> int:
        """How many pairs a run draws that never stops early."""
        return self.fixtures * self.rounds

    @cached_property
    def differences(self) -> NDArray[np.int8]:
        """Base minus head of each pair, (runs, fixtures, rounds): 1 broke, -1 fixed, else 0."""
        return (self.base.view(np.int8) - self.head.view(np.int8)) * self.measured

    @cached_property
    def measured(self) -> Bools:
        return self.base_answered & self.head_answered

    @cached_property
    def by_cluster(self) -> NDArray[np.int8]:
        """The same for each input, (runs, clusters, rounds): its copies have one vote together."""
        return self._votes(self.differences)

    @cached_property
    def kindest_by_cluster(self) -> NDArray[np.int8]:
        """As if every call without an answer had spoken for head."""
        base = self.base & self.base_answered
        head = self.head | ~self.head_answered
        return self._votes(base.view(np.int8) - head.view(np.int8))

    @cached_property
    def harshest_by_cluster(self) -> NDArray[np.int8]:
        """As if every call without an answer had spoken against head."""
        base = self.base | ~self.base_answered
        head = self.head & self.head_answered
        return self._votes(base.view(np.int8) - head.view(np.int8))

    def _votes(self, differences: NDArray[np.int8]) -> NDArray[np.int8]:
        if self.sizes.size == self.fixtures:
            return differences
        first_members = np.cumsum(self.sizes) - self.sizes
        return np.sign(np.add.reduceat(differences, first_members, axis=1, dtype=np.int8))

    @cached_property
    def in_plan_order(self) -> NDArray[np.int8]:
        """The differences as a design that knows no fixtures is fed them, (runs, pairs)."""
        return _flat(self.differences)

    @cached_property
    def measured_in_plan_order(self) -> Bools:
        return _flat(self.measured)

    @cached_property
    def pairs_after_cluster(self) -> Ints:
        """Pairs drawn once each cluster of round one is complete, (clusters,)."""
        return np.cumsum(self.sizes)


def _flat(values: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(values.transpose(0, 2, 1)).reshape(values.shape[0], -1)
