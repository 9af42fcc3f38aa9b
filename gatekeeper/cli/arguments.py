"""What the options of several commands name: a contract, a history."""

from __future__ import annotations

import argparse

from gatekeeper.checks.packages import use_packages
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import every_contract
from gatekeeper.contract.changes.groups import narrowed
from gatekeeper.contract.policies.policy import NO_HISTORY, POLICY_PATH, Policy
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository
from gatekeeper.history.stores.open import open_history, require_history
from gatekeeper.history.stores.store import HistoryStore


def past_of(arguments: argparse.Namespace, repository: Repository, policy: Policy) -> HistoryStore:
    """Return the history that the option --history or the policy names, not yet read.

    Raises UsageError if neither names one, or if the option names a file that does not exist.
    """
    location = arguments.history or policy.history
    if location == NO_HISTORY:
        raise UsageError(
            f"{POLICY_PATH} turns the history off, but this command needs a history; "
            "choose one with --history"
        )
    store = open_history(location, repository)
    if arguments.history and not getattr(arguments, "source", None):
        require_history(location, "--history")
    return store


def named_contract(revision: Revision, policy: Policy, name: str) -> Contract:
    """Return the contract of that name. Raises UsageError and ContractError."""
    use_packages(policy)
    (found,) = narrowed(every_contract(revision, policy, SHAPES), [name])
    if found.head is None:
        raise UsageError(f"there is no contract `{name}`")
    return found.head
