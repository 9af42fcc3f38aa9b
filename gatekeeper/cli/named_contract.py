"""Finds the one contract that a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.errors import UsageError

if TYPE_CHECKING:
    from gatekeeper.contract.change import Revision
    from gatekeeper.contract.definition import Contract
    from gatekeeper.contract.policy import Policy


def named_contract(revision: Revision, policy: Policy, name: str) -> Contract:
    """Return the contract of that name. Raises UsageError and ContractError."""
    from gatekeeper.checks.packages import use_packages
    from gatekeeper.checks.registry import SHAPES
    from gatekeeper.contract.affected import every_contract
    from gatekeeper.contract.groups import narrowed

    use_packages(policy)
    (found,) = narrowed(every_contract(revision, policy, SHAPES), [name])
    if found.head is None:
        raise UsageError(f"there is no contract `{name}`")
    return found.head
