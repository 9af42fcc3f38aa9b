"""Finds fixtures whose result goes back and forth although prompt, contract and model are the same.

Such a fixture says little about a change: it breaks and recovers by chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from gatekeeper.history.drift import stretch
from gatekeeper.history.record import Count, Record, fixture_key

MOST_RUNS = 30
"""The number of latest runs in which changes are counted."""
LEAST_CHANGES = 4
"""The fewest changes of a flickering fixture. One that breaks changes once, and a second time when
it is fixed; twice is still no flickering."""

FixtureState = Literal["passed", "failed", "mixed"]


@dataclass(frozen=True, slots=True)
class FlickeringFixture:
    """A fixture by its `key` in records, and its state in each run, oldest first; None if it was
    not measured. `id` is None if it is not known.

    `mixed` means that some samples of the run passed and others failed. `changes` counts these
    runs, and how often the state of the others is not that of the one before. `failed` of
    `samples` failed in all of these runs.
    """

    key: str
    states: tuple[FixtureState | None, ...]
    changes: int
    samples: int
    failed: int
    id: str | None = None


def flickering_fixtures(
    records: Sequence[Record], fixtures: Iterable[str] = ()
) -> tuple[FlickeringFixture, ...]:
    """Return the flickering fixtures of one contract, those with the most changes first.

    `records` are those of the contract, oldest first. Only the latest runs with the same prompt,
    contract and model count. `fixtures` are the ids of the contract: records have only their keys.
    """
    if not records:
        return ()
    runs = stretch(records)[-MOST_RUNS:]
    found = []
    for key in runs[-1].fixtures:
        fixture = _fixture(key, [run.fixtures.get(key) for run in runs])
        if fixture.changes >= LEAST_CHANGES:
            found.append(fixture)
    ids = {fixture_key(fixture): fixture for fixture in fixtures} if found else {}
    named = [replace(fixture, id=ids.get(fixture.key)) for fixture in found]
    return tuple(sorted(named, key=lambda f: (-f.changes, -f.failed, f.key)))


def _fixture(key: str, counts: Sequence[Count | None]) -> FlickeringFixture:
    known = [count for count in counts if count is not None]
    states = tuple([state_of(count) for count in counts])
    settled = [state for state in states if state in ("passed", "failed")]
    changes = states.count("mixed")
    changes += sum(before != after for before, after in pairwise(settled))
    return FlickeringFixture(
        key,
        states,
        changes,
        sum(events for events, _ in known),
        sum(failed for _, failed in known),
    )


def state_of(count: Count | None) -> FixtureState | None:
    """Return what a run showed of a fixture; None if it was not measured."""
    events, failed = count or (0, 0)
    if not events:
        return None
    if not failed:
        return "passed"
    return "failed" if failed == events else "mixed"
