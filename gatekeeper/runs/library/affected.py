"""`gatekeeper.affected`: what a check would run, and what it would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.contract.policies.policy import policy_in_force
from gatekeeper.git import Repository
from gatekeeper.runs.library.arguments import AnyPath, check_arguments
from gatekeeper.runs.library.places import change_of
from gatekeeper.runs.library.uncommitted import uncommitted

if TYPE_CHECKING:
    from gatekeeper.gate.forecast.estimate import RunEstimate


def affected(
    *,
    repo: AnyPath = ".",
    base: str | None = None,
    head: str | None = None,
    worktree: bool = False,
    contract: str | Sequence[str] = (),
) -> RunEstimate:
    """List what `check` would run, why, and what it would cost. Calls no model.

    Args:
        repo: The repository, or a folder in it.
        base: The branch to merge into; by default, the remote's default branch.
        head: The commit with the change; by default, HEAD.
        worktree: Look at the files in the work tree, not at a commit.
        contract: Look only at the contracts of these names.

    Raises:
        ContractError: A contract, prompt, fixture or policy file is wrong. `problems` lists why.
        UsageError: An argument cannot be used, such as an unknown branch.
    """
    from gatekeeper.gate.forecast.estimate import estimate_change
    from gatekeeper.gate.forecast.forecast import Amounts
    from gatekeeper.providers.models.cost_estimate import count_tokens, expected_cost, worst_cost
    from gatekeeper.providers.models.model_faults import find_model_fault

    given = check_arguments(
        repo=Path(repo), base=base, head=head, worktree=worktree, contract=contract
    )
    amounts = Amounts(expected_cost, worst_cost, count_tokens)
    with Repository.open(given.repo) as repository:
        change = change_of(repository, base, head, worktree)
        policy, _ = policy_in_force(change)
        found = estimate_change(change, policy, given.contract, amounts, find_model_fault)
        notices = uncommitted(repository, head, worktree, policy)
    return replace(found, notices=(*found.notices, *notices))
