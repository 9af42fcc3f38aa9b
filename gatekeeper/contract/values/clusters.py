"""Related fixtures: which of them count as one. Pure.

Fixtures of one `cluster` tend to pass or fail together, so that ten of them are not ten pieces of
evidence. Fixtures with the same input count as one in any case.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gatekeeper import numbers
from gatekeeper.contract.values.definition import Contract, Fixture


@dataclass(frozen=True, slots=True)
class ClusterCounts:
    """Clusters that were compared; a fixture without one is a cluster of its own. In `broke` of
    them more fixtures broke than were fixed, in `fixed` of them fewer."""

    total: int
    broke: int
    fixed: int


def clusters_of(fixtures: Sequence[Fixture]) -> dict[str, str]:
    """Return the cluster of each fixture that names one, by the fixture's id."""
    return {fixture.id: fixture.cluster for fixture in fixtures if fixture.cluster is not None}


def count_as_one(same_input: Mapping[str, str], clusters: Mapping[str, str]) -> Mapping[str, str]:
    """Map each fixture that does not count by itself to the one that stands for its unit.

    `same_input` maps a fixture to the one whose input it repeats, `clusters` to its cluster. A
    unit is whatever these two connect: if two clusters share an input, they are one. Without a
    cluster of two fixtures the answer is `same_input` itself.
    """
    first: dict[str, str] = {}
    links = [(fixture, first.setdefault(name, fixture)) for fixture, name in clusters.items()]
    if all(fixture == other for fixture, other in links):
        return same_input
    stands_for: dict[str, str] = {}

    def find(fixture: str) -> str:
        root = fixture
        while (above := stands_for.get(root, root)) != root:
            root = above
        while (above := stands_for.get(fixture, fixture)) != fixture:
            stands_for[fixture] = root
            fixture = above
        return root

    for fixture, other in (*same_input.items(), *links):
        mine, root = find(fixture), find(other)
        stands_for[mine] = root
        stands_for.setdefault(fixture, root)
    return {f: find(f) for f in stands_for if find(f) != f}


def members_of(units: Mapping[str, str], fixtures: Sequence[str]) -> dict[str, list[str]]:
    """Group fixtures by the one that stands for their unit, in the order given."""
    members: dict[str, list[str]] = defaultdict(list)
    for fixture in fixtures:
        members[units.get(fixture, fixture)].append(fixture)
    return dict(members)


def cluster_meaning(fixtures: Sequence[Fixture]) -> list[list[str]]:
    """Return the clusters of two fixtures or more by their members, whatever they are called."""
    members: dict[str, list[str]] = defaultdict(list)
    for fixture, name in clusters_of(fixtures).items():
        members[name].append(fixture)
    return sorted(sorted(each) for each in members.values() if len(each) > 1)


Inputs = Mapping[str, Hashable]
"""The input of each fixture, by the fixture's id. Fixtures with the same input count as one."""


def cluster_weakenings(
    base: Contract, head: Contract, rendered: Sequence[Inputs] = ()
) -> Iterator[str]:
    """Yield a sentence for each unit of head that joins several units of base, and for each that
    was split if objectives count units.

    Fewer units are less evidence, so that a regression is found later. More units make it easier to
    prove an objective met. The name of a cluster does not matter.

    Identical inputs are one unit: a new fixture could otherwise join two others. Inputs are
    compared by their variables, and by each of `rendered`, the prompts' renderings of them: a
    variable that no prompt uses does not make inputs different.
    """
    if not may_count_otherwise(base, head):
        return
    written = {f.id: _written(f) for f in (*base.fixtures, *head.fixtures)}
    kept = {fixture.id for fixture in head.fixtures}
    both = [fixture.id for fixture in base.fixtures if fixture.id in kept]
    joined: set[str] = set()
    own = (_units(base.fixtures, _inputs(base)), _units(head.fixtures, _inputs(head)))
    counted = [own]
    for inputs in rendered:
        known = {**written, **inputs}
        counted.append((_units(base.fixtures, known), _units(head.fixtures, known)))
    for before, now in counted:
        for members in members_of(now, both).values():
            parts = len({before.get(fixture, fixture) for fixture in members})
            if parts > 1 and joined.isdisjoint(members):
                joined.update(members)
                yield (
                    f"fixtures {_names(members)} now count as one case instead of {parts:,}, "
                    "because `cluster` changed"
                )
    if not base.slo:
        return
    before, now = own
    for members in members_of(before, both).values():
        parts = len({now.get(fixture, fixture) for fixture in members})
        if parts > 1:
            yield (
                f"fixtures {_names(members)} now count as {parts:,} cases instead of one, because "
                "`cluster` changed"
            )


def may_count_otherwise(base: Contract, head: Contract) -> bool:
    """Return whether fixtures of base may form other units at head: only clusters can do that."""
    return bool(cluster_meaning(base.fixtures) or cluster_meaning(head.fixtures))


def _written(fixture: Fixture) -> str:
    return json.dumps([fixture.vars, fixture.contents], sort_keys=True)


def _inputs(contract: Contract) -> Inputs:
    return {fixture.id: _written(fixture) for fixture in contract.fixtures}


def _units(fixtures: Sequence[Fixture], inputs: Inputs) -> Mapping[str, str]:
    first: dict[Hashable, str] = {}
    same = {f.id: first.setdefault(inputs[f.id], f.id) for f in fixtures}
    repeats = {fixture: other for fixture, other in same.items() if fixture != other}
    return count_as_one(repeats, clusters_of(fixtures))


def _names(fixtures: Sequence[str]) -> str:
    return numbers.some([f"`{fixture}`" for fixture in fixtures], 3)
