"""Turns each finding into a reason that calls for a verdict. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.definition import Contract, NotRun
from gatekeeper.contract.values.objectives import Objective, label_of, measure_of
from gatekeeper.contract.values.trial import ContractFrom
from gatekeeper.gate.comparison.missing_answers import missing_reasons
from gatekeeper.gate.comparison.repairs import repair_reasons
from gatekeeper.gate.comparison.resource_limits import limit_reasons
from gatekeeper.gate.decision.fixture_reasons import (
    broken_reasons,
    commonest_error,
    has_broken,
    must_pass_reasons,
    nothing_passes_reasons,
    significantly_broken,
    tolerance_reasons,
)
from gatekeeper.gate.decision.unit_words import (
    changed_units,
    compared_units,
    detectable_sizes,
    flips_note,
    mean_scores,
    paired_p_value,
    size_of,
    unit_noun,
)
from gatekeeper.gate.objectives.error_budgets import is_exempt
from gatekeeper.gate.objectives.objectives import objective_status
from gatekeeper.gate.plan.alpha import compares_pairs_alone
from gatekeeper.gate.plan.plan import Evaluation, Job
from gatekeeper.gate.results.parts import FixtureResult, PreferenceResult
from gatekeeper.gate.results.result import (
    PairedResult,
    Reason,
    ReasonCode,
    SloResult,
)
from gatekeeper.stats.objectives.error_budget import ErrorBudget

if TYPE_CHECKING:
    from gatekeeper.gate.comparison.paired_comparison import Comparison
    from gatekeeper.gate.measuring.summarise import Evidence
    from gatekeeper.sampling.runner import Run


@dataclass(frozen=True, slots=True)
class EvaluationSummary:
    """One evaluation with what it found. `comparison` and `paired` are None if there was nothing
    to compare; `settled` says that no sample was missing for the answer, `complete` that every
    planned sample is there."""

    evaluation: Evaluation
    evidence: Evidence
    comparison: Comparison | None
    paired: PairedResult | None
    settled: bool
    complete: bool = True
    slices: Mapping[str, Comparison] = field(default_factory=dict)


def ended_reasons(summaries: Sequence[EvaluationSummary], sampled: Run) -> list[Reason]:
    """Return the reason for a contract that was not completely sampled, if its result was not
    certain without the rest."""
    if all(w.settled for w in summaries):
        return []
    codes: Mapping[str, ReasonCode] = {"limit": "limit", "interrupted": "interrupted"}
    own = summaries[0]
    fixtures = own.evidence.fixtures
    taken = sum(tally.samples for f in fixtures for tally in (f.base, f.head) if tally)
    done = f"{taken} of {len(own.evaluation.trials)} samples were taken"
    cause = sampled.detail or ("samples are missing" if sampled.ended == "done" else sampled.ended)
    text = f"The measurement is incomplete: {cause}; {done}."
    return [Reason(codes.get(sampled.ended, "error"), text, "error")]


def paired_reasons(
    paired: PairedResult,
    *,
    could_be_worse: bool,
    largest_drop: float,
    margin: float,
    cause: str = "",
    broken: str = "",
    sure: bool = False,
) -> list[Reason]:
    """Return the reasons of base against head.

    All unmeasured samples may count against head: `could_be_worse` says whether the test then finds
    it worse, `largest_drop` by how much; `cause` is why most of them could not be measured.
    `broken` names the fixtures that broke for certain, unless another reason does. `sure` says that
    there are any.
    """
    if paired.p_value is None and paired.stopped == "regressed":
        return []  # the contract's other comparison was certain before a first cluster was complete
    if paired.p_value is None:
        text = f"No fixture could be measured on both base and head{cause}."
        return [Reason("error", text, "error")]
    counts = _counted(paired)
    if paired.p_value <= paired.alpha:
        chance = f"p {paired_p_value(paired)}, {paired.method}"
        return [Reason("regression", f"Worse than base: {counts} ({chance}).", "fail")]
    if could_be_worse and largest_drop > margin:
        pairs = numbers.count(paired.unmeasured, "pair")
        text = f"It is not known whether head is worse, because {pairs} of samples on base and head"
        return [Reason("error", f"{text} could not be measured{cause}.", "error")]
    if paired.minimum_detectable_effect is None:
        found = f"{_unseen(paired, counts, margin)}{_but(broken)}{flips_note(paired)}"
        return [Reason("unseen", found, "inconclusive")]
    if paired.stopped == "not_worse":
        less = size_of(paired, margin)
        text = f"Not worse than base by {less} or more: {counts}.{_but(broken)}"
        return [Reason("not_worse", text, "pass")]
    detectable = f"this run could only have detected {detectable_sizes(paired)}"
    if paired.incomplete:
        detectable = f"the full run could have detected {detectable_sizes(paired)}"
    if largest_drop > margin:
        drop = size_of(paired, largest_drop)
        shown = paired.interval
        certain = sure or (shown is not None and shown.high < 0)
        doubt = "and for other inputs this is open" if certain else "but this can be chance"
        text = f"Head may be {drop} worse ({counts}), {doubt}"
        needed = _needed(paired, margin)
        found = f"{text} (p {paired_p_value(paired)}); {detectable}{needed}.{_but(broken)}"
        found += flips_note(paired)
        return [Reason("undecided", found, "inconclusive")]
    # A fixture that broke is something found, whatever it says of the suite.
    none = "No significant regression over the suite" if paired.broke else "No regression found"
    text = f"{none}: {counts}; {detectable}.{_but(broken)}{flips_note(paired)}"
    return [Reason("no_regression", text, "pass")]


def _counted(paired: PairedResult) -> str:
    """Say how the arms differ: by how much, and in how many fixtures."""
    counts = changed_units(paired)
    if paired.scores:
        counts = f"{mean_scores(paired)}, {counts}"
    elif paired.rounds > 1 and paired.difference and round(paired.difference * 100, 1):
        # Fixtures are classified by most of their samples, the arms by all of them.
        way = "down" if paired.difference < 0 else "up"
        counts = f"pass rate {way} {numbers.size_in_points(abs(paired.difference))}, {counts}"
    if paired.unknown:
        counts += f", {paired.unknown} {_unknown_because(paired)}"
    return counts


def _slice_reasons(
    paired: PairedResult, comparisons: Mapping[str, Comparison], cause: str
) -> Iterator[Reason]:
    """Yield the reason of each category that got worse, or may have: by more than the margin, and
    by more than one fixture, because fresh samples tell whether one fixture broke."""
    for found in paired.slices:
        comparison = comparisons[found.category or ""]
        largest, margin = comparison.largest_drop(), found.margin or 0.0
        for reason in paired_reasons(
            found,
            could_be_worse=comparison.evaluate(found.alpha, harshly=True).regressed,
            largest_drop=largest,
            margin=margin,
            cause=cause,
        ):
            unclear = reason.verdict != "fail" and largest <= max(margin, 1 / max(1, found.units))
            if reason.verdict != "pass" and not unclear:
                text = f"Category {found.category}: {reason.text[0].lower()}{reason.text[1:]}"
                code: ReasonCode = "error" if reason.code == "error" else "slice"
                yield replace(reason, code=code, text=text)


def _unseen(paired: PairedResult, counts: str, margin: float) -> str:
    """Say that the samples could not have shown a drop, and what helps."""
    units = compared_units(paired, "distinct fixture")
    text = f"With {units}, no drop over all inputs could have been detected"
    if paired.broke or paired.fixed:
        text = f"No drop over all inputs could have been detected: {counts}"
    if flips_note(paired) or paired.stopped == "regressed":
        return f"{text}."  # the note says what helps; or the result was certain before
    noun = unit_noun(clustered=paired.clusters is not None)
    needed = paired.fixtures_needed
    if needed is None or needed <= paired.units:
        return f"{text}; add {noun}s."
    drop = numbers.size_in_points(margin)
    return f"{text}; add {noun}s ({needed:,} are needed to detect a drop of {drop})."


def budget_reasons(
    budgets: Sequence[ErrorBudget],
    summaries: Sequence[EvaluationSummary],
    policy: Policy,
    *,
    exempt: bool = False,
) -> list[Reason]:
    """Return the reason of a freeze: if more failed than the budget and chance explain, a change
    passes only if every contract that applies finds it significantly better by its objective."""
    spent = [budget for budget in budgets if budget.overspent] if policy.error_budget.freeze else []
    return [
        _lifted(budget)
        if _significantly_better(budget.objective, summaries)
        else _frozen(budget, exempt=exempt)
        for budget in spent
    ]


def unread_reasons(job: Job, policy: Policy) -> list[Reason]:
    """Return the reason for a history that could not be read: gatekeeper cannot know whether a
    budget is overspent."""
    contract = job.base or job.contract
    budgeted = any(objective.good_share is not None for objective in contract.slo)
    if not policy.error_budget.freeze or not budgeted or is_exempt(contract, policy):
        return []
    text = (
        "The history could not be read, so gatekeeper does not know whether "
        "an error budget is spent."
    )
    return [Reason("unread", text, "inconclusive")]


def _frozen(budget: ErrorBudget, *, exempt: bool) -> Reason:
    assert budget.freezes_at and budget.frozen_until  # noqa: S101, PT018  # it is overspent
    counts = (
        f"{numbers.number(budget.spent)} of {budget.events:,} samples failed in {budget.window}; "
        f"the budget allows {numbers.number(budget.budget)}, and chance explains at most "
        f"{budget.freezes_at - 1:,}"
    )
    spent = (
        f"The error budget of the objective {label_of(budget.objective)} is overspent ({counts})"
    )
    if exempt:
        return Reason("budget", f"{spent}; the policy exempts this contract.", "pass")
    rule = "only a change that significantly improves this objective may merge."
    ends = "The freeze ends earlier if good samples follow, and later if more samples fail."
    until = f"Until {numbers.moment(budget.frozen_until)} at the latest, {rule}"
    return Reason("budget", f"{spent}. {until} {ends}", "fail")


def _lifted(budget: ErrorBudget) -> Reason:
    text = (
        f"The error budget of the objective {label_of(budget.objective)} is overspent, but this "
        "change significantly improves the objective, so the freeze does not apply."
    )
    return Reason("budget", text, "pass")


def _significantly_better(objective: str, summaries: Sequence[EvaluationSummary]) -> bool:
    compared = [w for w in summaries if w.comparison]
    if objective != "success_rate":
        burns = [w.evidence.burns.get(objective) for w in compared]
        known = [(b.p_better, w.paired) for b, w in zip(burns, compared, strict=True) if b]
        return bool(known) and all(
            p is not None and paired is not None and p <= paired.alpha for p, paired in known
        )
    return bool(compared) and all(_passes_more(w) for w in compared)


def _passes_more(summary: EvaluationSummary) -> bool:
    # What could not be measured counts against head: better must hold for the worst.
    level = summary.paired.alpha if summary.paired else None
    if level is None or summary.comparison is None:
        return False
    return summary.comparison.evaluate(level, harshly=True, better=True).regressed


def broken_base_reasons(job: Job) -> list[Reason]:
    """Return the reason for a base contract that cannot be applied to a changed prompt.

    A base contract whose prompt did not change can be repaired.
    """
    if job.base_problem is None or not job.paired:
        return []
    text = (
        f"The base contract cannot be applied to this change: {job.base_problem}. Repair the "
        "base contract first, in a pull request that does not change the prompt."
    )
    return [Reason("error", text, "error", "base")]


_AS: dict[ContractFrom, str] = {
    "base_settings": " with its own model and parameters",
    "base_reading": " with the prompt read as on base",
}


def under_base(summary: EvaluationSummary, own: EvaluationSummary) -> list[Reason]:
    """Return the base contract's reasons against the change; the others are left out. `own` is the
    result of head's contract: if neither has anything to evaluate, only one reason says so."""
    by = summary.evaluation.contract_from
    return [
        Reason(r.code, f"Under the base contract{_AS.get(by, '')}: {r.text}", r.verdict, by)
        for r in evidence_reasons(summary, repeats=has_nothing_to_evaluate(own))
        if r.verdict != "pass"
    ]


