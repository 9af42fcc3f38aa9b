"""Decides what the samples of each contract show: evidence, reasons and a verdict. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.checks.evaluate import prepare
from gatekeeper.contract.changes.renaming import find_renaming, is_renamed
from gatekeeper.contract.fixtures.quarantine import quarantine_notes, without_quarantine
from gatekeeper.contract.meaning.digests import canonical, contract_digest
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import ContractFrom, Outcome
from gatekeeper.errors import ContractError
from gatekeeper.gate.comparison.missing_answers import missing_warnings
from gatekeeper.gate.comparison.pair_counts import count_clusters, count_pairs, paired_result
from gatekeeper.gate.comparison.repairs import repair_warnings
from gatekeeper.gate.decision.lowered_checks import (
    GatingHistory,
    error_checks,
    lowered_check_warnings,
)
from gatekeeper.gate.decision.reasons import (
    EvaluationSummary,
    broken_base_reasons,
    budget_reasons,
    ended_reasons,
    evidence_reasons,
    flickering_warning,
    not_run_reasons,
    under_base,
    unread_reasons,
    warnings_of,
)
from gatekeeper.gate.decision.verdict import SEVERITY, waived, worst
from gatekeeper.gate.measuring.monitor import EvaluationMonitor, Watches, evaluate_sample
from gatekeeper.gate.measuring.summarise import Evidence, summarise
from gatekeeper.gate.objectives.error_budgets import (
    error_budgets,
    is_exempt,
    is_frozen,
    most_pressing,
)
from gatekeeper.gate.objectives.judge_correction import (
    correct_difference,
    drifted_reasons,
    leave_open,
    sole_judge,
)
from gatekeeper.gate.plan.alpha import ALL, Family, alpha_shares, comparison_alpha, family_of
from gatekeeper.gate.plan.calibrations_in_force import uncalibrated_reasons
from gatekeeper.gate.plan.contract_reasons import (
    example_reasons,
    left_reasons,
    lent_reasons,
    new_contract_reasons,
    not_held_up,
    untested_reasons,
    weakened_reasons,
)
from gatekeeper.gate.plan.plan import Job, evaluates_differently, negotiated
from gatekeeper.gate.results.parts import AnchorResult, AnchorResults
from gatekeeper.gate.results.result import (
    ContractResult,
    PairedResult,
    Reason,
    Stopped,
    UnderBase,
    Verdict,
    Waiver,
)
from gatekeeper.gate.samples.outcomes import aggregate, by_fixture
from gatekeeper.stats.multiple import OPPOSITE, benjamini_hochberg, holm_levels
from gatekeeper.stats.objectives.error_budget import ErrorBudget, Spending

if TYPE_CHECKING:
    from gatekeeper.sampling.runner import Run


Key = tuple[str, ContractFrom]
"""A comparison of the run: the contract's name, and whose contract applies."""


def conclude(
    jobs: Sequence[Job],
    watches: Watches,
    sampled: Run,
    history: Spending | None,
    policy: Policy,
    now: datetime,
    waivers: Sequence[Waiver] = (),
    *,
    unread: bool = False,
    gated: GatingHistory = MappingProxyType({}),
    anchors: AnchorResults = MappingProxyType({}),
) -> list[ContractResult]:
    """Return each job's result. All comparisons of a family (plan/alpha.py) share the level by
    Holm's procedure.

    `history` is None if there is none, or if it could not be read (`unread`): then it is not known
    what is frozen. `gated` says which checks gated in earlier runs. `anchors` says which judges
    drifted.
    """
    summaries = _summarise_all(jobs, watches)
    found = []
    repository = policy
    for job in jobs:
        policy = repository.at(*job.places)
        mine, asked = summaries[job.contract.name], anchors.get(job.contract.name, ())
        if asked:
            mine = (_with_open_objectives(mine[0], watches.of(job)[0].outcomes, asked), *mine[1:])
        result = _contract_result(job, mine, sampled, history, policy, now)
        if asked:
            reasons = drifted_reasons(result.reasons, result.slo, job.contract, asked)
            result = replace(_with_reasons(replace(result, reasons=()), reasons), anchors=asked)
        blind = blind_fixtures(job, watches.of(job)[0].outcomes)
        if blind:
            result = replace(result, weakened=(*result.weakened, blind_text(blind)))
            result = _with_reasons(result, blind_reasons(blind, policy))
        if unread and job.paired:
            result = _with_reasons(result, unread_reasons(job, policy))
        lowered = lowered_check_warnings(job.contract, job.base, gated, now)
        held = quarantine_notes(job.contract, now.date())
        result = replace(result, warnings=(*held, *result.warnings, *lowered))
        found.append(waived(result, waivers))
    return found


