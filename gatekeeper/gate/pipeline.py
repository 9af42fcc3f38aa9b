"""The steps of one run: change -> affected -> trials -> samples -> evidence -> verdict.

Read this file first; work.py plans the measurements. Nothing is printed or written here:
connections to the outside are passed in.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from operator import is_
from typing import TYPE_CHECKING

from gatekeeper.contract.fixtures.quarantine import in_force
from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import Completion, Trial
from gatekeeper.errors import UsageError
from gatekeeper.gate.decision.lowered_checks import GatingHistory
from gatekeeper.gate.decision.verdict import (
    exit_code_of,
    removed,
    untested,
    waived,
    weakened_policy,
    worst,
)
from gatekeeper.gate.plan.contract_reasons import uncovered_reasons
from gatekeeper.gate.results.parts import AnchorResults
from gatekeeper.gate.results.result import (
    ContractResult,
    GateResult,
    Measurement,
    PastRun,
    Waiver,
)
from gatekeeper.gate.work import Work
from gatekeeper.sampling.client import ModelClient
from gatekeeper.stats.objectives.error_budget import Spending

if TYPE_CHECKING:
    import asyncio

    from gatekeeper.gate.calibration.measure import CalibrationPlan, CalibrationRun
    from gatekeeper.gate.forecast.forecast import EarlierCalls
    from gatekeeper.gate.measuring.monitor import Progress, Watches
    from gatekeeper.gate.plan.plan import Job
    from gatekeeper.sampling.cache import Entry
    from gatekeeper.sampling.judging import OnJudgeAnswer
    from gatekeeper.sampling.limits import Price
    from gatekeeper.sampling.retries import RetryPolicy
    from gatekeeper.sampling.runner import OnAnswer, Run, Watch


@dataclass(frozen=True, slots=True)
class RunContext:
    """The outside of a run: the model, the history, and how to follow or stop it.

    `history` holds the events of the default branch, by contract and objective; None if no history
    was given. Setting `stop` ends the run with the samples so far. `waivers` are those that count
    for the tested commit. `unread` says that there is a history and that it could not be read.
    `gated` says which checks gated in earlier runs, and `earlier` what calls took. `remembered` are
    the samples of earlier runs, by plan, which are not taken again. `resumed` returns the answers
    of an unfinished run to trials, by their index, and `on_answer` gets each new one; `judged` and
    `on_judge_answer` are the same for judges, by `question_key`. `price` gives the most that a
    request can cost; None if no prices are known. `limits` replace the policy's limits. `together`
    says that all calls are made before the first answer comes, so that sampling cannot stop early.
    `on_fresh` gets trials that were not planned, before they are run.
    """

    client: ModelClient
    history: Spending | None = None
    gated: GatingHistory = field(default_factory=dict)
    earlier: Mapping[str, EarlierCalls] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    progress: Progress | None = None
    stop: asyncio.Event | None = None
    retry: RetryPolicy | None = None
    waivers: tuple[Waiver, ...] = ()
    unread: bool = False
    remembered: Mapping[str, Entry] = field(default_factory=dict)
    resumed: Callable[[Sequence[Trial]], Mapping[int, Completion]] = lambda _: {}
    on_answer: OnAnswer | None = None
    judged: Mapping[str, Completion] = field(default_factory=dict)
    on_judge_answer: OnJudgeAnswer | None = None
    price: Price | None = None
    limits: Limits | None = None
    together: bool = False
    on_fresh: Callable[[Sequence[Trial]], None] = lambda _: None


async def measure(work: Work, around: RunContext) -> GateResult:
    """Sample the models, summarise the evidence and decide. Raises UsageError for a bad model."""
    return build_result(work, await measure_contracts(work, around))


async def measure_contracts(work: Work, around: RunContext) -> Measurement:
    """Sample the models and conclude what they show. Raises UsageError for an unusable model."""
    # Here and not above: a change that needs no model is answered without the machinery.
    from gatekeeper.gate.calibration.judge_agreement import agreement_text, judge_agreements
    from gatekeeper.gate.decision.conclude import conclude
    from gatekeeper.gate.measuring.further_calls import (
        compare_pairs,
        count_calls,
        retake_lost,
    )
    from gatekeeper.gate.measuring.monitor import Watches

    started = datetime.now(UTC)
    work, known = plan_sampling(work, around, started)
    watches = Watches(work.jobs, around.progress)
    _show_start(work, watches, around)
    limits = around.limits or work.policy.limits
    sampled = await _run(work, around, work.trials, watches, limits, known, watches.holds)
    if sampled.ended == "fatal" and sampled.author:
        raise UsageError(sampled.detail or "the model cannot be called")
    again = _Further(work, _once_more(around), started)
    sampled = await retake_lost(work.jobs, watches, sampled, again)
    fresh = _Further(work, around, started, fresh=True)
    sampled = await _confirm(work.jobs, watches, sampled, fresh)
    judged = _Further(work, around, started)
    sampled = await compare_pairs(work.jobs, watches, sampled, judged)
    anchors, sampled = await _grade_anchors(work, sampled, around, started)
    contracts = conclude(
        work.jobs,
        watches,
        sampled,
        around.history,
        work.policy,
        started,
        around.waivers,
        unread=around.unread,
        gated=around.gated,
        anchors=anchors,
    )
    agreements = judge_agreements(work.jobs, watches.outcomes)
    if work.kind == "run":
        contracts = [_merged_already(contract) for contract in contracts]
    order = {contract.name: n for n, contract in enumerate(work.affected.contracts)}
    contracts.sort(key=lambda contract: order.get(contract.name, len(order)))
    return Measurement(
        kind=work.kind,
        head_sha=work.head_sha,
        started=started,
        seconds=(datetime.now(UTC) - started).total_seconds(),
        contracts=(*contracts, *_without_samples(work, around.waivers)),
        calls=count_calls(sampled),
        cost_usd=sampled.cost_usd if sampled.made else 0.0,
        notices=(*around.notices, *_gaps(sampled), *map(agreement_text, agreements)),
        outcomes=watches.outcomes,
        fresh=watches.fresh,
        judge_agreement=agreements,
    )


async def _confirm(jobs: Sequence[Job], watches: Watches, sampled: Run, fresh: _Further) -> Run:
    """Take fresh samples of what seems to have broken. Where a judge has reached the limit, there
    may be room for calls of contracts without one that are measured."""
    from gatekeeper.gate.measuring.further_calls import confirm_broken
    from gatekeeper.gate.plan.questions import other_models

    whole = [j for j in jobs if not other_models(j) and all(m.settled for m in watches.of(j))]
    if sampled.ended != "limit" or not whole:
        return await confirm_broken(jobs, watches, sampled, fresh)
    going_on = replace(sampled, ended="done", detail=None)
    found = await confirm_broken(whole, watches, going_on, fresh)
    found = replace(found, ended=sampled.ended, detail=sampled.detail)
    return await confirm_broken([j for j in jobs if j not in whole], watches, found, fresh)


def plan_sampling(
    work: Work, around: RunContext, now: datetime
) -> tuple[Work, Mapping[int, Completion]]:
    """Return the work with the sampling that this run needs, and the answers that take no call, by
    the trial's index."""
    from gatekeeper.sampling.cache import recall

    work = _sampled_whole(_without_ended(work, now), around, now)
    return work, {**around.resumed(work.trials), **recall(work.trials, around.remembered)}


