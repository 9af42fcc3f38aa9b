"""`gatekeeper.validate`: find mistakes in contracts and prompts."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gatekeeper.contract.policies.policy import (
    NO_HISTORY,
    POLICY_PATH,
    load_policy,
    policy_problems_at,
)
from gatekeeper.errors import ContractError, Problem, UsageError
from gatekeeper.gate.decision.reasons import flickering_sentence
from gatekeeper.gate.results.selftest_result import selftest_of, selftest_sentence
from gatekeeper.gate.validate import Finding, Validation, repository_path, validate_contracts
from gatekeeper.git import Repository
from gatekeeper.git.data_branch import DataBranch
from gatekeeper.history.flickering import flickering_fixtures
from gatekeeper.history.record import Record
from gatekeeper.history.stores.open import DATABASE, file_of, open_history
from gatekeeper.providers.call_advice import advise_on_calls
from gatekeeper.providers.models.cost_estimate import expected_cost
from gatekeeper.providers.models.model_faults import find_model_fault
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
    named = [paths] if isinstance(paths, str | os.PathLike) else paths
    with Repository.open(Path(repo)) as repository:
        revision = repository.worktree()
        root = repository.root or Path(repo)
        files = [repository_path(Path(path), root) for path in named]
        broken = [Finding("warning", problem) for problem in _broken_base_policy(repository)]
        try:
            policy = load_policy(revision)
            found = validate_contracts(
                revision,
                policy,
                files,
                find_model_fault,
                expected_cost,
                advise_on_calls,
            )
        except ContractError as error:
            errors = [Finding("error", problem) for problem in error.problems]
            return Validation((), (*errors, *broken))
        measured = _measured(policy.history, repository, found)
    return replace(found, findings=(*broken, *found.findings, *measured))


@dataclass(frozen=True)
class _AsFetched:
    repository: Repository

    def data_branch(self, name: str) -> DataBranch:
        return self.repository.data_branch(name, fetched=True)


def _measured(location: str, repository: Repository, found: Validation) -> list[Finding]:
    """Say how often the gate errs on each suite and which fixtures flicker, if the history knows
    it. Nothing is connected: a database is not read, and of a branch what was fetched before."""
    root = repository.root or Path()
    if location == NO_HISTORY or location.startswith(DATABASE):
        return []
    try:
        path = file_of(location, root)
        if path and not path.is_file():
            return []
        history = open_history(location, _AsFetched(repository), root)
    except UsageError as error:
        what, _, fix = str(error).partition("; ")
        problem = Problem(POLICY_PATH, what, fix or "name another branch", field="history")
        return [Finding("error", problem)]
    past: dict[str, list[Record]] = defaultdict(list)
    for record in history.read().records:
        past[record.contract].append(record)
    notes = []
    for contract in found.contracts:
        records = past[contract.name]
        if not records:
            continue
        known = selftest_of(records[-1].selftest, len(records[-1].fixtures))
        flickers = flickering_fixtures(records, contract.deciding)
        flickering = [fixture.id for fixture in flickers if fixture.id is not None]
        said = [selftest_sentence(known)] if known else []
        said += [flickering_sentence(flickering)] if flickering else []
        problems = (Problem(contract.path, text, "") for text in said)
        notes += [Finding("note", problem, contract.path) for problem in problems]
    return notes


def _broken_base_policy(repository: Repository) -> tuple[Problem, ...]:
    """Return the mistakes in the policy of the branch that pull requests merge into."""
    try:
        base = repository.default_base()
        return policy_problems_at(repository.revision(base), repository.default_branch())
    except UsageError:
        return ()  # a repository without a base has no policy to merge into
