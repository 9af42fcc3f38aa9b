"""Contracts checked whole without a model: loaded, every prompt rendered, every check prepared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.affected import AffectedContract, contract_paths
from gatekeeper.contract.change import Revision
from gatekeeper.contract.load import load_contract
from gatekeeper.contract.model import Contract
from gatekeeper.contract.policy import Policy
from gatekeeper.errors import ContractError, Problem, UsageError
from gatekeeper.evidence.job import Job, plan_job
from gatekeeper.foresight import foresee


def validate_contracts(
    revision: Revision, policy: Policy, paths: Sequence[str] = ()
) -> tuple[list[str], list[Problem]]:
    """A line for each sound contract, with a warning under it where it cannot see its own
    margin, and every problem of the others.

    `paths` are contract files from the repository root; none means all that the policy names.
    Raises UsageError where there is no contract at all.
    """
    paths = paths or contract_paths(revision, policy, SHAPES)
    if not paths:
        raise UsageError(
            f"no contract matches {policy.contracts}; `gatekeeper init` writes a first one"
        )
    lines: list[str] = []
    problems: list[Problem] = []
    named: dict[str, str] = {}
    for path in paths:
        try:
            job = _prepare(revision, path, policy)
        except ContractError as error:
            problems += error.problems
            continue
        contract = job.contract
        first = named.setdefault(contract.name, path)
        if first != path:
            what = f"{contract.name!r} is already the name of {first}"
            problems.append(
                Problem(path, what, "give each contract a name of its own", field="name")
            )
            continue
        warning = foresee(job.judgings[0]).warning
        lines.append(_line(contract, job) + (f"\n  warning: {warning}" if warning else ""))
    return lines, problems


def repository_path(path: Path, root: Path) -> str:
    """The path from the repository root, with forward slashes. Raises UsageError where it lies
    outside of the repository."""
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        raise UsageError(
            f"{path} is not in the repository {root.resolve()}; name a contract file in it, "
            "or name its own repository with --repo"
        ) from None


def _prepare(revision: Revision, path: str, policy: Policy) -> Job:
    contract = load_contract(revision, path, SHAPES)
    return plan_job(AffectedContract(contract.name, path, None, contract, (), True), policy)


def _line(contract: Contract, job: Job) -> str:
    checks = len(contract.checks) + sum(len(fixture.checks) for fixture in contract.fixtures)
    again = (
        f", {len(job.judgings[0].same_input)} with a repeated input"
        if job.judgings[0].same_input
        else ""
    )
    return (
        f"{contract.path}: {contract.name}: {len(contract.fixtures)} fixtures{again}, "
        f"{checks} checks, {contract.target.model}"
    )
