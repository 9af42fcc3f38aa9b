"""Divides the calls of a run among several machines, and the limits of the policy with them."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.trial import Trial
from gatekeeper.sampling.calls import group_calls


def assign_shards(trials: Sequence[Trial], shards: int) -> tuple[int, ...]:
    """Return the shard of each trial, from 1 to `shards`.

    The result depends on the trials and their order alone. Trials that share a call are of one
    shard, and so are both arms of a fixture's repetition. The next trials in the plan go to the
    shard with the fewest calls so far, so that all shards have nearly the same number of calls
    and the first round of a run comes first on each of them.
    """
    _, call_of = group_calls(trials)
    # One number for each call, and one for each pair of arms: both join trials to a group.
    joined = _Groups()
    for trial, call in zip(trials, call_of, strict=True):
        joined.unite(("call", id(call)), (trial.contract, trial.fixture, trial.repetition))
    calls: dict[object, set[int]] = {}
    groups = [joined.find(("call", id(call))) for call in call_of]
    for group, call in zip(groups, call_of, strict=True):
        calls.setdefault(group, set()).add(id(call))
    loads = [(0, shard) for shard in range(1, shards + 1)]
    shard_of: dict[object, int] = {}
    for group, members in calls.items():  # in the order of the plan
        load, shard_of[group] = heapq.heappop(loads)
        heapq.heappush(loads, (load + len(members), shard_of[group]))
    return tuple(shard_of[group] for group in groups)


def limits_of_shard(limits: Limits, number: int, shards: int) -> Limits:
    """Return the part of the limits that shard `number` of `shards` may use.

    All parts together are never more than the limits, except that each shard makes at least one
    call at a time. The time limit is not divided, because the shards run at the same time.
    """

    def part(amount: float | None) -> float | None:
        return None if amount is None else amount / shards

    calls = limits.calls
    if calls is not None:
        calls = calls // shards + (number <= calls % shards)
    return replace(
        limits,
        calls=calls,
        cost_usd=part(limits.cost_usd),
        concurrency=max(1, limits.concurrency // shards),
        requests_per_minute=part(limits.requests_per_minute),
        tokens_per_minute=part(limits.tokens_per_minute),
    )


class _Groups:
    """Groups of things that were united, one after the other (union-find)."""

    def __init__(self) -> None:
        self._parents: dict[object, object] = {}

    def find(self, thing: object) -> object:
        """Return the representative of the item's group."""
        parent = self._parents.setdefault(thing, thing)
        while parent != thing:
            self._parents[thing] = self._parents[parent]  # halves the way for the next time
            thing, parent = parent, self._parents[parent]
        return thing

    def unite(self, one: object, other: object) -> None:
        """Make one group of the groups of both."""
        self._parents[self.find(other)] = self.find(one)
