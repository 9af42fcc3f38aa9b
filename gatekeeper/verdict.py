"""Evidence and policy -> verdict and reasons. Pure: this is where it is decided."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from gatekeeper.contract.affected import AffectedContract
from gatekeeper.contract.policy import Policy
from gatekeeper.evidence.collect import ContractWatch
from gatekeeper.evidence.job import Evidence, Job, weigh, weigh_under_base
from gatekeeper.evidence.objectives import standing
from gatekeeper.evidence.pairs import paired_result
from gatekeeper.result import (
    ArmResult,
    ContractResult,
    FixtureResult,
    PairedResult,
    Reason,
    ReasonCode,
    SloResult,
    Stopped,
    Verdict,
)
from gatekeeper.slo.budget import ErrorBudget, Event, error_budget
from gatekeeper.stats.mcnemar import mcnemar_exact

if TYPE_CHECKING:
    from gatekeeper.sampling.run import Run

# The worst first: a certain failure stands even where other things could not be measured.
SEVERITY: tuple[Verdict, ...] = ("fail", "error", "inconclusive", "pass")
OBJECTIVE_NAMES = {
    "success_rate": "success rate",
    "latency_p95_ms": "latency p95",
    "cost_per_call_usd": "cost per call",
}


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
    watches: Mapping[str, ContractWatch],
    sampled: Run,
    history: Mapping[str, Sequence[Event]] | None,
    policy: Policy,
    now: datetime,
) -> list[ContractResult]:
    """Each job's result. Contracts that compare arms share the level by Holm's procedure."""
    evidence = {
        job.contract.name: weigh(job, job.contract, watches[job.contract.name].outcomes)
        for job in jobs
    }
    levels = _holm_levels(evidence)
    return [
        _contract_result(
            job,
            evidence[job.contract.name],
            watches[job.contract.name],
            levels.get(job.contract.name, job.contract.gate.alpha),
            sampled,
            history,
            policy,
            now,
        )
        for job in jobs
    ]


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


def uncovered_reasons(paths: Sequence[str], policy: Policy) -> list[Reason]:
    """Changed prompts that no contract watches."""
    verdict: Verdict = "fail" if policy.require_contract else "pass"
    return [Reason("uncovered", f"{path} has no contract.", verdict) for path in paths]


def _contract_result(
    job: Job,
    evidence: Evidence,
    watch: ContractWatch,
    level: float,
    sampled: Run,
    history: Mapping[str, Sequence[Event]] | None,
    policy: Policy,
    now: datetime,
) -> ContractResult:
    stopped: Stopped = "regressed" if watch.regressed else "exhausted"
    paired = paired_result(evidence.pairs, level, stopped) if evidence.pairs else None
    budget = _error_budget(evidence, history, now)
    reasons = [
        *ended_reasons(job, watch, sampled),
        *evidence_reasons(evidence, paired),
        *weakened_reasons(job.weakened, policy),
        # Without a history the budget is this run's own, and proves nothing about the window.
        *(budget_reasons(budget, paired, policy) if history is not None else ()),
    ]
    under = weigh_under_base(job, watch.samples)
    if under:
        again = paired_result(under.pairs, level, stopped) if under.pairs else None
        reasons += under_base(evidence_reasons(under, again))
    reasons.sort(key=lambda reason: SEVERITY.index(reason.verdict))
    return ContractResult(
        name=job.contract.name,
        path=job.contract.path,
        verdict=worst(reason.verdict for reason in reasons),
        reasons=tuple(reasons),
        affected_by=job.affected_by,
        base=evidence.base,
        head=evidence.head,
        paired=paired,
        slo=evidence.slo,
        error_budget=budget,
        fixtures=evidence.fixtures,
        weakened=job.weakened,
        warnings=_warnings(job),
    )


def ended_reasons(job: Job, watch: ContractWatch, sampled: Run) -> list[Reason]:
    """Why a contract was not sampled to the end, where its answer was not sure without."""
    complete = len(watch.samples) >= len(job.trials)
    if complete or watch.regressed or sampled.ended == "done":
        return []
    codes: Mapping[str, ReasonCode] = {"limit": "limit", "interrupted": "interrupted"}
    done = f"{len(watch.samples)} of {len(job.trials)} samples were drawn"
    text = f"Not measured to the end: {sampled.detail or sampled.ended}; {done}."
    return [Reason(codes.get(sampled.ended, "error"), text, "error")]


def _holm_levels(evidence: Mapping[str, Evidence]) -> dict[str, float]:
    """The level each comparison is tested at by Holm's step-down procedure (Holm 1979).

    Contracts may differ in alpha, so the steps follow p / alpha.
    """
    tested = {name: e for name, e in evidence.items() if e.pairs is not None and e.pairs.known}
    scaled = {
        name: e.pairs.p_value() / e.contract.gate.alpha for name, e in tested.items() if e.pairs
    }
    levels = {}
    left = len(scaled)
    for name in sorted(scaled, key=lambda name: scaled[name]):
        levels[name] = tested[name].contract.gate.alpha / left
        if scaled[name] <= 1 / left:
            left -= 1  # rejected: the next is tested among one fewer
    return levels


def _error_budget(
    evidence: Evidence, history: Mapping[str, Sequence[Event]] | None, now: datetime
) -> ErrorBudget | None:
    objective = evidence.contract.slo.success_rate
    if objective is None:
        return None
    events = (history or {}).get(evidence.contract.name, ()) if history is not None else ()
    if history is None:
        arm = evidence.base or evidence.head
        events = (Event(now, arm.samples, arm.samples - arm.passed),) if arm.samples else ()
    head = evidence.head.interval
    return error_budget(
        events,
        objective,
        evidence.contract.slo.window,
        now,
        (head.low, head.high) if head else None,
    )


def _warnings(job: Job) -> tuple[str, ...]:
    warnings = []
    if job.unpaired:
        text = "fixtures have no base arm (new, or the base prompt cannot take them)"
        warnings.append(f"{len(job.unpaired)} {text}: {', '.join(job.unpaired[:5])}")
    return tuple(warnings)


def paired_reasons(paired: PairedResult, *, best_p: float, margin: float) -> list[Reason]:
    """What base against head says. `best_p` is the p-value if every unknown fixture broke."""
    if paired.p_value is None:
        return [Reason("error", "No fixture could be measured on both arms.", "error")]
    counts = f"{paired.broke} of {paired.fixtures} fixtures broke, {paired.fixed} fixed"
    if paired.unknown:
        counts += f", {paired.unknown} {_unknown_because(paired)}"
    if paired.p_value <= paired.alpha:
        # With unknown fixtures the value is the largest that complete data could have given.
        bound = "≤" if paired.unknown else "="
        sure = f"p {_p(paired.p_value, bound)}, exact McNemar"
        return [Reason("regression", f"Worse than base: {counts} ({sure}).", "fail")]
    if best_p <= paired.alpha:
        text = f"{paired.unknown} of {paired.fixtures} fixtures could not be measured on both arms"
        return [Reason("error", f"{text}, too many to tell whether head is worse.", "error")]
    if paired.minimum_detectable_effect is None:
        text = f"With {_count(paired.fixtures, 'distinct fixture')} no drop could have been seen"
        return [Reason("unseen", f"{text}; add fixtures.", "inconclusive")]
    seen = f"this run could only have seen a drop of {_points(paired.minimum_detectable_effect)}"
    if paired.difference is not None and -paired.difference > margin:
        text = f"It looks {_points(-paired.difference)} worse ({counts}), but that can be chance"
        return [Reason("undecided", f"{text} (p {_p(paired.p_value)}); {seen}.", "inconclusive")]
    return [Reason("not_worse", f"No regression found: {counts}; {seen} or more.", "pass")]


def slo_reasons(results: Sequence[SloResult]) -> list[Reason]:
    """Objectives that are missed, or look missed, or could not be measured."""
    reasons = []
    for result in results:
        name = OBJECTIVE_NAMES[result.objective]
        found = f"{_amount(result, result.observed)} against {_amount(result, result.target)}"
        match standing(result):
            case _ if result.unmeasured:
                text = f"Calls failed that could decide the objective {name} ({found})."
                reasons.append(Reason("error", text, "error"))
            case "missed":
                text = f"Objective missed: {name} {found}, interval {_interval(result)}."
                reasons.append(Reason("slo", text, "fail"))
            case "unlikely":
                text = f"Objective in doubt: {name} {found}, but more samples could still meet it."
                reasons.append(Reason("slo", text, "inconclusive"))
    return reasons


def tolerance_reasons(
    tolerance: float | None, head: ArmResult, fixtures: Sequence[FixtureResult]
) -> list[Reason]:
    """PCSL's tau: the share of fixtures that must pass after aggregation."""
    if tolerance is None or not fixtures:
        return []
    best = head.fixtures_passed + len(fixtures) - head.fixtures
    counts = f"{head.fixtures_passed} of {len(fixtures)} fixtures pass"
    if best / len(fixtures) < tolerance:
        return [Reason("tolerance", f"{counts}, the contract asks for {tolerance:.0%}.", "fail")]
    if head.fixtures_passed / len(fixtures) < tolerance:
        text = f"{counts}, {len(fixtures) - head.fixtures} could not be measured"
        return [Reason("error", f"{text}; the contract asks for {tolerance:.0%}.", "error")]
    return []