def _with_open_objectives(
    summary: EvaluationSummary, outcomes: Sequence[Outcome], anchors: Sequence[AnchorResult]
) -> EvaluationSummary:
    """Return the summary with the objectives open that rest on a judge that drifted."""
    evidence = summary.evidence
    slo = leave_open(evidence.contract, evidence.slo, outcomes, anchors)
    return replace(summary, evidence=replace(evidence, slo=slo))


def _with_reasons(result: ContractResult, more: Sequence[Reason]) -> ContractResult:
    reasons = sorted((*result.reasons, *more), key=lambda r: SEVERITY.index(r.verdict))
    return replace(result, reasons=tuple(reasons), verdict=worst(r.verdict for r in reasons))


def _summarise_all(
    jobs: Sequence[Job], watches: Watches
) -> dict[str, tuple[EvaluationSummary, ...]]:
    every = {}
    families: dict[Family, dict[Key, EvaluationMonitor]] = defaultdict(dict)
    for job in jobs:
        for watch in watches.of(job):
            key = job.contract.name, watch.evaluation.contract_from
            every[key] = families[family_of(job, watch.evaluation)][key] = watch
    worse = {job.contract.name: any(w.regressed for w in watches.of(job)) for job in jobs}
    # A family is fixed before sampling: an outage must not make another contract's test easier.
    levels = {key: level for family in families.values() for key, level in _levels(family).items()}
    found = {
        key: _summarise(watch, levels.get(key), cut=worse[key[0]]) for key, watch in every.items()
    }
    each: dict[str, tuple[EvaluationSummary, ...]] = defaultdict(tuple)
    for (name, _), summary in _adjusted(found).items():
        each[name] += (summary,)
    return each


def _levels(family: Mapping[Key, EvaluationMonitor]) -> dict[Key, tuple[float, int]]:
    """Return the level of each comparison of a family by Holm's procedure, and how many share it:
    those that could reach it. A contract with slices reaches it if one of its claims does."""
    compared = {key: watch for key, watch in family.items() if watch.comparison}
    contracts = {key: watch.evaluation.contract for key, watch in compared.items()}
    attainable = {
        key: min(claim.attainable for claim in watch.claims.values())
        for key, watch in compared.items()
    }
    alphas = {key: comparison_alpha(contract) for key, contract in contracts.items()}
    better = {key for key, watch in compared.items() if _all_better(watch, alphas[key])}
    found = holm_levels(
        alphas,
        lambda key, level: _any_regressed(compared[key], level),
        attainable=attainable,
        shares={key: alpha_shares(contract).comparison for key, contract in contracts.items()},
        opposite=better,
    )
    able = {key for key, level in found.items() if attainable[key] <= level}
    sharing = max(1, len(able - better) + bool(able & better))
    return {key: (level, sharing) for key, level in found.items()}


def _all_better(watch: EvaluationMonitor, alpha: float) -> bool:
    """Return whether head is better by every claim that could find it worse."""
    able = [claim for claim in watch.claims.values() if claim.attainable <= alpha]
    return bool(able) and all(claim.is_better(OPPOSITE * alpha) for claim in able)


def _any_regressed(watch: EvaluationMonitor, level: float) -> bool:
    claims = watch.claims
    return any(claims[c].evaluate(own).regressed for c, own in levels_of_claims(watch, level))


def levels_of_claims(watch: EvaluationMonitor, level: float) -> Iterable[tuple[str, float]]:
    """Return the level of each claim of a contract by Holm's procedure."""
    claims = watch.claims
    found = holm_levels(
        dict.fromkeys(claims, level),
        lambda claim, own: claims[claim].evaluate(own).regressed,
        attainable={claim: comparison.attainable for claim, comparison in claims.items()},
    )
    return found.items()


def _summarise(
    watch: EvaluationMonitor, level: tuple[float, int] | None, *, cut: bool
) -> EvaluationSummary:
    """Summarise one evaluation. `level` is that of the comparison, and how many share it. `cut`
    says that sampling of the whole contract ended because head is worse."""
    stopped = watch.settled or cut
    evidence = summarise(watch, stopped=stopped)
    paired = None
    if level is not None and watch.comparison and evidence.pairs:
        ended: Stopped | None = watch.stopped or ("regressed" if cut else None)
        gate = watch.evaluation.contract.gate
        own = dict(levels_of_claims(watch, level[0]))
        found = paired_result(
            evidence.pairs,
            watch.comparison,
            watch.outcomes,
            gate,
            own[ALL],
            ended,
            evidence.clusters,
        )
        calibrations = {} if watch.comparison.graded else watch.evaluation.calibrations
        judge = sole_judge(watch.outcomes, calibrations)
        corrected = correct_difference(watch.comparison.drops(), judge) if judge else None
        fewest = watch.broken.fewest_found if watch.broken else None
        able = sum(claim.attainable <= own[name] for name, claim in watch.claims.items())
        ways = [k for k in (found.detectable_breaks, fewest) if k is not None]
        paired = replace(
            found,
            family=level[1] - 1 + max(1, able),
            corrected_difference=corrected,
            detectable_breaks=min(ways, default=None),
            weights=watch.evaluation.weights,
            slices=tuple(_slice(watch, name, own[name], evidence, ended) for name in watch.slices),
        )
    return EvaluationSummary(
        watch.evaluation,
        evidence,
        watch.comparison,
        paired,
        stopped,
        watch.complete,
        watch.slices,
    )