def has_nothing_to_evaluate(summary: EvaluationSummary) -> bool:
    """Return whether there are no two arms to compare and no objective to meet."""
    gate, evidence = summary.evidence.contract.gate, summary.evidence
    compared = summary.paired and summary.comparison
    return not compared and gate.tolerance is None and not evidence.slo


def _nothing_to_evaluate(*, same_requests: bool) -> Reason:
    text = "Nothing to evaluate, because the contract has no base version and no objective"
    if same_requests:
        text = (
            "Nothing to compare, because every request is the same as before, and the contract has "
            "no objective"
        )
    return Reason("unseen", f"{text}; set `slo.success_rate` in the contract.", "inconclusive")


def evidence_reasons(
    summary: EvaluationSummary, *, at_base: bool = True, repeats: bool = False
) -> list[Reason]:
    """Return all reasons of one contract from one set of outcomes.

    `at_base` says that the contract has a base version. `repeats` says that another contract's
    reasons already say that there is nothing to evaluate.
    """
    evidence, paired = summary.evidence, summary.paired
    gate = evidence.contract.gate
    claims = (paired, *paired.slices) if paired and gate.claim != "fixtures" else ()
    regressed = any(claim.stopped == "regressed" for claim in claims)
    cut_short = regressed and not summary.complete
    if cut_short and not evidence.head.samples:
        return []  # another evaluation of the contract was certain before this one started
    cause = _unasked(summary.evaluation) or commonest_error(evidence.fixtures)
    if not evidence.head.samples:
        return [Reason("error", f"No sample could be measured on head{cause}.", "error")]
    broke = broken_reasons(evidence.broken, better=_passes_more(summary))
    reasons: list[Reason] = []
    if paired and summary.comparison:
        harshest = summary.comparison.evaluate(paired.alpha, harshly=True)
        reasons += paired_reasons(
            paired,
            could_be_worse=harshest.regressed,
            largest_drop=summary.comparison.largest_drop(),
            margin=gate.margin,
            cause=cause,
            broken="" if evidence.broken else significantly_broken(evidence.fixtures),
            sure=bool(broke) or any(map(has_broken, evidence.fixtures)),
        )
        reasons += _slice_reasons(paired, summary.slices, cause)
        reasons = without_vacuous(reasons, evidence.contract)
        if gate.claim == "fixtures":
            reasons = [r if r.code == "error" else replace(r, verdict="pass") for r in reasons]
        if not summary.settled:
            # Another reason says why it was not measured to the end; nothing was found until then.
            reasons = [reason for reason in reasons if reason.verdict == "fail"]
        if cut_short:
            # Cut short because the result is certain: what more samples could have shown is moot.
            missed = slo_reasons(evidence.slo, evidence.contract.slo)
            return reasons + [r for r in missed if r.verdict == "fail"]
    elif has_nothing_to_evaluate(summary) and not repeats:
        same = at_base and summary.evaluation.base is None
        reasons.append(_nothing_to_evaluate(same_requests=same))
    # A regression says as much, and what it was before.
    worse = any(r.code in ("regression", "slice") and r.verdict == "fail" for r in reasons)
    if summary.settled and summary.evaluation.contract_from == "head" and not worse:
        reasons += nothing_passes_reasons(evidence.fixtures)
    reasons += slo_reasons(evidence.slo, evidence.contract.slo)
    own = [
        *broke,
        *must_pass_reasons(evidence.must_pass),
        *limit_reasons(evidence.limits),
        *repair_reasons(evidence.repairs),
        *([] if worse else missing_reasons(evidence.missing)),
        *preference_reasons(evidence.preferences),
    ]
    reasons += own if summary.settled else [r for r in own if r.verdict == "fail"]
    return reasons + tolerance_reasons(gate.tolerance, evidence.head, evidence.fixtures)


