"""`gatekeeper.affected`: what a check would run, and what it would cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.checks.packages import use_packages
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import find_affected
from gatekeeper.contract.policies.policy import Policy, policy_in_force
from gatekeeper.contract.values.change import Change
from gatekeeper.errors import ContractError
from gatekeeper.git import Repository
from gatekeeper.runs.library.arguments import AnyPath, check_arguments

if TYPE_CHECKING:
    from gatekeeper.gate.forecast.estimate import RunEstimate


def change_of(repository: Repository, base: str | None, head: str | None, worktree: bool) -> Change:
    """Return the change from `base` to `head`, or to the files of the work tree."""
    if worktree:
        return repository.worktree_change(base)
    return repository.change(base, head)


# A notice of changes in the work tree that a comparison of commits leaves out.


NOT_TESTED = "uncommitted changes are not tested"
_COMMIT = "commit these changes first"
_COMMIT_OR_WORKTREE = "commit these changes, or test these changes with --worktree"
_MOST_NAMED = 3


def left_out_of_run(repository: Repository, ref: str, policy: Policy) -> tuple[str, ...]:
    """Return the notice if a run measures HEAD and not the files of the work tree."""
    return () if ref != "HEAD" else _notice(repository, policy, _COMMIT)


def uncommitted(
    repository: Repository, head: str | None, worktree: bool, policy: Policy
) -> tuple[str, ...]:
    """Return the notice if HEAD is tested and the files of the work tree would run contracts."""
    if worktree or head is not None:
        return ()
    return _notice(repository, policy, _COMMIT_OR_WORKTREE)


def _notice(repository: Repository, policy: Policy, advice: str) -> tuple[str, ...]:
    """Return the notice, with the contracts that the changes affect, or the prompts without one."""
    if repository.root is None or not repository.has_uncommitted_changes():
        return ()
    change = repository.worktree_change("HEAD")
    try:
        use_packages(policy)
        found = find_affected(change, policy, SHAPES)
    except ContractError:
        # A file that is being written.
        return (f"{NOT_TESTED}: {advice}",)
    named = _named([contract.path for contract in found.contracts] or found.uncovered)
    return (f"{NOT_TESTED}, although they affect {named}; {advice}",) if named else ()


def _named(paths: Sequence[str]) -> str:
    """Name the first of the files; "" for none."""
    rest = len(paths) - _MOST_NAMED
    more = [numbers.count(rest, "more file")] if rest > 0 else []
    return " and ".join(filter(None, [", ".join(paths[:_MOST_NAMED]), *more]))


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
    given = check_arguments(
        repo=Path(repo), base=base, head=head, worktree=worktree, contract=contract
    )
    with Repository.open(given.repo) as repository:
        change = change_of(repository, base, head, worktree)
        policy, _ = policy_in_force(change)
        found = forecast_change(change, policy, given.contract)
        notices = uncommitted(repository, head, worktree, policy)
    return replace(found, notices=(*found.notices, *notices))


def forecast_change(change: Change, policy: Policy, names: Sequence[str]) -> RunEstimate:
    """Return what the check of a change would take, by the price list. Calls no model.

    Raises what `affected` raises.
    """
    # `check`, which imports this file for its notices, forecasts nothing before it plans.
    from gatekeeper.gate.forecast.estimate import estimate_change
    from gatekeeper.gate.forecast.forecast import Amounts
    from gatekeeper.providers.models.cost_estimate import count_tokens, expected_cost, worst_cost
    from gatekeeper.providers.models.model_faults import find_model_fault

    amounts = Amounts(expected_cost, worst_cost, count_tokens)
    return estimate_change(change, policy, names, amounts, find_model_fault)
