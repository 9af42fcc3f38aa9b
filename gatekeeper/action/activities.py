"""Turns an activity into a `RunPlan` and executes it: selects revisions, policy and waivers.

The event and the bot share this. Nothing is published here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from gatekeeper.action.checkout import Checkout, install_requirements
from gatekeeper.action.events import (
    CheckMergeGroup,
    CheckPullRequest,
    FindPullRequest,
    Nothing,
    RunFull,
    RunPush,
)
from gatekeeper.action.explanation import explain_check
from gatekeeper.action.github.repository import PullRequestState, RepositoryApi
from gatekeeper.action.inputs import ActionInputs
from gatekeeper.action.waivers import Place, proven_waivers, unknown_waivers
from gatekeeper.action.workspace import cache_file, give_to_owner, out_folder, proposals_folder
from gatekeeper.contract.policies.policy import NO_HISTORY, Policy, load_policy, policy_in_force
from gatekeeper.contract.values.change import Change, Revision
from gatekeeper.errors import PublishError, UsageError
from gatekeeper.gate.results.result import GateResult, Waiver
from gatekeeper.gate.work import Work, plan_check, plan_push, plan_run
from gatekeeper.history.stores.store import HistoryStore
from gatekeeper.history.tampering import refuse_own_history
from gatekeeper.providers.models.keys import waiver_keys
from gatekeeper.reports.document import Words, code
from gatekeeper.runs.answers.files import UNFINISHED
from gatekeeper.runs.execute import execute
from gatekeeper.runs.run_plan import Keep, MergedWaivers, RunPlan

if TYPE_CHECKING:
    from gatekeeper.gate.forecast.estimate import RunEstimate
    from gatekeeper.reports.terminal.progress import TerminalProgress
    from gatekeeper.runs.answers.kept import KeptAnswers

_FULL_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NO_COMMIT = "0" * 40

CheckActivity = CheckPullRequest | CheckMergeGroup
Run = RunPush | RunFull


@dataclass(frozen=True, slots=True)
class Job:
    """The job that runs: its inputs, GitHub, and where its commits come from.

    A job that `is_held` pays for nothing beside its check, which costs nothing either. One that
    `is_shown` says on GitHub how far its check is.
    """

    settings: ActionInputs
    api: RepositoryApi
    checkout: Checkout
    is_held: bool = False
    is_shown: bool = False


def _progress(job: Job, activity: CheckActivity, policy: Policy) -> TerminalProgress:
    from gatekeeper.action.waiting.progress import PublishedProgress

    return PublishedProgress(job.settings, job.api, activity, policy.limits.minutes)


def result_of(job: Job, activity: CheckActivity | Run) -> GateResult:
    """Run the activity. Raises GatekeeperError."""
    if isinstance(activity, RunPush):
        return _push(job, activity)
    if isinstance(activity, RunFull):
        return _full(job, activity)
    return check(job, activity)


# Pull requests and merge groups


def check(job: Job, activity: CheckActivity, names: Sequence[str] = ()) -> GateResult:
    """Compare head with base, for all affected contracts or those with the given names, with the
    waivers that count."""
    change, work = plan(job, activity, names)
    if work.trials:
        refuse_own_history(_location(job, work.policy), change)
    waivers, notices = _waivers(job, activity, work)
    trusted = isinstance(activity, CheckMergeGroup) or activity.same_repository
    cache = cache_file(job.settings.workspace, job.settings.cache) if job.settings.cache else None
    proposals = _proposals(job, activity, names)
    pays = trusted and not job.is_held
    run = replace(
        RunPlan.of_change(change, work, job.checkout),
        # Most pull requests touch no prompt, and need not load what reads a history.
        history=history_of(job, work.policy) if work.trials else None,
        cache=cache,
        progress=_progress(job, activity, work.policy) if work.trials and job.is_shown else None,
        waivers=waivers,
        notices=notices,
        trusted=trusted,
        explain=explain_check(change, work.policy, trusted=pays, proposals=proposals),
    )
    result = execute(run)
    if cache is not None:
        give_to_owner(job.settings.workspace, cache)
    return result


def _proposals(job: Job, activity: CheckActivity, names: Sequence[str]) -> Path | None:
    """Return the folder for proposed contracts; None for a check that proposes none: of a merge
    group, or of some contracts."""
    if isinstance(activity, CheckMergeGroup) or names:
        return None
    return proposals_folder(job.settings.workspace, job.settings.out)


def suite_of_head(job: Job, activity: CheckPullRequest, names: Sequence[str] = ()) -> GateResult:
    """Run the full suite on a pull request's head, under the policy of its base."""
    change = job.checkout.change(activity)
    policy, notices = policy_in_force(change)
    install_requirements(job.settings.requirements, change.base)
    refuse_own_history(_location(job, policy), change)
    work = plan_run(change.head, policy, names, trusted=(change.base,))
    run = replace(
        RunPlan.of_change(change, replace(work, head_sha=activity.head_sha), job.checkout),
        history=history_of(job, policy),
        notices=notices,
        trusted=activity.same_repository,
        full_suite=not names,
    )
    return execute(run)


