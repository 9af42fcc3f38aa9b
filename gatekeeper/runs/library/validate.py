"""`gatekeeper.validate`: find mistakes in contracts and prompts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gatekeeper.contract.policy import load_policy, policy_problems_at
from gatekeeper.errors import ContractError, Problem, UsageError
from gatekeeper.gate.validation import Finding, Validation
from gatekeeper.git import Repository
from gatekeeper.runs.library.arguments import AnyPath

__all__ = ["Validation", "validate"]


def validate(*, repo: AnyPath = ".", paths: AnyPath | Sequence[AnyPath] = ()) -> Validation:
    """Find all mistakes in contracts and prompts of the work tree. Calls no model.

    Args:
        repo: The repository, or a folder in it.
        paths: Contract files, relative to the current folder; none means all of the policy, with
            an inventory of all prompts.

    Raises:
        UsageError: A path is not in the repository.
    """
    from gatekeeper.gate.validate import repository_path, validate_contracts
    from gatekeeper.providers.call_advice import advise_on_calls
    from gatekeeper.providers.cost_estimate import expected_cost
    from gatekeeper.providers.model_faults import find_model_fault

    named = [paths] if isinstance(paths, str | os.PathLike) else paths
    with Repository.open(Path(repo)) as repository:
        revision = repository.worktree()
        root = repository.root or Path(repo)
        files = [repository_path(Path(path), root) for path in named]
        broken = [Finding("warning", problem) for problem in _broken_base_policy(repository)]
        try:
            found = validate_contracts(
                revision,
                load_policy(revision),
                files,
                find_model_fault,
                expected_cost,
                advise_on_calls,
            )
        except ContractError as error:
            errors = [Finding("error", problem) for problem in error.problems]
            return Validation((), (*errors, *broken))
    return replace(found, findings=(*broken, *found.findings))


def _broken_base_policy(repository: Repository) -> tuple[Problem, ...]:
    """Return the mistakes in the policy of the branch that pull requests merge into."""
    try:
        base = repository.default_base()
        return policy_problems_at(repository.revision(base), repository.default_branch())
    except UsageError:
        return ()  # a repository without a base has no policy to merge into
