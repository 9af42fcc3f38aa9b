"""Plans a run completely before the first call: which contracts, and their trials.

gate/plan/plan.py plans one contract.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from gatekeeper import numbers
from gatekeeper.checks.packages import use_packages
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.changes.affected import (
    Affected,
    AffectedContract,
    every_contract,
    find_affected,
)
from gatekeeper.contract.changes.groups import narrowed, with_groups
from gatekeeper.contract.changes.new_contracts import hold_every_contract, hold_new_contracts
from gatekeeper.contract.changes.own_code import missing_code_notices, with_trusted_code
from gatekeeper.contract.changes.readings import reading_weakenings
from gatekeeper.contract.models.allowed import allowed_models, model_problems
from gatekeeper.contract.models.faults import NamedModel, named_model
from gatekeeper.contract.models.names import is_hosted
from gatekeeper.contract.policies.folder_policies import new_policy_notices
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.prompts.unfilled_names import unfilled_notices
from gatekeeper.contract.reading.size_limits import QuestionTally, require_few_trials
from gatekeeper.contract.values.change import Change, Revision
from gatekeeper.contract.values.definition import POLICY_NAME, Contract
from gatekeeper.contract.values.trial import Arm, Request, SharedPrefix, Trial
from gatekeeper.contract.weakening.policy_weakening import (
    Weakening,
    added_comparisons,
    brought_calibrations,
    calibration_weakenings,
    policy_weakenings,
)
from gatekeeper.errors import Problem, UsageError
from gatekeeper.gate.plan.calibrations_in_force import calibration_problems, use_calibrations
from gatekeeper.gate.plan.contract_reasons import (
    plan_usable,
    unanswerable_reasons,
    without_unusable,
)
from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.plan.questions import (
    Questions,
    family_notices,
    forecast_judges,
    forecast_users,
    joined,
    other_models,
)
from gatekeeper.gate.results.result import RunKind
from gatekeeper.sampling.client import ModelClient, StreamingClient
from gatekeeper.sampling.trials import new_order_seed

if TYPE_CHECKING:
    from gatekeeper.gate.calibration.anchors import AnchorPlan


_MOST_CONFLICTS = 5


@dataclass(frozen=True)  # no slots: the trials are kept
class Work:
    """What a run will do, planned whole before the first model call.

    `affected` holds every affected contract; `jobs` those that run, `removed` those that
    head no longer has, both narrowed to the contracts that were requested. `model_problems` are
    the models that may not be called and the judges that the policy refuses, for which the work
    must be refused. `untested` are the jobs
    whose template changed while every request of their fixtures stayed as it was, and those whose
    base contract has no fixture that head's prompt can take.
    """

    kind: RunKind
    base_sha: str | None
    head_sha: str
    policy: Policy
    affected: Affected
    jobs: tuple[Job, ...]
    removed: tuple[AffectedContract, ...]
    order_seed: str
    """The seed of the order of the trials; a job may have an earlier run's instead."""
    model_problems: tuple[Problem, ...] = ()
    untested: tuple[Job, ...] = ()
    policy_weakened: tuple[Weakening, ...] = ()
    """How the change weakens the policy, changes the calibrations of judges, or adds comparisons of
    a prompt."""
    models: tuple[NamedModel, ...] = ()
    anchors: tuple[AnchorPlan, ...] = ()
    """The labelled outputs that judges grade again, to see whether they drifted."""

    @property
    def waivable(self) -> tuple[str, ...]:
        """Return the names that a person can waive: of contracts, and of the policy if it is
        weakened."""
        names = [job.contract.name for job in (*self.jobs, *self.untested)]
        names += [contract.name for contract in self.removed]
        return (*names, POLICY_NAME) if self.policy_weakened else tuple(names)

    @property
    def called_models(self) -> frozenset[str]:
        """Return the models that the trials, their judges and their simulated users call."""
        asked = (model for job in self.jobs for _, model in other_models(job))
        return frozenset((*(trial.request.model for trial in self.trials), *asked))

    @cached_property
    def judging_of_jobs(self) -> list[Questions]:
        """Return what judges are asked for each job if no sample is left out."""
        tally = QuestionTally()
        return [forecast_judges([job], tally) for job in self.jobs]

    @cached_property
    def users_of_jobs(self) -> list[Questions]:
        """Return what simulated users are asked for each job if no conversation ends early."""
        tally = QuestionTally()
        return [forecast_users([job], tally) for job in self.jobs]

    @cached_property
    def judging(self) -> Questions:
        """Return what judges are asked in all jobs."""
        return joined(self.judging_of_jobs)

    @cached_property
    def users(self) -> Questions:
        """Return what simulated users are asked in all jobs."""
        return joined(self.users_of_jobs)

    @property
    def questions(self) -> tuple[Request, ...]:
        """Return all questions to judges and simulated users, as long as they can be."""
        anchors = (question for plan in self.anchors for question in plan.questions)
        return (*self.judging.most, *self.users.most, *anchors)

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        return tuple(trial for job in self.jobs for trial in job.trials)