def plan(job: Job, activity: CheckActivity, names: Sequence[str] = ()) -> tuple[Change, Work]:
    """Plan the check of a pull request without calling a model."""
    change = job.checkout.change(activity)
    policy, notices = policy_in_force(change)
    install_requirements(job.settings.requirements, change.base)
    work = plan_check(change, policy, names or job.settings.contracts, notices)
    # People know the pull request's own commit, not the merge that GitHub made of it.
    return change, replace(work, head_sha=activity.head_sha)


# A held check reads contracts and prompts as any other, so it finds mistakes, and calls no model.
# The job then fails: it is the required check, and one that GitHub skips, or that passes, would let
# the change merge untested.


_THEN = (
    ". The test starts if the workflow's `pull_request` has the type `{}`; if not, run this job "
    "again."
)


def what_holds(job: Job, activity: CheckActivity | Run) -> Iterator[Words]:
    """Yield what keeps the check from calling models, each with what releases it.

    Asks GitHub, because a job that is run again gets the event of its first run. Raises
    PublishError.
    """
    label = job.settings.label
    if not isinstance(activity, CheckPullRequest) or not (activity.is_draft or label):
        return
    state = job.api.pull_request(activity.number)
    if state.is_draft and job.settings.on == "ready":
        draft = "The pull request is a draft: mark it as ready for review"
        yield draft, _THEN.format("ready_for_review")
    if label and label.casefold() not in map(str.casefold, state.labels):
        missing = ("The pull request does not have the label ", code(label), ": add the label")
        yield missing, _THEN.format("labeled")


def forecast_check(job: Job, activity: CheckPullRequest) -> RunEstimate:
    """Return what the check would take. Raises ContractError and UsageError as the check does."""
    from gatekeeper.runs.library.affected import forecast_change

    change, work = plan(job, activity)
    return forecast_change(change, work.policy, job.settings.contracts)


def _waivers(
    job: Job, activity: CheckActivity, work: Work
) -> tuple[tuple[Waiver, ...], tuple[str, ...]]:
    """Return the waivers for the commit, and notices about others. Calls GitHub only if there is
    something to waive."""
    if activity.number is None or not work.waivable:
        return (), ()

    # The commit of a merge group is not the one that people saw and waived.
    head = None if isinstance(activity, CheckMergeGroup) else activity.head_sha
    try:
        place = waiver_place(job.settings, activity.number)
        waivers, notices = proven_waivers(job.api, place, head, work.policy.waivers.permission)
    except (PublishError, UsageError) as error:
        return (), (f"Waivers have no effect in this run: {error}.",)
    affected = work.affected
    names = [*work.waivable, *(contract.name for contract in affected.contracts), *affected.others]
    return waivers, (*notices, *unknown_waivers(waivers, names))


def waiver_place(settings: ActionInputs, number: int) -> Place:
    """Return the pull request with the keys that sign its waivers. Raises UsageError."""
    return Place(settings.repository, number, waiver_keys(os.environ))


def found_pull_request(activity: FindPullRequest, api: RepositoryApi) -> CheckPullRequest | Nothing:
    """Return the pull request of a first stage, if its head has not changed since.

    If several are open from one branch, return the one with the lowest number.
    """
    states = api.open_pull_requests(activity.head_repository, activity.head_branch)
    current = sorted(
        (state for state in states if state.head_sha == activity.head_sha),
        key=lambda state: state.number,
    )
    if not current:
        text = f"{activity.head_sha[:12]} is no longer the head of an open pull request"
        return Nothing(text, exit_code=0)
    return to_check(current[0], current[0].base_sha)


def to_check(state: PullRequestState, base_sha: str) -> CheckPullRequest:
    """Return the check of the pull request's present head against that tip of its base branch."""
    return CheckPullRequest(
        number=state.number,
        base_sha=base_sha,
        head_sha=state.head_sha,
        merge_sha=state.merge_sha,
        same_repository=state.head_repository == state.base_repository,
        is_draft=state.is_draft,
    )


# The default branch, and whatever somebody asks for


def _push(job: Job, activity: RunPush) -> GateResult:
    revision = job.checkout.revision(activity.after)
    policy = load_policy(revision)
    install_requirements(job.settings.requirements, revision)
    change = job.checkout.pushed(activity.before or _NO_COMMIT, activity.after)
    work = (
        plan_push(change, policy, job.settings.contracts)
        if change
        else plan_run(revision, policy, job.settings.contracts)
    )
    keep = Keep("push", lambda: _merged_waivers(job, policy, activity.after))
    run = replace(RunPlan.of_revision(revision, work, job.checkout), keep=keep)
    return _execute(job, policy, run)


