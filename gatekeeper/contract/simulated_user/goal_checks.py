"""Requires a simulated user for `goal_reached`, because without one no fixture can be decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gatekeeper.contract.definition import CheckSpec, Contract, Fixture, Position
from gatekeeper.errors import ContractError, Problem

_TYPE = "goal_reached"


def require_users(contract: Contract) -> None:
    """Raise ContractError if a check `goal_reached` applies to no fixture with a simulated user."""
    problems: dict[Problem, None] = {}
    for part in (contract, *contract.groups):
        problems |= dict.fromkeys(_problems(part))
    if problems:
        raise ContractError([*problems])


def _problems(contract: Contract) -> Iterator[Problem]:
    for spec in contract.checks:
        yield from _without_user(contract, spec, contract.fixtures)
    for fixture in contract.fixtures:
        for spec in fixture.checks:
            yield from _without_user(contract, spec, [fixture])


def _without_user(
    contract: Contract, spec: CheckSpec, fixtures: Sequence[Fixture]
) -> Iterator[Problem]:
    goals = list(_goal_checks(spec))
    if not goals or any(f.user for f in fixtures if spec.name not in f.left_out):
        return
    for found in goals:
        at = found.position or spec.position or Position(contract.path)
        what = f"check `{found.name}` applies to no fixture with a simulated user"
        fix = "add `user: {model: …, goal: …}` to the contract, or remove the check"
        if any(fixture.user for fixture in contract.fixtures):
            fix = "give the fixtures of this check a `user` with a `goal`, or remove the check"
        yield Problem(at.path, what, fix, at.line, at.column, _TYPE)


def _goal_checks(spec: CheckSpec) -> Iterator[CheckSpec]:
    if spec.type == _TYPE:
        yield spec
    for part in spec.parts:
        yield from _goal_checks(part)
