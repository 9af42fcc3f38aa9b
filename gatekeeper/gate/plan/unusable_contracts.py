"""Plans the contracts of a run, without those of other tools that cannot run, such as a suite with
a test that lacks a variable. One of them does not stop the run of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gatekeeper.contract.changes.affected import Affected, AffectedContract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.reading.globs import matching
from gatekeeper.errors import ContractError
from gatekeeper.gate.plan.plan import Job, plan_job


def plan_usable(
    wanted: Sequence[AffectedContract], policy: Policy, seed: str
) -> tuple[list[Job], dict[str, ContractError]]:
    """Return the jobs, and the errors of contracts of other tools' suites that cannot run, by their
    names. Raises ContractError if the change is to blame, or no contract of a full suite can run.
    """
    planned: list[Job] = []
    left_out: dict[str, ContractError] = {}
    for contract in wanted:
        if contract.head is None:
            continue
        try:
            planned.append(plan_job(contract, policy, seed))
        except ContractError as error:
            if not contract.is_foreign or not _fails_without_change(contract, policy):
                raise
            left_out[contract.name] = error
    if left_out and not planned and not any(c.affected_by for c in wanted):
        raise next(iter(left_out.values()))
    return planned, left_out


def _fails_without_change(contract: AffectedContract, policy: Policy) -> bool:
    """Return whether a contract that cannot run at head could not run at base either. In a full
    suite, which has no base, nothing changed."""
    if contract.base is None:
        return not contract.affected_by
    alone = replace(contract, head=contract.base, base=None, base_target=None)
    try:
        plan_job(alone, policy)
    except ContractError:
        return True
    return False


def without_unusable(
    affected: Affected, left_out: Mapping[str, ContractError], policy: Policy
) -> Affected:
    """Remove the contracts that cannot run. Notices name those of a full suite; a change that
    touches the others is not tested, and their changed prompts have no contract."""
    if not left_out:
        return affected
    kept = tuple(c for c in affected.contracts if c.name not in left_out)
    unknown = tuple(
        replace(c, base=None, head=None, broken=left_out[c.name].problems[0])
        for c in affected.contracts
        if c.name in left_out and c.affected_by
    )
    covered = {path for c in kept if c.head for path in c.head.dependencies}
    open_ = {
        cause.path
        for c in affected.contracts
        if c.name in left_out and c.head
        for cause in c.affected_by
        if cause.path in {prompt.path for prompt in c.head.target.prompts} - covered
    }
    watched = {path for pattern in policy.prompts for path in matching(open_, pattern)}
    notices = (
        f"Gatekeeper does not run the contract {name}: {error.problems[0]}"
        for name, error in left_out.items()
        if name not in {contract.name for contract in unknown}
    )
    return replace(
        affected,
        contracts=tuple(sorted((*kept, *unknown), key=lambda c: c.name)),
        uncovered=tuple(sorted({*affected.uncovered, *watched})),
        notices=(*affected.notices, *notices),
    )
