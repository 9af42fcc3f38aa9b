"""Decides whether the check of a pull request may spend money, and forecasts one that may not.

A held check reads contracts and prompts as any other, so it finds mistakes, and calls no model. The
job then fails: it is the required check, and one that GitHub skips, or that passes, would let the
change merge untested.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gatekeeper.action.activities import CheckActivity, Job, Run, plan
from gatekeeper.action.events import CheckPullRequest
from gatekeeper.reports.document import Words, code

if TYPE_CHECKING:
    from gatekeeper.gate.forecast.estimate import RunEstimate


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


def forecast(job: Job, activity: CheckPullRequest) -> RunEstimate:
    """Return what the check would take. Raises ContractError and UsageError as the check does."""
    from gatekeeper.runs.library.affected import forecast_change

    change, work = plan(job, activity)
    return forecast_change(change, work.policy, job.settings.contracts)