def known_judge_answers(work: Work, around: RunContext) -> Mapping[str, Completion]:
    """Return the answers of judges that take no call, by `question_key`."""
    from gatekeeper.sampling.cache import recall_judge_answers

    return {**around.judged, **recall_judge_answers(work.trials, around.remembered)}


def _show_start(work: Work, watches: Watches, around: RunContext) -> None:
    from gatekeeper.sampling.calls import distinct_requests

    if around.progress:
        around.progress.started(len(distinct_requests(work.trials)), watches.progress_of_contracts)


class _Further:
    """Runs further trials, within what is left of the limits. Those that were not planned (`fresh`)
    may be known from earlier runs."""

    def __init__(
        self, work: Work, around: RunContext, started: datetime, *, fresh: bool = False
    ) -> None:
        self._work, self._around, self._started, self._fresh = work, around, started, fresh

    def __call__(
        self,
        trials: Sequence[Trial],
        watch: Watch,
        so_far: Run,
        *,
        known: Mapping[int, Completion] | None = None,
        at_once: int | None = None,
    ) -> Awaitable[Run]:
        from gatekeeper.gate.measuring.further_calls import limits_left
        from gatekeeper.sampling.cache import recall

        work, around = self._work, self._around
        if self._fresh:
            around.on_fresh(trials)
            kept = recall(trials, around.remembered, planned=work.trials)
            known = {**around.resumed(trials), **kept}
        limits = limits_left(_limits(work, around, self._started), so_far)
        most = min(limits.concurrency, at_once or limits.concurrency)
        return _run(work, around, trials, watch, replace(limits, concurrency=most), known or {})


