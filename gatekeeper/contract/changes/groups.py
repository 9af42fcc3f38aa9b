"""The affected contracts with their groups of checks (loading/load.py), each as a contract of its
own."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import PurePosixPath

from gatekeeper.contract.changes.affected import Affected, AffectedContract
from gatekeeper.contract.values.definition import Contract, Target
from gatekeeper.errors import ContractError, Problem, UsageError


def with_groups(affected: Affected) -> Affected:
    """Return the affected contracts with each group as a contract of its own.

    Raises ContractError if a group gets the name of another contract.
    """
    found = tuple(part for contract in affected.contracts for part in parts_of(contract))
    taken = {contract.name for contract in affected.contracts} | set(affected.others)
    for part in found:
        if part.part_of is not None and part.name in taken:
            what = (
                f"the group would have the name `{part.name}`, which another contract already has"
            )
            fix = "rename the group or the other contract"
            raise ContractError([Problem(part.path, what, fix, field="groups")])
    return replace(affected, contracts=found)


def parts_of(affected: AffectedContract) -> Iterator[AffectedContract]:
    """Yield an affected contract without its groups, and each group of either version. A group that
    head no longer has counts as a contract that was removed."""
    head, base = affected.head, affected.base
    yield replace(affected, head=_alone(head), base=_alone(base))
    if head is None:
        return
    now, before = _by_key(head), _by_key(base)
    for key in {**before, **now}:
        own, old = now.get(key), before.get(key)
        yield replace(
            affected,
            name=f"{head.name}.{key}",
            head=own,
            base=old,
            base_target=_base_target(affected, own, old),
            part_of=head.name,
        )


def narrowed(affected: Affected, names: Sequence[str]) -> tuple[AffectedContract, ...]:
    """Return the affected contracts with those names, with their groups, or all if no name is
    given.

    Raises UsageError for a name that no contract of the repository has.
    """
    known = {contract.name for contract in affected.contracts} | set(affected.others)
    for name in names:
        if name not in known:
            raise UsageError(f"no contract has the name {name!r}; {_hint(name, known)}")
    return tuple(c for c in affected.contracts if not names or {c.name, c.part_of} & {*names})


def _hint(name: str, known: Set[str]) -> str:
    """Say which of the known names is meant: the nearest to the name, or to that of its file."""
    for written in (name, PurePosixPath(name).stem):
        near = difflib.get_close_matches(written, known, n=1)
        if near:
            return f"did you mean {near[0]!r}?"
    names = (
        f"the known names are: {', '.join(sorted(known))}" if known else "there is no contract yet"
    )
    return f"{names}; if the contract is new, commit the contract first"


def _alone(contract: Contract | None) -> Contract | None:
    return replace(contract, groups=()) if contract else None


def _by_key(contract: Contract | None) -> Mapping[str, Contract]:
    groups = contract.groups if contract else ()
    return {group.name.removeprefix(f"{group.part_of}."): group for group in groups}


def _base_target(
    affected: AffectedContract, head: Contract | None, base: Contract | None
) -> Target | None:
    """Return what the base arm of a group runs; for a group that is new the prompt as at base."""
    if base is not None or head is None or affected.base_target is None:
        return base.target if base else affected.base_target
    before = affected.base_target
    return replace(head.target, prompt=before.prompt, steps=before.steps)
