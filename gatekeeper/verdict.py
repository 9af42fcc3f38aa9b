"""Evidence and policy -> verdict and reasons. Pure: this is where it is decided."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from gatekeeper.contract.affected import AffectedContract
from gatekeeper.contract.policy import Policy
from gatekeeper.evidence.collect import Watches
from gatekeeper.evidence.job import Job
from gatekeeper.evidence.pairs import paired_result
from gatekeeper.evidence.weigh import Evidence, weigh
from gatekeeper.reasons import (
    Weighed,
    budget_reasons,
    ended_reasons,
    evidence_reasons,
    left_reasons,
    under_base,
    warnings_of,
    weakened_reasons,
)
from gatekeeper.result import (
    ContractResult,
    Reason,
    Stopped,
    UnderBase,
    Verdict,
)
from gatekeeper.slo.budget import ErrorBudget, Event, error_budget
from gatekeeper.stats.multiple import holm_levels

if TYPE_CHECKING:
    from gatekeeper.sampling.run import Run

# The worst first: a certain failure stands even where other things could not be measured.
SEVERITY: tuple[Verdict, ...] = ("fail", "error", "inconclusive", "pass")


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of a whole from those of its parts; of nothing it is `pass`."""
    return min(verdicts, key=SEVERITY.index, default="pass")


def exit_code(verdict: Verdict, policy: Policy) -> int:
    """What the process ends with; `inconclusive` ends as the base policy says."""
    if verdict == "inconclusive":
        return 1 if policy.on_inconclusive == "fail" else 0
    return {"pass": 0, "fail": 1, "error": 3}[verdict]


def conclude(
    jobs: Sequence[Job],
    watches: Watches,
    sampled: Run,
    history: Mapping[str, Sequence[Event]] | None,
    policy: Policy,
    now: datetime,
) -> list[ContractResult]:
    """Each job's result. All comparisons of the run share the level by Holm's procedure."""
    weighed = _weigh_all(jobs, watches)
    return [
        _contract_result(job, weighed[job.contract.name], sampled, history, policy, now)
        for job in jobs
    ]


def _weigh_all(jobs: Sequence[Job], watches: Watches) -> dict[str, tuple[Weighed, ...]]:
    found = {
        (job.contract.name, watch.judging.by): (
            watch,
            stopped := any(w.regressed for w in watches.of(job)),
            weigh(watch.judging, watch.outcomes, stopped=stopped),
        )
        for job in jobs
        for watch in watches.of(job)
    }
    # The family is fixed before sampling: an outage must not make another contract's test easier.
    compared = {key: e for key, (_, _, e) in found.items() if e.pairs is not None}
    levels = holm_levels(
        {key: e.pairs.p_value() for key, e in compared.items() if e.pairs},
        {key: e.contract.gate.alpha for key, e in compared.items()},
    )
    each: dict[str, tuple[Weighed, ...]] = defaultdict(tuple)
    for key, (watch, stopped, evidence) in found.items():
        ended: Stopped | None = "exhausted" if watch.drawn else "regressed" if stopped else None
        paired = paired_result(evidence.pairs, levels[key], ended) if evidence.pairs else None
        each[key[0]] += (Weighed(watch.judging, evidence, paired, watch.drawn or stopped),)
    return each


def removed(contract: AffectedContract, policy: Policy) -> ContractResult:
    """A contract that head no longer has."""
    if not contract.prompt_still_there:
        reason = Reason("removed", "The contract was removed together with its prompt.", "pass")
    elif policy.allow.contract_removal:
        text = "The contract was removed while its prompt stays, which the policy allows."
        reason = Reason("removed", text, "pass")
    else:
        text = (
            "The contract was removed while its prompt stays: nothing would watch it any more. "
            "Keep the contract, or set `allow: {contract_removal: true}` in the base policy."
        )
        reason = Reason("removed", text, "fail")
    return ContractResult(
        contract.name, contract.path, reason.verdict, (reason,), contract.affected_by
    )


def _contract_result(
    job: Job,
    weighed: Sequence[Weighed],
    sampled: Run,
    history: Mapping[str, Sequence[Event]] | None,
    policy: Policy,
    now: datetime,
) -> ContractResult:
    own, *others = weighed
    budget = _error_budget(job, own.evidence, history, now)
    reasons = [
        *ended_reasons(weighed, sampled),
        *left_reasons(job.left_prompt, policy),
        *evidence_reasons(own),
        *weakened_reasons(job, policy),
        *(reason for other in others for reason in under_base(other)),
    ]
    # Without a history the budget is this run's own, and proves nothing about the window; a
    # change that leaves the prompt as it is burns nothing.
    if history is not None and job.paired:
        reasons += budget_reasons(budget, [w.paired for w in weighed if w.paired], policy)
    reasons.sort(key=lambda reason: SEVERITY.index(reason.verdict))
    return ContractResult(
        name=job.contract.name,
        path=job.contract.path,
        verdict=worst(reason.verdict for reason in reasons),
        reasons=tuple(reasons),
        affected_by=job.affected_by,
        base=own.evidence.base,
        head=own.evidence.head,
        paired=own.paired,
        slo=own.evidence.slo,
        error_budget=budget,
        fixtures=own.evidence.fixtures,
        weakened=job.weakened,
        warnings=warnings_of(job),
        under_base=_under_base(others[0]) if others else None,
    )


def _under_base(weighed: Weighed) -> UnderBase:
    found = weighed.evidence
    return UnderBase(found.base, found.head, weighed.paired, found.slo, found.fixtures)


def _error_budget(
    job: Job, evidence: Evidence, history: Mapping[str, Sequence[Event]] | None, now: datetime
) -> ErrorBudget | None:
    """The budget that the base contract sets: a pull request cannot vote itself another."""
    contract = job.base or job.contract
    objective = contract.slo.success_rate
    if objective is None:
        return None
    events = history.get(contract.name, ()) if history is not None else ()
    if history is None:
        arm = evidence.base or evidence.head
        events = (Event(now, arm.samples, arm.samples - arm.passed),) if arm.samples else ()
    head = evidence.head.interval
    return error_budget(
        events, objective, contract.slo.window, now, (head.low, head.high) if head else None
    )
