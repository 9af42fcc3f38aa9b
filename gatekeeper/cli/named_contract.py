"""Finds the one contract that a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatekeeper.errors import UsageError

if TYPE_CHECKING:
    from gatekeeper.contract.policies.policy import Policy
    from gatekeeper.contract.values.change import Revision
    from gatekeeper.contract.values.definition import Contract


def named_contract(revision: Revision, policy: Policy, name: str) -> Contract:
    """Return the contract of that name. Raises UsageError and ContractError."""
    from gatekeeper.checks.packages import use_packages
    from gatekeeper.checks.registry import SHAPES
    from gatekeeper.contract.changes.affected import every_contract
    from gatekeeper.contract.changes.groups import narrowed

    use_packages(policy)
    (found,) = narrowed(every_contract(revision, policy, SHAPES), [name])
    if found.head is None:
        raise UsageError(f"there is no contract `{name}`")
    return found.head