def warnings_of(job: Job) -> tuple[str, ...]:
    """Return warnings that do not affect the verdict, for the reviewer."""
    own, *others = job.evaluations
    warnings = list(job.notices)
    if own.unpaired:
        text = "until this change is merged, keep the variables of base's prompt in these fixtures"
        count = numbers.count(len(own.unpaired), "fixture")
        why = "cannot be compared, because their variables do not fit base's prompt"
        warnings.append(f"{count} {why}: {numbers.some(own.unpaired, 5)}; {text}")
    for other in others:
        if other.unanswerable:
            text = (
                "of the base contract cannot be tested, because their variables do not fit head's "
                "prompt"
            )
            count = numbers.count(len(other.unanswerable), "fixture")
            warnings.append(f"{count} {text}: {numbers.some(other.unanswerable, 5)}")
    return tuple(warnings)


def flickering_warning(job: Job, fixtures: Sequence[FixtureResult]) -> Iterator[str]:
    """Yield a sentence with the fixtures that flicker on base: in the history, or because two of
    their samples passed and two failed."""
    each = [(f.id, f.base) for f in fixtures if f.base]
    mixed = [name for name, base in each if min(base.passed, base.samples - base.passed) > 1]
    held = {f.id for f in job.contract.fixtures if f.quarantine}
    found = [f for f in dict.fromkeys((*job.flickering, *mixed)) if f not in held]
    if found:
        yield flickering_sentence(found)


