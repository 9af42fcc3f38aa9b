"""Variables that a pull request renames: one new name for each old one, over all fixtures. And
fixtures that it gives another id.

A name counts as the new name of another only if most fixtures have the same value under both. There
is one renaming for the whole contract: a different name in each fixture would tell the prompt what
to answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from gatekeeper import numbers
from gatekeeper.contract.fixtures.fixtures import has_made_id
from gatekeeper.contract.meaning.digests import canonical, fixture_meaning
from gatekeeper.contract.values.definition import Contract, Fixture

Renaming = Mapping[str, str]


def with_ids_of(base: Contract, head: Contract) -> tuple[Contract, dict[str, str]]:
    """Return base's contract with its fixtures called as head calls them, and the new name of each
    fixture that was edited, by its old one.

    A fixture that got another id and nothing else is still the same fixture. So is one with the
    same input, and a row without an id that stands between the same rows as before: the name of
    such a row is made of its text.
    """
    ids = _paired(base, head, {}, _without_id)
    edited = _paired(base, head, ids, _input)
    edited |= _between_the_same(base, head, ids | edited)
    ids |= edited
    if not ids:
        return base, {}
    renamed = (
        replace(c, fixtures=tuple(replace(f, id=ids.get(f.id, f.id)) for f in c.fixtures))
        for c in (base, *base.groups)
    )
    contract, *groups = renamed
    return replace(contract, groups=tuple(groups)), edited


def _left(base: Contract, head: Contract, ids: Mapping[str, str]) -> tuple[set[str], set[str]]:
    """Return the ids of each side that have no partner on the other."""
    before, now = ({f.id for f in contract.fixtures} for contract in (base, head))
    return before - now - ids.keys(), now - before - {*ids.values()}


def _paired(
    base: Contract, head: Contract, ids: Mapping[str, str], key_of: Callable[[Fixture], str]
) -> dict[str, str]:
    """Return the new id of each fixture, by its old one, that another one has the same key as."""
    removed, new = _left(base, head, ids)
    added = {key_of(f): f.id for f in head.fixtures if f.id in new} if removed else {}
    found = ((f.id, added.pop(key_of(f), None)) for f in base.fixtures if added and f.id in removed)
    return {old: now for old, now in found if now is not None}


def _between_the_same(base: Contract, head: Contract, ids: Mapping[str, str]) -> dict[str, str]:
    """Return the new id of each row without one of its own, where as many stand in a gap between
    the same rows at base and at head."""
    removed, new = _left(base, head, ids)
    if not removed or not new:
        return {}
    gaps: list[dict[str, list[Fixture]]] = []
    for fixtures, open_ in ((base.fixtures, removed), (head.fixtures, new)):
        after, found = "", dict[str, list[Fixture]]()
        for fixture in fixtures:
            if fixture.id in open_:
                found.setdefault(after, []).append(fixture)
            else:
                after = ids.get(fixture.id, fixture.id)
        gaps.append(found)
    before, now = gaps
    return {
        old.id: fixture.id
        for after, rows in before.items()
        if len(rows) == len(now.get(after, ()))
        for old, fixture in zip(rows, now[after], strict=True)
        if has_made_id(old) and has_made_id(fixture)
    }


def _without_id(fixture: Fixture) -> str:
    labels = [fixture.category, fixture.cluster, sorted(fixture.left_out)]
    return canonical([fixture_meaning(fixture) | {"id": None}, labels])


def _input(fixture: Fixture) -> str:
    user = asdict(fixture.user) if fixture.user else None
    return canonical([dict(fixture.vars), list(fixture.turns), user, fixture.contents])


def edited_notice(name: str, edited: Mapping[str, str]) -> Iterator[str]:
    """Yield a notice on rows without an id, whose names changed with their texts."""
    changed = [f"`{old}` is now `{new}`" for old, new in edited.items()]
    if changed:
        yield (
            f"{numbers.count(len(changed), 'edited fixture')} of the contract {name} got another "
            f"name: {numbers.some(changed, 2)}. Give the fixtures an `id` (in a CSV file, a column "
            "`id`), and their history goes on when they are edited."
        )


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