def budget_reasons(
    budget: ErrorBudget | None, paired: PairedResult | None, policy: Policy
) -> list[Reason]:
    """The freeze rule: once the budget is spent only a significantly better change passes."""
    if budget is None or not policy.freeze or not budget.spent_up:
        return []
    # Unknown fixtures count as broken: better must hold for the worst they could be.
    if paired and mcnemar_exact(paired.fixed, paired.broke + paired.unknown) <= paired.alpha:
        return []
    spent = f"{budget.spent} failed of {budget.events} in {budget.window}"
    text = f"The error budget is spent ({spent}); only a significantly better change may merge."
    return [Reason("budget", text, "fail")]


def weakened_reasons(weakened: Sequence[str], policy: Policy) -> list[Reason]:
    """What the pull request loosened. It is judged by the old contract unless that is allowed."""
    if not weakened:
        return []
    judged = "which the policy allows" if policy.allow.weakening else "so the base one judges too"
    return [Reason("weakened", f"The contract was weakened, {judged}.", "pass")]


def under_base(reasons: Iterable[Reason]) -> list[Reason]:
    """Reasons that the base contract gives, marked as such; what it is content with is left out."""
    return [
        Reason(r.code, f"Under the base contract: {r.text}", r.verdict)
        for r in reasons
        if r.verdict != "pass"
    ]