def _slice(
    watch: EvaluationMonitor, name: str, level: float, evidence: Evidence, ended: Stopped | None
) -> PairedResult:
    """Return the comparison of one category, decided at a level of its own."""
    own, comparison = watch.parts[name], watch.slices[name]
    ids = {fixture.id for fixture in own.contract.fixtures}.difference(own.apart)
    fixtures = [fixture for fixture in evidence.fixtures if fixture.id in ids]
    # What was measured after its own decision is shown, and leaves the decision as it is.
    alone: Stopped | None = comparison.stopped or ("futile" if comparison.futile else ended)
    found = paired_result(
        count_pairs(fixtures),
        comparison,
        (),
        own.contract.gate,
        level,
        alone,
        count_clusters(fixtures, own.counts_with) if own.clustered else None,
    )
    return replace(found, category=name)


def _adjusted(found: Mapping[Key, EvaluationSummary]) -> dict[Key, EvaluationSummary]:
    """Return the summaries with the p-values of all comparisons of the run adjusted by Benjamini
    and Hochberg, to be shown beside Holm's decision."""
    p_values = {
        key: summary.paired.p_value
        for key, summary in found.items()
        if summary.paired and summary.paired.p_value is not None
    }
    if not p_values:
        return dict(found)
    shown = dict(zip(p_values, benjamini_hochberg(list(p_values.values())).p_values, strict=True))
    return {
        key: replace(summary, paired=replace(summary.paired, adjusted_p_value=shown.get(key)))
        if summary.paired
        else summary
        for key, summary in found.items()
    }


def _contract_result(
    job: Job,
    summaries: Sequence[EvaluationSummary],
    sampled: Run,
    history: Spending | None,
    policy: Policy,
    now: datetime,
) -> ContractResult:
    own, *others = summaries
    budgets = _error_budgets(job, summaries, history, policy, now)
    reasons = [
        *ended_reasons(summaries, sampled),
        *new_contract_reasons(job, policy),
        *left_reasons(job.left_prompt, policy, job.left_as),
        *evidence_reasons(own, at_base=job.keeps_model),
        *weakened_reasons(job, policy),
        *broken_base_reasons(job),
        *(reason for other in others for reason in under_base(other, own)),
    ]
    # A change that leaves the prompt as it is burns nothing.
    if history is not None and job.paired:
        exempt = is_exempt(job.base or job.contract, policy)
        reasons += budget_reasons(budgets, summaries, policy, exempt=exempt)
    if job.leaves_requests and not job.weakened:
        reasons = [not_held_up(reason) for reason in reasons]
    reasons += [*untested_reasons(job), *lent_reasons(job), *uncalibrated_reasons(job)]
    reasons += example_reasons(job.contract)
    reasons += not_run_reasons(job.contract.not_run)
    # A prompt that passes nothing needs no other explanation.
    reasons.sort(key=lambda r: (SEVERITY.index(r.verdict), r.code != "nothing_passes"))
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
        error_budget=most_pressing(budgets),
        error_budgets=budgets,
        fixtures=own.evidence.fixtures,
        weakened=job.weakened,
        warnings=_warnings(job, own, reasons),
        under_base=_under_base(others),
        contract_digest=contract_digest(without_quarantine(job.contract)),
        order_seed=job.order_seed,
        must_pass=own.evidence.must_pass,
        broken=own.evidence.broken,
        limits=own.evidence.limits,
        preferences=own.evidence.preferences,
        repairs=own.evidence.repairs,
        missing_answers=own.evidence.missing,
        mode=negotiated(job.contract),
        error_checks=error_checks(job.contract),
        not_run=job.contract.not_run,
        folder=job.folder,
        on_inconclusive=policy.on_inconclusive,
    )