def _once_more(around: RunContext) -> RunContext:
    """Return the context in which lost answers are asked for: those of a batch in one more batch,
    because each takes hours."""
    if not around.together or not around.retry:
        return around
    return replace(around, retry=replace(around.retry, attempts=1, throttled_attempts=1))


def _run(
    work: Work,
    around: RunContext,
    trials: Sequence[Trial],
    watch: Watch,
    limits: Limits,
    known: Mapping[int, Completion],
    holds: Callable[[Trial], bool] = lambda _: False,
) -> Awaitable[Run]:
    from gatekeeper.sampling.runner import run_trials

    return run_trials(
        trials,
        around.client,
        watch,
        limits,
        known=known,
        retry=around.retry,
        stop=around.stop,
        price=around.price,
        on_answer=around.on_answer,
        judged=known_judge_answers(work, around),
        on_judge_answer=around.on_judge_answer,
        on_refusal=around.progress.refused if around.progress else None,
        together=around.together,
        holds=holds,
    )


async def _grade_anchors(
    work: Work, sampled: Run, around: RunContext, started: datetime
) -> tuple[AnchorResults, Run]:
    """Ask the judges about the anchors of their calibrations, within what is left of the limits, if
    nothing else ended the run."""
    if not work.anchors or sampled.ended != "done":
        return {}, sampled
    from gatekeeper.gate.calibration.anchors import grade_anchors
    from gatekeeper.gate.calibration.measure import grade_labels
    from gatekeeper.gate.measuring.further_calls import limits_left

    def grade(plan: CalibrationPlan, so_far: Run) -> Awaitable[CalibrationRun]:
        return grade_labels(
            plan,
            around.client,
            limits_left(_limits(work, around, started), so_far),
            retry=around.retry,
            stop=around.stop,
            price=around.price,
            judged=around.judged,
            on_judge_answer=around.on_judge_answer,
        )

    return await grade_anchors(work.anchors, sampled, grade)


def _limits(work: Work, around: RunContext, started: datetime) -> Limits:
    """Return the limits with the time that is left now."""
    limits = around.limits or work.policy.limits
    if limits.minutes is None:
        return limits
    passed = (datetime.now(UTC) - started).total_seconds() / 60
    return replace(limits, minutes=max(0.0, limits.minutes - passed))


def _merged_already(found: ContractResult) -> ContractResult:
    """Remove the budget impact of merging, because a run on one revision merges nothing."""
    from gatekeeper.gate.objectives.error_budgets import most_pressing

    budgets = tuple(replace(b, projected_burn_rate=None) for b in found.error_budgets)
    return replace(found, error_budgets=budgets, error_budget=most_pressing(budgets))