def plan_check(
    change: Change,
    policy: Policy,
    names: Sequence[str] = (),
    notices: tuple[str, ...] = (),
    order_seed: str | None = None,
) -> Work:
    """Plan the pull-request gate: base against head for every contract that the change affects.

    `names` narrows it to those contracts. `order_seed` repeats the order of an earlier run;
    without it nobody can know the order before the run. Raises ContractError and UsageError.
    """
    use_packages(policy)
    affected = with_groups(find_affected(change, policy, SHAPES))
    affected = hold_new_contracts(affected, change, policy)
    if change.base.sha == change.head.sha:
        sha = change.head.sha[:10]
        text = f"base and head are the same commit, {sha}, so nothing was compared"
        notices = (*notices, text)
    notices = (*notices, *_conflict_notices(change))
    of_policy, of_judges = policy_weakenings(change), calibration_weakenings(change)
    of_prompts = added_comparisons(affected)
    weakened = (*of_policy, *of_judges, *of_prompts)
    notices = (
        *notices,
        *(f"The policy is weakened: `{found.place}` {found.text}." for found in of_policy),
        *(_calibration_notice(found, change) for found in of_judges),
        *(f"{found.key} {found.text}." for found in of_prompts),
        *brought_calibrations(change),
        *new_policy_notices(change),
    )
    affected = replace(affected, notices=(*affected.notices, *notices))
    if weakened:
        names = [name for name in names if name != POLICY_NAME]
    trusted = (change.base,)
    shas = change.base.sha, change.head.sha
    work = plan_contracts("check", *shas, policy, affected, names, trusted, order_seed)
    return replace(work, policy_weakened=weakened)


def _conflict_notices(change: Change) -> tuple[str, ...]:
    if not change.conflicts:
        return ()
    named = ", ".join(change.conflicts[:_MOST_CONFLICTS])
    more = len(change.conflicts) - _MOST_CONFLICTS
    also = f" and {numbers.count(more, 'more file')}" if more > 0 else ""
    return (
        f"The change is in conflict with the branch to merge into: {named}{also}. Gatekeeper "
        "tested the change's own version. Resolve the conflict, and test again.",
    )


def _calibration_notice(found: Weakening, change: Change) -> str:
    text = f"The calibration {found.key} {found.text}."
    if found.key not in change.head.entries:
        return text
    return (
        f"{text} After the merge, this calibration corrects the values of objectives, so make sure "
        "that people made its labels."
    )


