"""`gatekeeper.validate`: find mistakes in contracts and prompts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gatekeeper.contract.policy import load_policy
from gatekeeper.errors import ContractError, Problem
from gatekeeper.git import Repository
from gatekeeper.library.arguments import AnyPath


@dataclass(frozen=True, slots=True)
class Validation:
    """What `validate` found: `lines` describe the valid contracts, `problems` the other files."""

    lines: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def valid(self) -> bool:
        """Return whether there is no problem."""
        return not self.problems


def validate(*, repo: AnyPath = ".", paths: AnyPath | Sequence[AnyPath] = ()) -> Validation:
    """Find all mistakes in contracts and prompts of the work tree. Calls no model.

    Args:
        repo: The repository, or a folder in it.
        paths: Contract files, relative to the current folder; none means all of the policy.

    Raises:
        UsageError: There is no contract, or a path is not in the repository.
    """
    from gatekeeper.gate.validate import repository_path, validate_contracts
    from gatekeeper.providers.cost_estimate import expected_cost
    from gatekeeper.providers.model_faults import find_model_fault

    named = [paths] if isinstance(paths, str | os.PathLike) else paths
    with Repository.open(Path(repo)) as repository:
        revision = repository.worktree()
        root = repository.root or Path(repo)
        files = [repository_path(Path(path), root) for path in named]
        try:
            policy = load_policy(revision)
            lines, problems = validate_contracts(
                revision, policy, files, find_model_fault, expected_cost
            )
        except ContractError as error:
            return Validation((), error.problems)
    return Validation(tuple(lines), tuple(problems))