def _warnings(job: Job, own: EvaluationSummary, reasons: Sequence[Reason]) -> tuple[str, ...]:
    missing = missing_warnings(own.evidence.missing, reasons)
    flickering = flickering_warning(job, own.evidence.fixtures)
    return (*warnings_of(job), *repair_warnings(own.evidence.repairs), *missing, *flickering)


def _under_base(others: Sequence[EvaluationSummary]) -> UnderBase | None:
    """Return what the base contract found; of two evaluations, the one with the worse verdict."""
    if not others:
        return None
    harshest = min(others, key=lambda other: SEVERITY.index(_verdict_under_base(other)))
    found = harshest.evidence
    return UnderBase(
        found.base,
        found.head,
        harshest.paired,
        found.slo,
        found.fixtures,
        harshest.evaluation.contract_from,
        found.must_pass,
        found.limits,
        found.repairs,
        found.preferences,
        found.broken,
    )


def _verdict_under_base(summary: EvaluationSummary) -> Verdict:
    return worst(reason.verdict for reason in evidence_reasons(summary))


def frozen(job: Job, history: Spending | None, policy: Policy, now: datetime) -> bool:
    """Return whether a budget is overspent, so that only a significantly better change may
    merge."""
    if history is None or not job.paired:
        return False
    contract = job.base or job.contract
    return is_frozen(error_budgets(contract, history, policy, now), contract, policy)


def _error_budgets(
    job: Job,
    summaries: Sequence[EvaluationSummary],
    history: Spending | None,
    policy: Policy,
    now: datetime,
) -> tuple[ErrorBudget, ...]:
    """Return the budgets that the base contract sets, because a pull request cannot change its own.
    Without a history they have no events: one run does not fill a window."""
    # The base contract's evaluation is the last, and counts if there is one.
    burns = {name: burn for w in summaries for name, burn in w.evidence.burns.items()}
    on_head = {name: (b.good.low, b.good.high) for name, b in burns.items() if b.good}
    return error_budgets(job.base or job.contract, history or {}, policy, now, on_head)


# Finds fixtures that fail under head's contract and pass under the base one, with the same
# answers.
#
# A fixture that fails before a prompt changes cannot break, so it can show no regression in the
# next pull request. A check that nothing can pass would disable a contract in this way. Pure.


def blind_fixtures(job: Job, outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    """Return the fixtures of both contracts whose answers on head pass under the base contract
    only. `outcomes` are those of head's contract. No model is called again."""
    base, head = job.base, job.contract
    if base is None or not evaluates_differently(base, head):
        return ()
    kept = _kept(base, head)
    failing = {
        fixture: found
        for (fixture, arm), found in by_fixture(list(outcomes)).items()
        if arm == "head"
        and fixture in kept
        and aggregate(head.sampling.aggregate, found, len(found)) is False
    }
    if not failing:
        return ()
    try:
        evaluator = prepare(base)
    except ContractError:
        return ()
    blind = []
    for fixture, found in failing.items():
        before = [evaluate_sample(outcome.sample, base, evaluator) for outcome in found]
        if aggregate(base.sampling.aggregate, before, len(before)):
            blind.append(fixture)
    return tuple(fixture.id for fixture in base.fixtures if fixture.id in {*blind})


def blind_text(fixtures: Sequence[str]) -> str:
    """Say what such fixtures no longer do."""
    named = numbers.some([f"`{fixture}`" for fixture in fixtures], 3)
    one = len(fixtures) == 1
    count = numbers.count(len(fixtures), "fixture")
    fails = "its answer on head fails" if one else "their answers on head fail"
    passes = "passes" if one else "pass"
    return (
        f"{count} can no longer show a regression ({named}): {fails} under the new contract, "
        f"but {passes} under the base contract"
    )


def blind_reasons(fixtures: Sequence[str], policy: Policy) -> list[Reason]:
    """Return the reason for a contract with fixtures that can no longer show a regression, if the
    base policy requires a waiver for this."""
    if not fixtures or policy.on_weakening != "require_waiver":
        return []
    text = (
        f"The contract was weakened: {blind_text(fixtures)}. The base policy requires a "
        "maintainer's waiver (`on_weakening: require_waiver`)."
    )
    return [Reason("weakened", text, "fail")]


def _kept(base: Contract, head: Contract) -> set[str]:
    """Return the fixtures with the same input on both sides, whatever the variables are called."""
    renaming = find_renaming(base.fixtures, head.fixtures)
    now = {fixture.id: fixture for fixture in head.fixtures}
    return {
        fixture.id
        for fixture in base.fixtures
        if (other := now.get(fixture.id)) is not None
        and fixture.contents == other.contents
        and (
            canonical(dict(fixture.vars)) == canonical(dict(other.vars))
            or is_renamed(fixture, other, renaming)
        )
    }
