"""Variables that a pull request renames: one new name for each old one, over all fixtures.

A name counts as the new name of another only if most fixtures have the same value under both. There
is one renaming for the whole contract: a different name in each fixture would tell the prompt what
to answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gatekeeper.contract.definition import Fixture
from gatekeeper.contract.digests import canonical

Renaming = Mapping[str, str]


def find_renaming(old: Iterable[Fixture], new: Iterable[Fixture]) -> dict[str, str]:
    """Return the new name of each variable, by its old one, over fixtures of the same id.

    A variable that keeps its name maps to itself. One that most fixtures have under no new name
    is left out, and so is one whose new name is already taken.
    """
    by_id = {fixture.id: fixture for fixture in new}
    pairs = [(fixture, by_id[fixture.id]) for fixture in old if fixture.id in by_id]
    agreeing: Counter[tuple[str, str]] = Counter()
    for before, after in pairs:
        values = {name: canonical(value) for name, value in after.vars.items()}
        for name, value in before.vars.items():
            agreeing.update((name, other) for other in _named(values, canonical(value)))
    found: dict[str, str] = {}
    # What keeps its name comes first, then what most fixtures agree on.
    ranked = sorted(agreeing, key=lambda both: (both[0] != both[1], -agreeing[both], both))
    for name, other in ranked:
        is_free = name not in found and other not in found.values()
        if is_free and agreeing[name, other] * 2 > len(pairs):
            found[name] = other
    return found


def renamed(fixture: Fixture, renaming: Renaming) -> dict[str, Any] | None:
    """Return the fixture's own values under the new names; None if one has no new name."""
    if not fixture.vars.keys() <= renaming.keys():
        return None
    return {renaming[name]: value for name, value in fixture.vars.items()}


def is_renamed(old: Fixture, new: Fixture, renaming: Renaming) -> bool:
    """Return whether the new fixture has the old one's values under their new names, and no
    others."""
    values = renamed(old, renaming)
    return values is not None and canonical(values) == canonical(dict(new.vars))


def lent_values(
    fixtures: Sequence[Fixture], lenders: Mapping[str, Fixture], renaming: Renaming
) -> list[Fixture]:
    """Return the fixtures with their own values under the names that their lenders have.

    Left out are those whose lender has other values, or more of them.
    """
    lent = []
    for fixture in fixtures:
        lender = lenders.get(fixture.id)
        if lender is not None and is_renamed(fixture, lender, renaming):
            lent.append(Fixture(fixture.id, renamed(fixture, renaming) or {}))
    return lent


def _named(values: Mapping[str, str], value: str) -> list[str]:
    return [name for name, other in values.items() if other == value]
