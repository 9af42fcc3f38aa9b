"""Runs an activity: selects the revisions, the policy and the waivers, and keeps the result.

The event and the bot share this. Nothing is published here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.action.events import (
    CheckMergeGroup,
    CheckPullRequest,
    FindPullRequest,
    Nothing,
    RunFull,
    RunPush,
)
from gatekeeper.action.explanation import explain_check
from gatekeeper.action.nightly_batches import nightly_batches
from gatekeeper.action.requirements import install_requirements
from gatekeeper.action.workspace import cache_file, give_to_owner, proposals_folder
from gatekeeper.contract.policies.policy import NO_HISTORY, load_policy, policy_in_force
from gatekeeper.errors import PublishError, UsageError
from gatekeeper.history.tampering import refuse_own_history

if TYPE_CHECKING:
    from gatekeeper.action.checkout import Checkout
    from gatekeeper.action.github.repository import PullRequestState, RepositoryApi
    from gatekeeper.action.inputs import ActionInputs
    from gatekeeper.action.waivers import Place
    from gatekeeper.contract.policies.policy import Policy
    from gatekeeper.contract.values.change import Change
    from gatekeeper.gate.results.result import GateResult, Waiver
    from gatekeeper.gate.work import Work
    from gatekeeper.history.store import HistoryStore
    from gatekeeper.runs.keep_in_history import MergedWaivers

_FULL_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NO_COMMIT = "0" * 40

CheckActivity = CheckPullRequest | CheckMergeGroup
Run = RunPush | RunFull


def result_of(
    settings: ActionInputs, activity: CheckActivity | Run, checkout: Checkout, api: RepositoryApi
) -> GateResult:
    """Run the activity. Raises GatekeeperError."""
    if isinstance(activity, RunPush):
        return _push(settings, activity, checkout, api)
    if isinstance(activity, RunFull):
        return _full(settings, activity, checkout, api)
    return check(settings, activity, checkout, api)


# Pull requests and merge groups


def check(
    settings: ActionInputs,
    activity: CheckActivity,
    checkout: Checkout,
    api: RepositoryApi,
    names: Sequence[str] = (),
) -> GateResult:
    """Compare head with base, for all affected contracts or those with the given names, with the
    waivers that count."""
    # Heavy: reached only once the event is known to be usable.
    from gatekeeper.runs.session import RunOptions, measure

    change, work = plan(settings, activity, checkout, names)
    if work.trials:
        refuse_own_history(_location(settings, work.policy), change)
    waivers, notices = _waivers(settings, activity, work, api)
    trusted = isinstance(activity, CheckMergeGroup) or activity.same_repository
    revisions = change.base, change.head
    cache = cache_file(settings.workspace, settings.cache) if settings.cache else None
    result = measure(
        work,
        revisions,
        RunOptions(
            # Most pull requests touch no prompt, and need not load what reads a history.
            history=history_of(settings, work.policy, checkout) if work.trials else None,
            cache=cache,
            since=partial(checkout.since, head=change.base.sha),
            waivers=waivers,
            notices=notices,
            trusted=trusted,
            explain=explain_check(
                change,
                work.policy,
                trusted=trusted,
                proposals=_proposals(settings, activity, names),
            ),
        ),
    )
    if cache is not None:
        give_to_owner(settings.workspace, cache)
    return result


def _proposals(
    settings: ActionInputs, activity: CheckActivity, names: Sequence[str]
) -> Path | None:
    """Return the folder for proposed contracts; None for a check that proposes none: of a merge
    group, or of some contracts."""
    if isinstance(activity, CheckMergeGroup) or names:
        return None
    return proposals_folder(settings.workspace, settings.out)


def suite_of_head(
    settings: ActionInputs,
    activity: CheckPullRequest,
    checkout: Checkout,
    names: Sequence[str] = (),
) -> GateResult:
    """Run the full suite on a pull request's head, under the policy of its base."""
    from gatekeeper.gate.work import plan_run
    from gatekeeper.runs.session import RunOptions, measure

    change = checkout.change(activity)
    policy, notices = policy_in_force(change)
    install_requirements(settings.requirements, change.base)
    refuse_own_history(_location(settings, policy), change)
    work = plan_run(change.head, policy, names, trusted=(change.base,))
    return measure(
        replace(work, head_sha=activity.head_sha),
        (change.base, change.head),
        RunOptions(
            history=history_of(settings, policy, checkout),
            since=partial(checkout.since, head=change.base.sha),
            notices=notices,
            trusted=activity.same_repository,
            full_suite=not names,
        ),
    )


def plan(
    settings: ActionInputs, activity: CheckActivity, checkout: Checkout, names: Sequence[str] = ()
) -> tuple[Change, Work]:
    """Plan the check of a pull request without calling a model."""
    from gatekeeper.gate.work import plan_check

    change = checkout.change(activity)
    policy, notices = policy_in_force(change)
    install_requirements(settings.requirements, change.base)
    work = plan_check(change, policy, names or settings.contracts, notices)
    # People know the pull request's own commit, not the merge that GitHub made of it.
    return change, replace(work, head_sha=activity.head_sha)


