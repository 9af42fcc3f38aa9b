"""Combines verdicts, decides those that need no sample, and gives each its exit code. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Literal

from gatekeeper.contract.changes.affected import AffectedContract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import AffectedBy
from gatekeeper.contract.values.definition import POLICY_NAME
from gatekeeper.contract.weakening.policy_weakening import Weakening
from gatekeeper.gate.plan.contract_reasons import (
    policy_reasons,
    removed_reason,
    unanswerable_reasons,
    untested_reasons,
    weakened_reasons,
)
from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.results.result import ContractResult, Reason, ReasonCode, Verdict, Waiver

# The worst first: a certain failure stands even where other things could not be measured.
SEVERITY: tuple[Verdict, ...] = ("fail", "error", "inconclusive", "pass")


ACCEPTABLE: frozenset[ReasonCode] = frozenset(("regression", "slice", "broke", "preference"))
"""The results that a person can accept because head's answers may differ from base's."""


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


# The exit code of a verdict. gatekeeper/errors.py has the exit codes of errors.


OnInconclusive = Literal["pass", "fail"]


def exit_code(verdict: Verdict, on_inconclusive: OnInconclusive) -> int:
    """Return the exit code of the process; the base policy decides about `inconclusive`."""
    if verdict == "inconclusive":
        return 1 if on_inconclusive == "fail" else 0
    return {"pass": 0, "fail": 1, "error": 3}[verdict]


def exit_code_of(verdict: Verdict, contracts: Collection[ContractResult]) -> int:
    """Return the exit code of a run: 3 instead of 0 if nothing tested what changed of a contract,
    because a required check would otherwise be green. For other doubts, the policies of the
    inconclusive contracts decide together: one `fail` is enough."""
    open_ = [contract for contract in contracts if contract.verdict == "inconclusive"]
    blocks = any(contract.on_inconclusive == "fail" for contract in open_)
    code = exit_code(verdict, "fail" if blocks else "pass")
    return 3 if not code and any(map(_is_untested, open_)) else code


def _is_untested(contract: ContractResult) -> bool:
    """Return whether no request shows a change of the prompt, or a contract that could not be used
    before either leaves it untested."""
    found = {(r.code, r.contract_from) for r in contract.reasons if r.verdict == "inconclusive"}
    return bool(found & {("untested", "head"), ("error", "head")})
