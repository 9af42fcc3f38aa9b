"""Combines verdicts, and decides those that need no sample. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gatekeeper.contract.changes.affected import AffectedContract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import AffectedBy
from gatekeeper.contract.values.definition import POLICY_NAME
from gatekeeper.contract.weakening.policy_weakening import Weakening
from gatekeeper.gate.decision.reasons import weakened_reasons
from gatekeeper.gate.plan.contract_reasons import (
    policy_reasons,
    removed_reason,
    unanswerable_reasons,
    untested_reasons,
)
from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.results.result import ContractResult, Reason, ReasonCode, Verdict, Waiver

# The worst first: a certain failure stands even where other things could not be measured.
SEVERITY: tuple[Verdict, ...] = ("fail", "error", "inconclusive", "pass")


ACCEPTABLE: frozenset[ReasonCode] = frozenset(("regression", "slice", "broke", "preference"))
"""What a person can accept: that head's answers are other ones than base's."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst verdict of the parts; `pass` if there are none."""
    return min(verdicts, key=SEVERITY.index, default="pass")


def waived(found: ContractResult, waivers: Sequence[Waiver]) -> ContractResult:
    """Return the result with waived contracts no longer gating; every reason stays readable."""
    mine = [w for w in waivers if w.contract in (found.name, None)]
    waiver = next((w for kind in ("waive", "accept") for w in mine if w.kind == kind), None)
    if waiver is None or not any(_covers(waiver, reason) for reason in found.reasons):
        return found
    left = [reason.verdict for reason in found.reasons if not _covers(waiver, reason)]
    done = "Waived" if waiver.kind == "waive" else "Regression accepted"
    text = f"{done} by @{waiver.author} for {waiver.sha[:10]}: {waiver.reason or 'no reason given'}"
    return replace(
        found,
        verdict=worst(left),
        reasons=(Reason("waived", text, "pass"), *found.reasons),
        waiver=waiver,
    )


def _covers(waiver: Waiver, reason: Reason) -> bool:
    if waiver.kind == "accept":
        return reason.code in ACCEPTABLE
    return reason.verdict != "pass"


def weakened_policy(weakened: Sequence[Weakening], policy: Policy) -> list[ContractResult]:
    """Return the policy as if it were a contract, so that a person can waive its weakening; nothing
    if it is not weakened."""
    reasons = policy_reasons(weakened, policy)
    texts = tuple(f"`{found.place}` {found.text}" for found in weakened)
    paths = list(dict.fromkeys(found.policy_path for found in weakened))
    return [
        ContractResult(
            POLICY_NAME,
            paths[0],
            reason.verdict,
            (reason,),
            tuple(AffectedBy(path, "modified") for path in paths),
            weakened=texts,
        )
        for reason in reasons
    ]


def removed(contract: AffectedContract, policy: Policy) -> ContractResult:
    """Return the result of a contract that head no longer has."""
    reason = removed_reason(contract, policy)
    places = (contract.path, *(contract.base.places if contract.base else ()))
    return ContractResult(
        contract.name,
        contract.path,
        reason.verdict,
        (reason,),
        contract.affected_by,
        folder=policy.folder_of(contract.path),
        on_inconclusive=policy.at(*places).on_inconclusive,
    )


def untested(job: Job, policy: Policy) -> ContractResult:
    """Return the result of a contract none of whose fixtures shows the effect of the template's
    change, or can be sent to the new prompt."""
    contract = job.contract
    own = policy.at(*job.places)
    reasons = [*untested_reasons(job), *unanswerable_reasons(job)]
    if own.on_weakening == "require_waiver":
        reasons = [*weakened_reasons(job, own), *reasons]
    verdict = worst(reason.verdict for reason in reasons)
    return ContractResult(
        contract.name,
        contract.path,
        verdict,
        tuple(reasons),
        job.affected_by,
        weakened=job.weakened,
        folder=job.folder,
        on_inconclusive=own.on_inconclusive,
    )