def _full(job: Job, activity: RunFull) -> GateResult:
    revision = job.checkout.revision(_commit(activity, job.api))
    policy = load_policy(job.checkout.revision(activity.sha))
    names = activity.contracts or job.settings.contracts

    # A commit that somebody names may be a stranger's: its code does not run.
    trusted = (job.checkout.revision(activity.sha), revision)
    install_requirements(job.settings.requirements, trusted[0])
    # Somebody waits for any other run.
    batch = job.settings.batch and activity.keep == "schedule"
    unfinished = _unfinished_batches(job, revision) if batch else None
    seed = unfinished.header.order_seed if unfinished else None
    work = plan_run(revision, policy, names, activity.samples, seed, trusted, anchors=True)
    keep = Keep(activity.keep) if activity.keep else None
    run = replace(RunPlan.of_revision(revision, work, job.checkout), keep=keep, full_suite=True)
    if not batch:
        return _execute(job, policy, run)
    run = _in_batches(
        run, unfinished, out_folder(job.settings.workspace, job.settings.out) / UNFINISHED
    )
    try:
        return _execute(job, policy, run)
    finally:
        if run.answers:
            give_to_owner(job.settings.workspace, run.answers)


def _execute(job: Job, policy: Policy, run: RunPlan) -> GateResult:
    """Execute the plan with the history, and give a history in the workspace to its owner."""
    history = history_of(job, policy)
    result = execute(replace(run, history=history))
    location = _location(job, policy)
    if run.keep and history is not None and result.contracts and ":" not in location:
        give_to_owner(job.settings.workspace, Path(location))
    return result


# The nightly run in batches. A job on GitHub ends after six hours at the latest, and a batch may
# take 24: a workflow that keeps the folder of `out` between the attempts pays for no batch twice.


def _unfinished_batches(job: Job, revision: Revision) -> KeptAnswers | None:
    """Return what an earlier attempt of the job left. Raises UsageError for a file that cannot be
    an earlier attempt's."""
    from gatekeeper.runs.answers.kept import read_unfinished

    if any(PurePosixPath(path).name.casefold() == UNFINISHED for path in revision.entries):
        raise UsageError(
            f"input batch: {UNFINISHED} is under version control, so anybody could have written "
            "the answers in this file; remove the file from the repository"
        )
    file = out_folder(job.settings.workspace, job.settings.out) / UNFINISHED
    above = PurePosixPath(file.relative_to(job.settings.workspace.resolve())).parents
    places = {str(folder).casefold() for folder in above}
    for path, entry in revision.entries.items():
        if entry.kind == "submodule" and path.casefold() in places:
            raise UsageError(
                f"input batch: the folder of `out` is in the submodule {path}, so anybody could "
                f"have written the answers in its {UNFINISHED}; choose a folder outside of it"
            )
    return read_unfinished(file, lambda _: False) if file.exists() else None


def _in_batches(run: RunPlan, unfinished: KeptAnswers | None, answers: Path) -> RunPlan:
    """Return the plan of a run that asks in batches. Raises UsageError for work that cannot be
    measured in batches, or that is not what the earlier attempt asked."""
    from gatekeeper.runs.answers.kept import plan_digest
    from gatekeeper.runs.model_source import open_batches

    if not run.work.trials:
        return run
    if unfinished and unfinished.header.plan != plan_digest(run.work.trials):
        raise UsageError(
            f"{unfinished.path}: this file holds the answers of an earlier run in "
            "batches, and the earlier run tested another commit or other contracts. To use "
            "these answers, run the job of the earlier commit again. To drop these answers, "
            "remove this file"
        )
    source = open_batches(run.work, unfinished.batches.values() if unfinished else ())
    return replace(run, answers=answers, unfinished=unfinished, source=source)


def _commit(activity: RunFull, api: RepositoryApi) -> str:
    if activity.ref is None:
        return activity.sha
    return activity.ref if _FULL_NAME.fullmatch(activity.ref) else api.commit_sha(activity.ref)


def history_of(job: Job, policy: Policy) -> HistoryStore | None:
    """Return the history that the workflow names, or else the policy; None for `off`.

    Nothing is read yet. Raises UsageError for an invalid location.
    """
    location = _location(job, policy)
    if location == NO_HISTORY:
        return None
    from gatekeeper.history.stores.open import open_history

    return open_history(location, job.checkout, job.settings.workspace)


def _location(job: Job, policy: Policy) -> str:
    return job.settings.history or policy.history


def _merged_waivers(job: Job, policy: Policy, sha: str) -> MergedWaivers:
    """Return the waivers of the merged commit, and a notice if they are not known."""
    waivers: list[Waiver] = []
    try:
        for merged in job.api.merged_as(sha):
            place = waiver_place(job.settings, merged.number)
            wanted = policy.waivers.permission
            waivers += proven_waivers(job.api, place, merged.head_sha, wanted)[0]
    except (PublishError, UsageError) as error:
        text = f"The history does not record the waivers of the merged pull request: {error}."
        return (), (text,)
    return waivers, ()