def flickering_sentence(found: Sequence[str]) -> str:
    """Name the fixtures that flicker on base, and say what to do."""
    one = len(found) == 1
    noun, them = ("fixture flickers", "it") if one else ("fixtures flicker", "them")
    fix = f"mend {them}, or put {them} in `quarantine`"
    return f"{len(found):,} {noun} on base ({numbers.some(found, 5)}); {fix}"


def _unasked(evaluation: Evaluation) -> str:
    """Say why fixtures of the base contract have no answer of head's, and what to do."""
    lost = evaluation.unanswerable
    if not lost:
        return ""
    return (
        f", because head's prompt cannot be filled in with {numbers.count(len(lost), 'fixture')} "
        f"of the base contract ({numbers.some(lost, 5)}). First add the prompt's new variables to "
        "these fixtures, in a pull request that leaves the prompt unchanged"
    )


def _unknown_because(paired: PairedResult) -> str:
    early = paired.stopped in ("regressed", "not_worse", "futile")
    return "not sampled to the end" if early else "unknown"


def _but(broken: str) -> str:
    return f" But these fixtures broke: {broken}." if broken else ""


def _needed(paired: PairedResult, margin: float) -> str:
    if paired.fixtures_needed is None or paired.fixtures_needed <= paired.units:
        return ""
    noun = unit_noun(clustered=paired.clusters is not None)
    drop = numbers.size_in_points(margin)
    return f", and detecting a drop of {drop} needs {paired.fixtures_needed:,} {noun}s"


