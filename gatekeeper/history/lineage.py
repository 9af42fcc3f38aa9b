"""The past of contracts that were renamed: their records go on under the new name. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from gatekeeper.history.record import Record

_MOST_COMMITS = 10
"""How many earlier commits are looked at for the names of contracts that are gone."""


def follow_renames(records: Sequence[Record]) -> tuple[Record, ...]:
    """Return the records, oldest first as given, under the names that their contracts have in the
    end. A record says what its contract was called before."""
    if not any(record.was for record in records):
        return tuple(records)
    now: dict[str, str] = {}
    found = []
    for record in reversed(records):
        name = now.get(record.contract, record.contract)
        found.append(record if name == record.contract else replace(record, contract=name))
        if record.was:
            now[record.was] = name
            if record.contract != name:
                now.pop(record.contract, None)
    return tuple(reversed(found))


def under_new_names(records: Iterable[Record], old_names: Mapping[str, str]) -> tuple[Record, ...]:
    """Return the records under the new names of contracts, which map to the old ones."""
    now = {old: new for new, old in old_names.items()}
    return tuple(
        replace(record, contract=now.get(record.contract, record.contract)) for record in records
    )


def commits_of_the_gone(records: Sequence[Record], names: Collection[str]) -> tuple[str, ...]:
    """Return the commits that last measured contracts which are none of `names`, the latest first;
    nothing if each of the names has a past, because then none can be the new name of another."""
    known = {record.contract for record in records}
    if all(name in known for name in names):
        return ()
    gone = {r.contract: r.sha for r in records if whole_name(r.contract, names) not in names}
    return tuple(dict.fromkeys(reversed(gone.values())))[:_MOST_COMMITS]


def whole_name(name: str, names: Collection[str]) -> str:
    """Return the contract that the name is a group of, if it is one of `names`; else the name."""
    return next((whole for whole in names if name.startswith(f"{whole}.")), name)


def with_groups_of(old_names: Mapping[str, str], records: Sequence[Record]) -> dict[str, str]:
    """Return the old names with those of the contracts' groups that have a past."""
    found = dict(old_names)
    for new, old in old_names.items():
        groups = {r.contract for r in records if r.contract.startswith(f"{old}.")}
        found |= {new + group.removeprefix(old): group for group in groups}
    return found
