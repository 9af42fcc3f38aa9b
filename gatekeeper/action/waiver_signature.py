"""Decides whether a waiver counts, by its author's present role and by its command on GitHub."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache

from gatekeeper.action.github.repository import RepositoryApi, WorkflowRun, enough
from gatekeeper.action.waivers import Candidate, Place, named, read_waivers
from gatekeeper.errors import PublishError
from gatekeeper.gate.results.result import Waiver
from gatekeeper.reports.markers import WAIVER_MARKER

_PULL_REQUEST_EVENTS = ("pull_request", "pull_request_target")
_AGAIN = "Repeat the command"


def proven_waivers(
    api: RepositoryApi, place: Place, head_sha: str | None, permission: str
) -> tuple[tuple[Waiver, ...], tuple[str, ...]]:
    """Return the waivers that count for the pull request's head, and notices about the others.

    Each author's role is checked again, because people lose roles. If GitHub does not confirm a
    waiver, it does not count, which is not an error. Raises PublishError if the comments cannot be
    read.

    Args:
        head_sha: The head of the pull request; None reads it from GitHub.
        permission: The role that the base policy requires.
    """
    remarks = api.comments(place.number, WAIVER_MARKER)
    if not any(WAIVER_MARKER in remark.body for remark in remarks):
        return (), ()
    sha = head_sha or api.pull_request(place.number).head_sha
    candidates, notices = read_waivers(remarks, sha, place)
    role = cache(api.role)
    waivers: list[Waiver] = []
    refused: list[str] = []
    for candidate in candidates:
        try:
            problem = _problem(candidate, api, role, permission)
            if problem is None and not place.keys:
                problem = _unseen(candidate, api)
        except PublishError as error:
            problem = f"{error}."
        if problem is None:
            waivers.append(candidate.waiver)
        else:
            refused.append(f"{named(candidate.waiver)} does not count: {problem}")
    return tuple(waivers), (*notices, *refused)


def checked_before(runs: tuple[WorkflowRun, ...], said: datetime) -> bool | None:
    """Return whether all runs on the pull request's commit began before that time.

    GitHub starts a run for every push, and both times are GitHub's own. None if there is no run.
    """
    found = [run for run in runs if is_of_a_pull_request(run)]
    return all(run.created <= said for run in found) if found else None


def is_of_a_pull_request(run: WorkflowRun) -> bool:
    """Return whether a push to a pull request started the run."""
    return run.event in _PULL_REQUEST_EVENTS


def _problem(
    candidate: Candidate, api: RepositoryApi, role: Callable[[str], str], permission: str
) -> str | None:
    if api.is_edited(candidate.command):
        # People with the role `write` can edit the comments of others.
        return f"the waiver's command was edited. {_AGAIN} in a new comment."
    found = role(candidate.waiver.author)
    if not enough(found, permission):
        return (
            f"the waiver's author has the role {found} now, but the policy requires {permission} "
            "(waivers.permission)."
        )
    return None


def _unseen(candidate: Candidate, api: RepositoryApi) -> str | None:
    """Return why the command may not be for this commit, by its time, or None.

    Without a key nobody can verify who wrote the record. The bot checks the time in the same way.
    """
    runs = api.workflow_runs(candidate.waiver.sha)
    if checked_before(runs, candidate.command.created):
        return None
    return (
        "this job has no key to verify the waiver, and somebody wrote the command "
        f"before the checks of {candidate.waiver.sha[:10]} began. {_AGAIN}."
    )