def _gaps(sampled: Run) -> tuple[str, ...]:
    """Name the requests that recordings have no answer for, and say how to record them."""
    return tuple(
        (
            f"The recording {path} has no answer for {missing:,} "
            f"request{'s' * (missing > 1)}. Make a new recording: run the real model with "
            "`sampling: {mode: fixed}`, and use the `samples.jsonl` of that run."
        )
        for path, missing in sampled.unrecorded.items()
    )


def conclude_without_calls(
    work: Work, waivers: tuple[Waiver, ...] = (), notices: tuple[str, ...] = ()
) -> Measurement:
    """Return what is known of work that has no trial: nothing affected, or contracts removed."""
    return Measurement(
        kind=work.kind,
        head_sha=work.head_sha,
        started=datetime.now(UTC),
        seconds=0.0,
        contracts=_without_samples(work, waivers),
        cost_usd=0.0,
        notices=notices,
    )


def _sampled_whole(work: Work, around: RunContext, now: datetime) -> Work:
    """Return the work with fixed sampling for contracts that must not end early: those with an
    accepted regression, because objectives still need samples, those of a frozen prompt, which
    must show that it is better, all whose outputs are compared in pairs, and all whose calls are
    made together, because they are paid."""
    from gatekeeper.gate.comparison.preference import has_preferences
    from gatekeeper.gate.decision.conclude import frozen

    accepted = {w.contract for w in around.waivers if w.kind == "accept"}
    jobs = tuple(
        replace(
            job, evaluations=tuple(replace(j, contract=_fixed(j.contract)) for j in job.evaluations)
        )
        if around.together
        or has_preferences(job)
        or accepted & {job.contract.name, None}
        or frozen(job, around.history, work.policy, now)
        else job
        for job in work.jobs
    )
    # What is already known of the questions to judges is kept.
    return work if all(map(is_, jobs, work.jobs)) else replace(work, jobs=jobs)


def _without_ended(work: Work, now: datetime) -> Work:
    """Return the work without the quarantines that have ended: their fixtures decide again."""
    jobs = tuple(
        replace(
            job,
            evaluations=tuple(
                replace(each, contract=in_force(each.contract, now.date()))
                for each in job.evaluations
            ),
        )
        if any(f.quarantine for each in job.evaluations for f in each.contract.fixtures)
        else job
        for job in work.jobs
    )
    return work if all(map(is_, jobs, work.jobs)) else replace(work, jobs=jobs)


def _fixed(contract: Contract) -> Contract:
    return replace(contract, sampling=replace(contract.sampling, mode="fixed"))


def _without_samples(work: Work, waivers: Sequence[Waiver]) -> tuple[ContractResult, ...]:
    """Return the results that need no sample: contracts that were removed or that no fixture tests,
    and a weakened policy."""
    found = [
        *(removed(contract, work.policy) for contract in work.removed),
        *(untested(job, work.policy) for job in work.untested),
        *weakened_policy(work.policy_weakened, work.policy),
    ]
    return tuple(waived(contract, waivers) for contract in found)


def build_result(work: Work, found: Measurement, past: tuple[PastRun, ...] = ()) -> GateResult:
    """Return the complete result of a run: nothing is added to it later.

    `past` are the contents of the history when the run began.
    """
    uncovered = uncovered_reasons(work.affected.uncovered, work.policy)
    verdict = worst([*(c.verdict for c in found.contracts), *(r.verdict for r in uncovered)])
    measured = {each.name: getattr(found, each.name) for each in fields(found)}
    return GateResult(
        **measured | {"notices": (*work.affected.notices, *found.notices)},
        verdict=verdict,
        exit_code=exit_code_of(verdict, found.contracts),
        base_sha=work.base_sha,
        uncovered=work.affected.uncovered,
        policy_weakened=work.policy_weakened,
        unaffected=work.affected.unaffected,
        order_seed=work.order_seed,
        past=past,
    )