def _waivers(
    settings: ActionInputs, activity: CheckActivity, work: Work, api: RepositoryApi
) -> tuple[tuple[Waiver, ...], tuple[str, ...]]:
    """Return the waivers for the commit, and notices about others. Calls GitHub only if there is
    something to waive."""
    if activity.number is None or not work.waivable:
        return (), ()
    from gatekeeper.action.waiver_signature import proven_waivers
    from gatekeeper.action.waivers import unknown_waivers

    # The commit of a merge group is not the one that people saw and waived.
    head = None if isinstance(activity, CheckMergeGroup) else activity.head_sha
    try:
        place = waiver_place(settings, activity.number)
        waivers, notices = proven_waivers(api, place, head, work.policy.waivers.permission)
    except (PublishError, UsageError) as error:
        return (), (f"Waivers have no effect in this run: {error}.",)
    affected = work.affected
    names = [*work.waivable, *(contract.name for contract in affected.contracts), *affected.others]
    return waivers, (*notices, *unknown_waivers(waivers, names))


def waiver_place(settings: ActionInputs, number: int) -> Place:
    """Return the pull request with the keys that sign its waivers. Raises UsageError."""
    from gatekeeper.action.waivers import Place
    from gatekeeper.providers.models.keys import waiver_keys

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
    )


# The default branch, and whatever somebody asks for


def _push(
    settings: ActionInputs, activity: RunPush, checkout: Checkout, api: RepositoryApi
) -> GateResult:
    from gatekeeper.gate.work import plan_push, plan_run
    from gatekeeper.runs.keep_in_history import Keep
    from gatekeeper.runs.session import RunOptions, measure

    revision = checkout.revision(activity.after)
    policy = load_policy(revision)
    install_requirements(settings.requirements, revision)
    change = checkout.pushed(activity.before or _NO_COMMIT, activity.after)
    work = (
        plan_push(change, policy, settings.contracts)
        if change
        else plan_run(revision, policy, settings.contracts)
    )
    history = history_of(settings, policy, checkout)
    keep = Keep("push", lambda: _merged_waivers(settings, policy, activity.after, api))
    since = partial(checkout.since, head=revision.sha)
    result = measure(work, (revision,), RunOptions(history=history, keep=keep, since=since))
    _give_history_to_owner(settings, policy, history, result)
    return result


def _full(
    settings: ActionInputs, activity: RunFull, checkout: Checkout, api: RepositoryApi
) -> GateResult:
    revision = checkout.revision(_commit(activity, api))
    policy = load_policy(checkout.revision(activity.sha))
    names = activity.contracts or settings.contracts

    from gatekeeper.gate.work import plan_run
    from gatekeeper.runs.keep_in_history import Keep
    from gatekeeper.runs.session import RunOptions, measure

    # A commit that somebody names may be a stranger's: its code does not run.
    trusted = (checkout.revision(activity.sha), revision)
    install_requirements(settings.requirements, trusted[0])
    batches = nightly_batches(settings, activity, revision)
    seed = batches.order_seed if batches else None
    work = plan_run(revision, policy, names, activity.samples, seed, trusted, anchors=True)
    history = history_of(settings, policy, checkout)
    keep = Keep(activity.keep) if activity.keep else None
    since = partial(checkout.since, head=revision.sha)
    options = RunOptions(history=history, keep=keep, since=since, full_suite=True)
    try:
        result = measure(work, (revision,), batches.options(work, options) if batches else options)
    finally:
        if batches:
            batches.share()
    if keep:
        _give_history_to_owner(settings, policy, history, result)
    return result


def _commit(activity: RunFull, api: RepositoryApi) -> str:
    if activity.ref is None:
        return activity.sha
    return activity.ref if _FULL_NAME.fullmatch(activity.ref) else api.commit_sha(activity.ref)


def history_of(settings: ActionInputs, policy: Policy, checkout: Checkout) -> HistoryStore | None:
    """Return the history that the workflow names, or else the policy; None for `off`.

    Nothing is read yet. Raises UsageError for an invalid location.
    """
    location = _location(settings, policy)
    if location == NO_HISTORY:
        return None
    from gatekeeper.history.open import open_history

    return open_history(location, checkout, settings.workspace)


def _location(settings: ActionInputs, policy: Policy) -> str:
    return settings.history or policy.history


def _give_history_to_owner(
    settings: ActionInputs, policy: Policy, history: HistoryStore | None, result: GateResult
) -> None:
    """Give the history to the owner of the workspace, if it is a file in it."""
    location = _location(settings, policy)
    if history is not None and result.contracts and ":" not in location:
        give_to_owner(settings.workspace, Path(location))


def _merged_waivers(
    settings: ActionInputs, policy: Policy, sha: str, api: RepositoryApi
) -> MergedWaivers:
    """Return the waivers of the merged commit, and a notice if they are not known."""
    from gatekeeper.action.waiver_signature import proven_waivers

    waivers: list[Waiver] = []
    try:
        for merged in api.merged_as(sha):
            place = waiver_place(settings, merged.number)
            wanted = policy.waivers.permission
            waivers += proven_waivers(api, place, merged.head_sha, wanted)[0]
    except (PublishError, UsageError) as error:
        text = f"The history does not record the waivers of the merged pull request: {error}."
        return (), (text,)
    return waivers, ()