def plan_run(
    revision: Revision,
    policy: Policy,
    names: Sequence[str] = (),
    samples: int | None = None,
    order_seed: str | None = None,
    trusted: Sequence[Revision] | None = None,
    *,
    anchors: bool = False,
) -> Work:
    """Plan the full suite on one revision: every contract against its own objectives.

    `samples` replaces the number of samples per fixture that each contract sets. `order_seed` is as
    in `plan_check`. `trusted` are the revisions whose models may be called; None: this one.
    With `anchors`, judges are also asked about the anchors of their calibrations.
    """
    use_packages(policy)
    suite = with_groups(every_contract(revision, policy, SHAPES))
    if not suite.contracts:
        written = ", ".join(policy.contracts)
        raise UsageError(
            f"no contract matches {written}; commit your contracts if they are new, or write a "
            "first contract with `gatekeeper init`"
        )
    if samples is not None:
        suite = replace(suite, contracts=tuple(_with_samples(c, samples) for c in suite.contracts))
    suite = hold_every_contract(suite, policy)
    trusted = trusted or (revision,)
    work = plan_contracts("run", None, revision.sha, policy, suite, names, trusted, order_seed)
    if not anchors:
        return work
    from gatekeeper.gate.calibration.anchors import plan_anchors

    return replace(work, anchors=plan_anchors(work.jobs))


def plan_push(change: Change, policy: Policy, names: Sequence[str] = ()) -> Work:
    """Plan the suite on head for the contracts that the change affects, measured against their own
    objectives, to see the effect of the merge. Raises ContractError."""
    use_packages(policy)
    found = with_groups(find_affected(change, policy, SHAPES))
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
    return plan_contracts("run", None, change.head.sha, policy, narrowed, names, (change.head,))


def _with_samples(affected: AffectedContract, samples: int) -> AffectedContract:
    if affected.head is None:
        return affected
    sampling = replace(affected.head.sampling, samples=samples)
    return replace(affected, head=replace(affected.head, sampling=sampling))


def plan_contracts(
    kind: Literal["check", "run"],
    base_sha: str | None,
    head_sha: str,
    policy: Policy,
    affected: Affected,
    names: Sequence[str],
    trusted: Sequence[Revision],
    order_seed: str | None = None,
) -> Work:
    """Plan the affected contracts with those names, or all if no name is given. `trusted` are the
    revisions whose models may be called; the code of checks comes from the first. Raises
    ContractError and UsageError."""
    wanted = tuple(
        with_trusted_code(found, trusted[0], policy) for found in narrowed(affected, names)
    )
    require_few_trials(_with_arms(wanted))
    # Chosen now and not derived from the commits: an author could try many commits.
    seed = new_order_seed() if order_seed is None else order_seed
    planned, left_out = plan_usable(wanted, policy, seed)
    planned = [use_calibrations(cache_arms_alike(stream_timed_answers(job))) for job in planned]
    # Under one limit of cost, judges must leave the other contracts their calls.
    planned.sort(key=lambda job: bool(other_models(job)))
    affected = without_unusable(affected, left_out, policy)
    same = [job for job in planned if job.changes_nothing]
    lost = [job for job in planned if unanswerable_reasons(job)]
    set_aside = {job.contract.name for job in (*same, *lost)}
    jobs = tuple(job for job in planned if job.contract.name not in set_aside)
    untested = (*(job for job in same if job.changes_template or job.weakened), *lost)
    affected = _without_unchanged(affected, [job for job in same if job not in untested])
    notices = (*affected.notices, *unfilled_notices(job.contract for job in jobs))
    notices = (*notices, *(said for job in jobs for said in family_notices(job)))
    notices = (*notices, *missing_code_notices(e.contract for j in jobs for e in j.evaluations))
    affected = replace(affected, notices=notices)
    chosen = {contract.name for contract in wanted}
    gone = tuple(c for c in affected.contracts if c.head is None and c.name in chosen)
    models = tuple(pair for job in jobs for pair in _models(job))
    hosted = [(place, model) for place, model in models if is_hosted(model)]
    # Reading every contract of base takes a while: only if one may be refused for it.
    problems = model_problems(hosted, allowed_models(policy, trusted)) if hosted else ()
    problems = (*problems, *calibration_problems(jobs, policy))
    work = Work(kind, base_sha, head_sha, policy, affected, jobs, gone, seed, problems, untested)
    return replace(work, models=models)


