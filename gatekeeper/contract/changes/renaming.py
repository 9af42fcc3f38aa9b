"""Variables that a pull request renames: one new name for each old one, over all fixtures. And
fixtures that it gives another id.

A name counts as the new name of another only if most fixtures have the same value under both. There
is one renaming for the whole contract: a different name in each fixture would tell the prompt what
to answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gatekeeper.contract.meaning.digests import canonical, fixture_meaning
from gatekeeper.contract.values.definition import Contract, Fixture

Renaming = Mapping[str, str]


def with_ids_of(base: Contract, head: Contract) -> Contract:
    """Return base's contract with its fixtures called as head calls them. A fixture that got
    another id and nothing else is still the same fixture."""
    before, now = ({f.id for f in contract.fixtures} for contract in (base, head))
    added = {_without_id(f): f.id for f in head.fixtures if f.id not in before}
    removed = [f for f in base.fixtures if f.id not in now] if added else []
    ids = {f.id: added.pop(_without_id(f), f.id) for f in removed}
    if all(old == new for old, new in ids.items()):
        return base
    renamed = (
        replace(c, fixtures=tuple(replace(f, id=ids.get(f.id, f.id)) for f in c.fixtures))
        for c in (base, *base.groups)
    )
    contract, *groups = renamed
    return replace(contract, groups=tuple(groups))


def _without_id(fixture: Fixture) -> str:
    labels = [fixture.category, fixture.cluster, sorted(fixture.left_out)]
    return canonical([fixture_meaning(fixture) | {"id": None}, labels])


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
            same = canonical(value)
            agreeing.update((name, other) for other, has in values.items() if has == same)
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
    fixtures: Sequence[Fixture],
    lenders: Mapping[str, Fixture],
    renaming: Renaming,
    *,
    trusted: bool = False,
) -> list[Fixture]:
    """Return the fixtures with their own values under the names that their lenders have.

    Variables that a fixture does not have come from its lender if the lenders are `trusted`, those
    of base. Otherwise only a value that all lenders have is lent: it says nothing about a single
    fixture, and could as well stand in the prompt. Left out are fixtures whose lender has another
    value for one of their variables.
    """
    same = {} if trusted else same_everywhere([*lenders.values()])
    lent = []
    for fixture in fixtures:
        lender = lenders.get(fixture.id)
        if lender is None:
            continue
        own = _own_names(fixture, lender, renaming)
        lendable = {n: v for n, v in lender.vars.items() if trusted or n in same}
        values = {**lendable, **own}
        # Without a variable in common, nothing shows that the fixtures belong together.
        related = own.keys() & lender.vars.keys()
        if related and lender.vars.keys() <= values.keys() and _agree(values, lender):
            lent.append(Fixture(fixture.id, values))
    return lent


def _own_names(fixture: Fixture, lender: Fixture, renaming: Renaming) -> dict[str, Any]:
    """Return the fixture's values under the names that the lender has for them."""
    names = {name: renaming.get(name, name) for name in fixture.vars}
    return {
        names[name] if names[name] in lender.vars else name: value
        for name, value in fixture.vars.items()
    }


def _agree(values: Mapping[str, Any], lender: Fixture) -> bool:
    both = values.keys() & lender.vars.keys()
    return all(canonical(values[name]) == canonical(lender.vars[name]) for name in both)


def same_everywhere(fixtures: Sequence[Fixture]) -> set[str]:
    """Return the variables that have one value in all of two fixtures or more."""
    if len(fixtures) < 2:
        return set()
    each = [
        {(name, canonical(value)) for name, value in fixture.vars.items()} for fixture in fixtures
    ]
    return {name for name, _ in set.intersection(*each)}
