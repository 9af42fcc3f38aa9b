"""The story of one run: change -> affected -> trials -> samples -> evidence -> verdict.

Read this file first. Nothing is printed or written on the way; the edges are passed in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.affected import (
    Affected,
    AffectedContract,
    every_contract,
    find_affected,
    named,
)
from gatekeeper.contract.change import Change, Revision
from gatekeeper.contract.definition import Contract
from gatekeeper.contract.models.allowed import allowed_models, model_problems
from gatekeeper.contract.models.faults import NamedModel, named_model
from gatekeeper.contract.models.names import is_hosted
from gatekeeper.contract.new_contracts import hold_every_contract, hold_new_contracts
from gatekeeper.contract.policy import Policy
from gatekeeper.contract.policy_loosening import POLICY_NAME, Loosening, policy_loosenings
from gatekeeper.contract.prompts.unfilled_names import unfilled_notices
from gatekeeper.contract.size_limits import require_few_trials
from gatekeeper.contract.trial import Outcome, Trial
from gatekeeper.errors import Problem, UsageError
from gatekeeper.gate.lowered_checks import GatingHistory
from gatekeeper.gate.monitor import Progress, Watches
from gatekeeper.gate.plan import Job, plan_job
from gatekeeper.gate.reasons import uncovered_reasons
from gatekeeper.gate.result import Calls, ContractResult, GateResult, Waiver
from gatekeeper.gate.verdict import (
    conclude,
    exit_code,
    frozen,
    loosened_policy,
    removed,
    untested,
    waived,
    worst,
)
from gatekeeper.sampling.client import ModelClient
from gatekeeper.sampling.trial_order import new_order_seed
from gatekeeper.stats.error_budget import Spending

if TYPE_CHECKING:
    import asyncio

    from gatekeeper.sampling.cache import Entry
    from gatekeeper.sampling.limits import Price
    from gatekeeper.sampling.retries import RetryPolicy
    from gatekeeper.sampling.runner import Run


@dataclass(frozen=True, slots=True)
class Work:
    """What a run will do, planned whole before the first model call.

    `affected` holds every affected contract; `jobs` those that run, `removed` those that
    head no longer has, both narrowed to the contracts that were asked for. `model_problems` are
    the models that may not be called, for which the work must be refused. `untested` are the jobs
    whose template changed while every request of their fixtures stayed as it was.
    """

    kind: Literal["check", "run"]
    base_sha: str | None
    head_sha: str
    policy: Policy
    affected: Affected
    jobs: tuple[Job, ...]
    removed: tuple[AffectedContract, ...]
    order_seed: str
    """What the order of the trials is drawn from; a job may have an earlier run's instead."""
    model_problems: tuple[Problem, ...] = ()
    untested: tuple[Job, ...] = ()
    policy_loosened: tuple[Loosening, ...] = ()
    models: tuple[NamedModel, ...] = ()

    @property
    def waivable(self) -> tuple[str, ...]:
        """The names that a person can waive: of contracts, and of the policy if it is loosened."""
        names = [job.contract.name for job in (*self.jobs, *self.untested)]
        names += [contract.name for contract in self.removed]
        return (*names, POLICY_NAME) if self.policy_loosened else tuple(names)

    @property
    def trials(self) -> tuple[Trial, ...]:
        return tuple(trial for job in self.jobs for trial in job.trials)


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run is given from outside: the model, the past, and how to follow or end it.

    `history` holds the events of the default branch, by contract and objective; None where no
    history was given. Setting `stop` ends the run with what was gathered. `waivers` are those
    that count for the commit judged. `unread` says that there is a history and that it could not
    be read. `gated` says which checks gated in earlier runs. `remembered` is what earlier runs
    measured, by plan: what it answers is not asked again. `price` gives the most that a request can
    cost; None if nothing is known of prices.
    """

    client: ModelClient
    history: Spending | None = None
    gated: GatingHistory = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    progress: Progress | None = None
    stop: asyncio.Event | None = None
    retry: RetryPolicy | None = None
    waivers: tuple[Waiver, ...] = ()
    unread: bool = False
    remembered: Mapping[str, Entry] = field(default_factory=dict)
    price: Price | None = None


def plan_check(
    change: Change,
    policy: Policy,
    names: Sequence[str] = (),
    notices: tuple[str, ...] = (),
    order_seed: str | None = None,
) -> Work:
    """The pull-request gate: base against head for every contract that the change touches.

    `names` narrows it to those contracts. `order_seed` repeats the order of an earlier run;
    without it nobody can know the order before the run. Raises ContractError and UsageError.
    """
    affected = find_affected(change, policy, SHAPES)
    affected = hold_new_contracts(affected, change, policy)
    if change.base.sha == change.head.sha:
        text = f"base and head are the same commit, {change.head.sha[:10]}: nothing was compared"
        notices = (*notices, text)
    loosened = policy_loosenings(change)
    notices = (
        *notices,
        *(f"The policy is loosened: `{found.key}` {found.text}." for found in loosened),
    )
    affected = replace(affected, notices=(*affected.notices, *notices))
    if loosened:
        names = [name for name in names if name != POLICY_NAME]
    trusted = (change.policy_revision, change.base)
    shas = change.base.sha, change.head.sha
    work = _plan("check", *shas, policy, affected, names, trusted, order_seed)
    return replace(work, policy_loosened=loosened)


def plan_run(
    revision: Revision,
    policy: Policy,
    names: Sequence[str] = (),
    samples: int | None = None,
    order_seed: str | None = None,
    trusted: Sequence[Revision] | None = None,
) -> Work:
    """The full suite on one revision: every contract against its own objectives.

    `samples` is drawn of every fixture instead of what each contract asks for. `order_seed` is as
    in `plan_check`. `trusted` are the revisions whose models may be called; None: this one.
    """
    suite = every_contract(revision, policy, SHAPES)
    if not suite.contracts:
        written = ", ".join(policy.contracts)
        raise UsageError(f"no contract matches {written}; `gatekeeper init` writes a first one")
    if samples is not None:
        suite = replace(suite, contracts=tuple(_with_samples(c, samples) for c in suite.contracts))
    suite = hold_every_contract(suite, policy)
    trusted = trusted or (revision,)
    return _plan("run", None, revision.sha, policy, suite, names, trusted, order_seed)


def plan_push(change: Change, policy: Policy, names: Sequence[str] = ()) -> Work:
    """The suite on head, narrowed to the contracts that the change affects: what merging has
    brought, measured against its own objectives. Raises ContractError."""
    found = find_affected(change, policy, SHAPES)
    suite = tuple(
        replace(
            contract,
            base=None,
            base_target=None,
            left_prompt=None,
            left_as=None,
            lost_prompt=None,
            successors=(),
        )
        for contract in found.contracts
        if contract.head
    )
    narrowed = hold_every_contract(replace(found, contracts=suite, uncovered=()), policy)
    return _plan("run", None, change.head.sha, policy, narrowed, names, (change.head,))


async def measure(work: Work, around: RunContext) -> GateResult:
    """Sample the models, weigh the evidence, decide. Raises UsageError for an unusable model."""
    # Here and not above: a change that needs no model is answered without the machinery.
    from gatekeeper.sampling.cache import recall
    from gatekeeper.sampling.calls import distinct_requests
    from gatekeeper.sampling.runner import run_trials

    started = datetime.now(UTC)
    work = _sampled_whole(work, around, started)
    watches = Watches(work.jobs, around.progress)
    if around.progress:
        around.progress.started(len(distinct_requests(work.trials)), watches.standings)
    sampled = await run_trials(
        work.trials,
        around.client,
        watches,
        work.policy.limits,
        known=recall(work.trials, around.remembered),
        retry=around.retry,
        stop=around.stop,
        price=around.price,
    )
    if sampled.ended == "fatal" and sampled.author:
        raise UsageError(sampled.detail or "the model cannot be called")
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
    )
    calls = _calls(sampled)
    return _result(
        work,
        contracts,
        around.waivers,
        (*around.notices, *_gaps(sampled)),
        started,
        calls,
        sampled.cost_usd if sampled.made else 0.0,
        watches.outcomes,
    )


def _calls(sampled: Run) -> Calls:
    replayed = sum(
        s.completion is not None and s.completion.replayed and not s.shared for s in sampled.samples
    )
    return Calls(
        made=sampled.made,
        cached=replayed,
        saved=sampled.saved,
        failed=sampled.failed,
        surplus=sampled.surplus,
        unrecorded=sum(sampled.unrecorded.values()),
    )


def _gaps(sampled: Run) -> tuple[str, ...]:
    """What recordings have no answer for, and how to record it."""
    return tuple(
        f"The recording {path} has no answer for {missing:,} request{'s' * (missing > 1)}. Record "
        "it again: run the model itself with `sampling: {mode: fixed}`, and keep the samples.jsonl "
        "that the run leaves."
        for path, missing in sampled.unrecorded.items()
    )


def answer_without_calls(
    work: Work, waivers: tuple[Waiver, ...] = (), notices: tuple[str, ...] = ()
) -> GateResult:
    """The result of work that has no trial: nothing affected, or contracts removed."""
    return _result(work, [], waivers, notices, datetime.now(UTC), Calls(), 0.0)


def _sampled_whole(work: Work, around: RunContext, now: datetime) -> Work:
    """An accepted regression ends no sampling, because the objectives still need samples; nor
    does being no worse where a frozen prompt has to show that it is better."""
    accepted = {w.contract for w in around.waivers if w.kind == "accept"}
    jobs = tuple(
        replace(
            job, evaluations=tuple(replace(j, contract=_fixed(j.contract)) for j in job.evaluations)
        )
        if accepted & {job.contract.name, None} or frozen(job, around.history, work.policy, now)
        else job
        for job in work.jobs
    )
    return replace(work, jobs=jobs)


def _fixed(contract: Contract) -> Contract:
    return replace(contract, sampling=replace(contract.sampling, mode="fixed"))


def _with_samples(affected: AffectedContract, samples: int) -> AffectedContract:
    if affected.head is None:
        return affected
    sampling = replace(affected.head.sampling, samples=samples)
    return replace(affected, head=replace(affected.head, sampling=sampling))


def _plan(
    kind: Literal["check", "run"],
    base_sha: str | None,
    head_sha: str,
    policy: Policy,
    affected: Affected,
    names: Sequence[str],
    trusted: Sequence[Revision],
    order_seed: str | None = None,
) -> Work:
    wanted = named(affected, names)
    require_few_trials(_with_arms(wanted))
    # Drawn now and not made of the commits: whoever makes a commit can make many of them.
    seed = new_order_seed() if order_seed is None else order_seed
    planned = [plan_job(contract, policy, seed) for contract in wanted if contract.head]
    jobs = tuple(job for job in planned if not job.changes_nothing)
    same = [job for job in planned if job.changes_nothing]
    untested = tuple(job for job in same if job.changes_template)
    affected = _without_unchanged(affected, [job for job in same if job not in untested])
    notices = (*affected.notices, *unfilled_notices(job.contract for job in jobs))
    affected = replace(affected, notices=notices)
    gone = tuple(contract for contract in wanted if contract.head is None)
    models = tuple(pair for job in jobs for pair in _models(job))
    hosted = [(place, model) for place, model in models if is_hosted(model)]
    # Reading every contract of base takes a while: only where one may be refused for it.
    problems = model_problems(hosted, allowed_models(policy, trusted)) if hosted else ()
    work = Work(kind, base_sha, head_sha, policy, affected, jobs, gone, seed, problems, untested)
    return replace(work, models=models)


def _models(job: Job) -> Iterator[NamedModel]:
    """Every model that the job asks, with the place that names it."""
    before = job.base or job.contract
    for evaluation in job.evaluations:
        yield named_model(job.contract, evaluation.head.model)
        if evaluation.base is not None:
            yield named_model(before, evaluation.base.model)


def _with_arms(wanted: Sequence[AffectedContract]) -> Iterator[tuple[Contract, int]]:
    """Each contract that judges, with how many arms at most answer its fixtures."""
    for contract in wanted:
        if contract.head is not None:
            yield contract.head, 2 if contract.base_target else 1
            if contract.base is not None:
                yield contract.base, 2


def _without_unchanged(affected: Affected, unchanged: Sequence[Job]) -> Affected:
    """Without the contracts whose requests are all as they were, which are named in notices."""
    names = {job.contract.name for job in unchanged}
    notices = []
    for job in unchanged:
        paths = ", ".join(cause.path for cause in job.affected_by)
        notices.append(
            f"The contract {job.contract.name} is not affected: {paths} changed, and every request "
            "of its fixtures is the same as before."
        )
    return replace(
        affected,
        contracts=tuple(c for c in affected.contracts if c.name not in names),
        unaffected=affected.unaffected + len(names),
        notices=(*affected.notices, *notices),
        others=tuple(sorted({*affected.others, *names})),
    )


def _result(
    work: Work,
    contracts: Sequence[ContractResult],
    waivers: tuple[Waiver, ...],
    notices: tuple[str, ...],
    started: datetime,
    calls: Calls,
    cost_usd: float | None,
    outcomes: tuple[Outcome, ...] = (),
) -> GateResult:
    gone = [waived(removed(contract, work.policy), waivers) for contract in work.removed]
    gone += [waived(untested(job), waivers) for job in work.untested]
    loosened = loosened_policy(work.policy_loosened, work.policy)
    gone += [waived(found, waivers) for found in loosened]
    uncovered = uncovered_reasons(work.affected.uncovered, work.policy)
    verdict = worst([*(c.verdict for c in (*contracts, *gone)), *(r.verdict for r in uncovered)])
    return GateResult(
        kind=work.kind,
        verdict=verdict,
        exit_code=exit_code(verdict, work.policy),
        base_sha=work.base_sha,
        head_sha=work.head_sha,
        started=started,
        seconds=(datetime.now(UTC) - started).total_seconds(),
        contracts=(*contracts, *gone),
        calls=calls,
        cost_usd=cost_usd,
        uncovered=work.affected.uncovered,
        policy_loosened=work.policy_loosened,
        unaffected=work.affected.unaffected,
        notices=(*work.affected.notices, *notices),
        outcomes=outcomes,
        order_seed=work.order_seed,
    )