def _models(job: Job) -> Iterator[NamedModel]:
    """Yield every model that the job calls, with the place that names it."""
    before = job.base or job.contract
    for evaluation in job.evaluations:
        yield named_model(job.contract, evaluation.head.model)
        if evaluation.base is not None:
            yield named_model(before, evaluation.base.model)
    yield from other_models(job)


def _with_arms(wanted: Sequence[AffectedContract]) -> Iterator[tuple[Contract, int]]:
    """Yield each contract that applies, with the greatest number of arms that answer its
    fixtures."""
    for contract in wanted:
        if contract.head is not None:
            yield contract.head, 2 if contract.base_target else 1
            if contract.base is not None:
                yield contract.base, 2


def _without_unchanged(affected: Affected, unchanged: Sequence[Job]) -> Affected:
    """Remove the contracts whose requests are all unchanged. Notices name them."""
    names = {job.contract.name for job in unchanged}
    notices = []
    for job in unchanged:
        paths = ", ".join(cause.path for cause in job.affected_by)
        notices.append(
            f"The contract {job.contract.name} is not affected: {paths} changed, "
            "but every request of its fixtures is the same as before."
        )
        if job.base is not None:
            read = reading_weakenings(job.base.target, job.contract.target)
            notices += (f"{change}." for change in read)
    return replace(
        affected,
        contracts=tuple(c for c in affected.contracts if c.name not in names),
        unaffected=affected.unaffected + len(names),
        notices=(*affected.notices, *notices),
        others=tuple(sorted({*affected.others, *names})),
    )


def cache_arms_alike(job: Job) -> Job:
    """Return the job without shared prefixes if its evaluations do not agree on them; else the job
    itself.

    Evaluations share the calls that are the same, and the first one's prefix is marked. If the
    fixtures of head's contract share nothing, base's calls would not be cached, and head's calls
    under the base contract's settings would: head would seem cheaper and faster.
    """
    seen: Mapping[Arm, set[SharedPrefix | None]] = defaultdict(set)
    for evaluation in job.evaluations:
        for trial in evaluation.trials:
            seen[trial.arm].add(trial.request.shared_prefix)
    if all(len(prefixes) < 2 for prefixes in seen.values()):
        return job
    return _with_requests(job, shared_prefix=None)


def _with_requests(job: Job, **changes: Any) -> Job:
    """Return the job with changed requests of all its trials."""
    return replace(
        job,
        evaluations=tuple(
            replace(
                each,
                trials=tuple(
                    replace(trial, request=replace(trial.request, **changes))
                    for trial in each.trials
                ),
            )
            for each in job.evaluations
        ),
    )


# Decides which answers are streamed: those of contracts with an objective or a check on the time
# to first token. Pure.


def stream_timed_answers(job: Job) -> Job:
    """Return the job with all its trials streamed if base's or head's contract has an objective or
    a check on the time to first token; else the job itself.

    All trials, so that both arms are called in the same way: a streamed answer can take longer.
    """
    contracts = [evaluation.contract for evaluation in job.evaluations]
    if not any(map(_times_first_token, [*contracts, job.contract, *filter(None, [job.base])])):
        return job
    return _with_requests(job, streamed=True)


def require_streams(trials: Iterable[Trial], client: ModelClient) -> None:
    """Refuse trials whose first token the client cannot time, before any call. Raises
    UsageError."""
    if not isinstance(client, StreamingClient):
        return
    for trial in trials:
        if trial.request.streamed and not client.can_stream(trial.request):
            raise UsageError(
                f"{trial.contract}: the time to first token of {trial.request.model} cannot be "
                "measured. Gatekeeper calls this model through litellm, at least with these "
                "parameters, and cannot stream answers through litellm. Remove the objectives "
                "`ttft_…` and the checks `ttft`, or use a model that gatekeeper calls without "
                "litellm; docs/models.md lists these models"
            )


def _times_first_token(contract: Contract) -> bool:
    return any(objective.measure.first_token for objective in contract.slo) or any(
        spec.type == "ttft" for spec in contract.every_check()
    )