# Reasons that a contract's objectives give. Pure.


def slo_reasons(results: Sequence[SloResult], objectives: Sequence[Objective]) -> list[Reason]:
    """Return the reasons of objectives that are missed, or look missed, or could not be measured.

    `objectives` are those of the contract; they say which of them the policy sets.
    """
    by_policy = {objective.name for objective in objectives if objective.by_policy}
    reasons = []
    for result in results:
        name = label_of(result.objective)
        found = _amount(result, result.observed)
        if result.judged is not None:
            found += (
                f" after correction for the judge's errors, {_amount(result, result.judged)} before"
            )
        target = f"target: {_amount(result, result.target)}"
        if result.default:
            target += ", the default, because no `success_rate` of the contract covers all fixtures"
        elif result.objective in by_policy:
            target += ", which the policy requires of new contracts (`new_contracts.success_rate`)"
        found += f" ({target})"
        match objective_status(result):
            case _ if result.outdated:
                continue  # the judge that drifted has a reason of its own
            case _ if result.unmeasured:
                missing = "cannot be evaluated, because samples are missing"
                text = f"The objective {name} {missing}: {found}."
                reasons.append(Reason("error", text, "error"))
            case "missed":
                text = f"Objective missed: {name} {found}, confidence interval {_interval(result)}."
                reasons.append(Reason("slo", text, "fail"))
            case "unlikely":
                text = (
                    f"Objective possibly missed: {name} {found}, confidence interval "
                    f"{_interval(result)}{_more(result)}."
                )
                reasons.append(Reason("slo", text, "inconclusive"))
            case "unknown":
                text = f"Objective not measured: {name}. {_why_unknown(result)}"
                reasons.append(Reason("slo", text, "inconclusive"))
    return reasons


def _why_unknown(result: SloResult) -> str:
    if result.judged is not None:
        return (
            "The judge passes bad outputs almost as often as good outputs, so gatekeeper cannot "
            "correct the judge's verdicts. Choose another judge, or make the judge's criteria "
            "clearer."
        )
    if measure_of(result.objective).first_token:
        return (
            "The time to first token is unknown, because the server did not stream "
            "the answers or the recording does not contain this time."
        )
    if measure_of(result.objective).unit == "agreement":
        return "Too few samples of each fixture were taken."
    return "Neither the model nor the recording reports this amount."