def evidence_reasons(evidence: Evidence, paired: PairedResult | None) -> list[Reason]:
    """Everything one contract says of one set of outcomes."""
    if not evidence.head.samples:
        return [Reason("error", "No sample could be measured on head.", "error")]
    gate = evidence.contract.gate
    reasons: list[Reason] = []
    if paired and evidence.pairs:
        best_p = evidence.pairs.best_p_value()
        reasons += paired_reasons(paired, best_p=best_p, margin=gate.margin)
    elif gate.tolerance is None and not evidence.slo:
        text = "There is no base to compare with and no objective: nothing can be said of it"
        reasons.append(Reason("unseen", f"{text}; set slo.success_rate.", "inconclusive"))
    reasons += slo_reasons(evidence.slo)
    return reasons + tolerance_reasons(gate.tolerance, evidence.head, evidence.fixtures)


def _unknown_because(paired: PairedResult) -> str:
    return "not sampled to the end" if paired.stopped == "regressed" else "unknown"


def _p(value: float, equals: str = "=") -> str:
    return "< 0.0001" if value < 0.0001 else f"{equals} {value:.2g}"


def _points(share: float) -> str:
    return _count(round(share * 100), "point")


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _amount(result: SloResult, value: float | None) -> str:
    if value is None:
        return "unknown"
    match result.objective:
        case "success_rate":
            return f"{value:.1%}"
        case "latency_p95_ms":
            return f"{value:,.0f} ms"
        case _:
            return f"${value:.4f}"


def _interval(result: SloResult) -> str:
    if result.interval is None:
        return "unknown"
    return f"{_amount(result, result.interval.low)} to {_amount(result, result.interval.high)}"
