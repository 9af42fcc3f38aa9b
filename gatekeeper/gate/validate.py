"""Validates contracts without a model: loads them, renders every prompt, prepares every check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gatekeeper import numbers
from gatekeeper.checks.packages import use_packages
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.affected import AffectedContract
from gatekeeper.contract.change import Revision
from gatekeeper.contract.contract_document import contract_paths_of
from gatekeeper.contract.contract_files import (
    contract_paths,
    in_contract_folders,
    near_miss_notices,
)
from gatekeeper.contract.definition import Contract
from gatekeeper.contract.load import load_contract
from gatekeeper.contract.models.allowed import EVERY_MODEL, AllowedModels, model_problems
from gatekeeper.contract.models.faults import (
    FindFault,
    find_faults,
    named_model,
    no_fault,
    with_recordings,
)
from gatekeeper.contract.near_duplicates import near_duplicate_warning
from gatekeeper.contract.policy import Policy
from gatekeeper.contract.prompts.unfilled_names import unfilled_names
from gatekeeper.contract.size_limits import require_few_trials
from gatekeeper.contract.without_effect import without_effect_warnings
from gatekeeper.errors import ContractError, Problem, UsageError
from gatekeeper.gate.judge_calls import judge_models
from gatekeeper.gate.not_run import describe_not_run
from gatekeeper.gate.plan import Job, plan_job
from gatekeeper.gate.power import (
    Price,
    compute_power,
    limit_notes,
    objective_notes,
    unpriced_warnings,
)


def validate_contracts(
    revision: Revision,
    policy: Policy,
    paths: Sequence[str] = (),
    find_fault: FindFault = no_fault,
    price: Price | None = None,
) -> tuple[list[str], list[Problem]]:
    """Return a line for each valid contract, with notes, and all problems of the others.

    `paths` are contract files from the repository root; none means all that the policy names.
    `price` gives the cost of a request, for a warning about limits that need a price. Raises
    UsageError if there is no contract at all.
    """
    use_packages(policy)
    notices = () if paths else _near_misses(revision, policy)
    paths = [part for path in paths for part in contract_paths_of(revision, path)]
    paths = paths or contract_paths(revision, policy, SHAPES)
    if not paths:
        raise UsageError(
            "; ".join(
                [
                    *(notice.rstrip(".") for notice in notices),
                    f"no contract matches {', '.join(policy.contracts)}",
                    "`gatekeeper init` writes a first one",
                ]
            )
        )
    lines: list[str] = []
    problems: list[Problem] = []
    allowed = EVERY_MODEL if policy.models is None else AllowedModels(policy.models, True)
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
        models = [named_model(contract, contract.target.model), *judge_models(job)]
        faults = find_faults(models, with_recordings(find_fault, [revision]))
        if faults.refused:
            problems += faults.refused
            continue
        found = [*model_problems(models, allowed), *faults.doubtful, *unfilled_names(contract)]
        lines.append(_line_with_notes(job, found, price))
    return [*lines, *(f"notice: {notice}" for notice in notices)], problems


def _line_with_notes(job: Job, found: Sequence[object], price: Price | None) -> str:
    """Return the line of a valid contract, with what is doubtful and what to know about it."""
    evaluation = job.evaluations[0]
    related = near_duplicate_warning(job.contract.fixtures, evaluation.counts_with)
    unpriced = unpriced_warnings(evaluation, price) if price else ()
    weak = compute_power(evaluation).warning
    idle = without_effect_warnings(job.contract)
    warnings = [*filter(None, (weak, related)), *map(str, found), *idle, *unpriced]
    skipped = [f"not run: {describe_not_run(part)}" for part in job.contract.not_run]
    notes = (*skipped, *objective_notes(evaluation), *limit_notes(evaluation))
    line = "\n  warning: ".join([_line(job.contract, job), *warnings])
    return "\n  note: ".join([line, *notes])


def _near_misses(revision: Revision, policy: Policy) -> tuple[str, ...]:
    return near_miss_notices(revision, policy, in_contract_folders(revision.entries, policy))


def repository_path(path: Path, root: Path) -> str:
    """Return the path from the repository root, with forward slashes.

    Raises UsageError if it is outside of the repository.
    """
    try:
        return path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        raise UsageError(
            f"{path} is not in the repository {root.resolve()}; name a contract file in it, "
            "or name its own repository with --repo"
        ) from None


def _prepare(revision: Revision, path: str, policy: Policy) -> Job:
    contract = load_contract(revision, path, SHAPES)
    require_few_trials([(part, 1) for part in (contract, *contract.groups)])
    for group in contract.groups:
        _plan_part(group, policy)
    return _plan_part(contract, policy)


def _plan_part(contract: Contract, policy: Policy) -> Job:
    affected = AffectedContract(contract.name, contract.path, None, contract, (), True)
    return plan_job(affected, policy)


def _line(contract: Contract, job: Job) -> str:
    checks = len(contract.checks) + sum(len(fixture.checks) for fixture in contract.fixtures)
    again = (
        f", {len(job.evaluations[0].same_input)} with a repeated input"
        if job.evaluations[0].same_input
        else ""
    )
    evaluation = job.evaluations[0]
    if evaluation.clustered:
        units = len(contract.fixtures) - len(evaluation.counts_with)
        again = f" in {units} cluster{'s' * (units != 1)}{again}"
    return (
        f"{contract.path}: {contract.name}: {numbers.count(len(contract.fixtures), 'fixture')}"
        f"{again}, {numbers.count(checks, 'check')}, {contract.target.model}{_groups(contract)}"
    )


def _groups(contract: Contract) -> str:
    names = ", ".join(group.name for group in contract.groups)
    return f"; also {names}" if names else ""