def _more(result: SloResult) -> str:
    """Say what could still show that the objective is met: other inputs, seldom more samples of the
    same."""
    needed = result.inputs_needed
    units = "clusters" if result.clustered else "distinct inputs"
    if needed is not None and result.inputs < needed:
        return (
            f"; at least {needed:,} {units} are needed to show that the objective is met, and "
            f"only {result.inputs:,} {'was' if result.inputs == 1 else 'were'} measured"
        )
    noun = unit_noun(clustered=result.clustered)
    return f"; with more {noun}s, a run could show that the objective is met"


def _amount(result: SloResult, value: float | None) -> str:
    if value is None:
        return numbers.UNKNOWN
    return numbers.amount(value, measure_of(result.objective).unit)


def _interval(result: SloResult) -> str:
    if result.interval is None:
        return "unknown"
    return f"{_amount(result, result.interval.low)} to {_amount(result, result.interval.high)}"


# Reasons of comparisons in pairs by judges.


def preference_reasons(results: Sequence[PreferenceResult]) -> list[Reason]:
    """Return one reason for each comparison."""
    return [_reason(result) for result in results]


def without_vacuous(reasons: Sequence[Reason], contract: Contract) -> list[Reason]:
    """Return the reasons of the suite's comparison, without those that say nothing of a contract in
    which only comparisons in pairs gate: every single output passes."""
    if not compares_pairs_alone(contract):
        return list(reasons)
    return [reason for reason in reasons if reason.code not in _VACUOUS]


_VACUOUS = ("unseen", "undecided", "no_regression", "not_worse")


def _reason(found: PreferenceResult) -> Reason:
    counts = (
        f"base preferred in {found.base_preferred:,} of {numbers.count(found.pairs, 'pair')}, "
        f"head in {found.head_preferred:,}, neither in {found.tied:,}"
    )
    bias = found.contradictory
    if bias is not None:
        counts += (
            "; when the order of the answers was swapped, judges contradicted themselves in "
            f"{numbers.percent(bias.value)} of their verdicts"
        )
    p = numbers.p_value(found.p_value, found.level)
    if found.worse:
        text = f"Judges prefer base's answers ({found.check}: {counts}; p {p})."
        return Reason("preference", text, "fail")
    if found.could_be_worse or not found.pairs:
        missing = numbers.count(found.unmeasured, "pair")
        text = (
            f"The judges' preference is not known, because {missing} could not be measured "
            f"(in the check {found.check})."
        )
        return Reason("error", text, "error")
    if found.open:
        text = (
            f"Judges may prefer base's answers, but this can be chance ({found.check}: {counts})."
        )
        return Reason("preference", text, "inconclusive")
    if found.unreadable:
        text = (
            "When the order of the answers is swapped, judges contradict themselves in most pairs. "
            "Ties are therefore no evidence that head is as good as base "
            f"({found.check}: {counts})."
        )
        return Reason("preference", text, "inconclusive")
    text = f"Judges do not prefer base's answers ({found.check}: {counts}; p {p})."
    return Reason("preference", text, "pass")


# Says what a foreign file asks for and gatekeeper does not do, in the result of its contract.


_MOST_NAMED = 5


def not_run_reasons(not_run: tuple[NotRun, ...]) -> list[Reason]:
    """Return a note that names what is not run, with its line. It decides nothing."""
    if not not_run:
        return []
    shown = [describe_not_run(skipped) for skipped in not_run[:_MOST_NAMED]]
    hidden = len(not_run) - len(shown)
    more = [f"and {hidden:,} more"] if hidden else []
    counted = numbers.count(len(not_run), "part", "parts")
    text = f"Gatekeeper does not run {counted} of the suite: {'; '.join([*shown, *more])}."
    return [Reason("not_run", text, "pass")]


def describe_not_run(skipped: NotRun) -> str:
    """Return in a line what is not run, where it stands and why."""
    at = skipped.position
    place = f"{at.path}:{at.line}" if at.line else at.path
    return f"`{skipped.kind}` ({place}): {skipped.why.rstrip('.')}"
