"""The container's entry: reads inputs and event from the environment, and publishes the result.

Runs the same gate as the command line. The exit code depends on the verdict only: if something
cannot be delivered, the log has a warning.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gatekeeper.action.activities import (
    CheckActivity,
    Job,
    Run,
    forecast_check,
    found_pull_request,
    result_of,
    what_holds,
)
from gatekeeper.action.alerts import look_back, unmeasured_night
from gatekeeper.action.checkout import Checkout
from gatekeeper.action.events import (
    Activity,
    CheckPullRequest,
    FindPullRequest,
    Nothing,
    Respond,
    RunFull,
    activity_for,
)
from gatekeeper.action.github.comments import marked_body, post_or_update
from gatekeeper.action.github.repository import RepositoryApi
from gatekeeper.action.github.workflow_step import Annotation
from gatekeeper.action.inputs import ActionInputs, read_settings
from gatekeeper.action.publish import (
    Answer,
    answer_to,
    answer_to_error,
    answer_to_hold,
    clean,
    deliver,
    notify,
    problems,
    say,
    say_annotations,
    tell_issues,
)
from gatekeeper.action.workspace import forget_proposals, out_folder, proposals_folder
from gatekeeper.errors import Bug, GatekeeperError, PublishError, UsageError, as_told
from gatekeeper.reports.escape import code
from gatekeeper.reports.markers import run_marker
from gatekeeper.reports.write import forget_reports, require_formats
from gatekeeper.runs.answers.files import forget_unfinished


def main() -> int:
    """Run the gate for the event. Returns the exit code."""
    try:
        settings = read_settings(os.environ)
        payload = _read_event(settings.event_path)
        activity = activity_for(settings.event_name, payload, os.environ)
    except GatekeeperError as error:
        say_annotations(problems(error))
        return error.exit_code
    api = RepositoryApi(settings.token, settings.repository, settings.api_url)
    if isinstance(activity, Respond):
        from gatekeeper.action.bot import respond

        return respond(settings, activity, api)
    return act(settings, activity, api)


def act(settings: ActionInputs, activity: Activity, api: RepositoryApi) -> int:
    """Run the activity and publish its result. An error is published instead of a verdict."""
    try:
        if isinstance(activity, FindPullRequest):
            activity = found_pull_request(activity, api)
        if isinstance(activity, Nothing):
            if activity.explanation:
                say(clean(activity.explanation, settings))
            return activity.exit_code
        assert not isinstance(activity, FindPullRequest | Respond)  # noqa: S101
        answer = _run_gate(settings, activity, api)
    except Exception as error:
        told = as_told(error)
        if isinstance(told, Bug):
            say(clean(told.trace, settings))
        answer = answer_to_error(told, settings)
        if isinstance(activity, RunFull) and activity.keep == "schedule":
            answer = replace(answer, issues=unmeasured_night(settings, api, activity, told))
    return _publish(answer, settings, activity, api)


def _publish(answer: Answer, settings: ActionInputs, activity: Activity, api: RepositoryApi) -> int:
    """Publish the result, issues and notifications. Returns the exit code."""
    exit_code = deliver(answer, settings, activity, api)
    opened = tell_issues(answer, settings)
    notify(replace(answer, news=(*answer.news, *opened)), settings, activity, api)
    if isinstance(activity, RunFull) and activity.pull_request is not None:
        _show_on(activity, activity.pull_request, answer, settings, api)
    return exit_code


def _show_on(
    activity: RunFull, number: int, answer: Answer, settings: ActionInputs, api: RepositoryApi
) -> None:
    """Post the result of a manual run as a separate comment on a pull request."""
    own = run_marker(settings.id)
    try:
        text = f"{_started_by_hand(activity)}\n\n{answer.comment}"
        comment = post_or_update(api, number, own, marked_body([own], text))
    except PublishError as error:
        say_annotations([Annotation("warning", "Gatekeeper", clean(str(error), settings))])
    else:
        say(f"posted on pull request {number}: {comment.url}")


def _started_by_hand(activity: RunFull) -> str:
    """Return the first line of the comment, which distinguishes it from the gate's own comment."""
    what = [f"{len(activity.contracts)} contracts" if activity.contracts else "the full suite"]
    what.append(f"on {code(activity.ref or activity.sha[:12], 80)}")
    if activity.samples is not None:
        what.append(f"with {activity.samples:,} samples of each fixture")
    return f"> Manual run: {' '.join(what)}. This run does not affect the required check."


def _read_event(path: Path) -> Mapping[str, Any]:
    try:
        payload = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"GITHUB_EVENT_PATH: {path} cannot be read as JSON ({error})") from error
    if not isinstance(payload, dict):
        raise UsageError(f"GITHUB_EVENT_PATH: {path} is not a JSON object")
    return payload


def _run_gate(settings: ActionInputs, activity: CheckActivity | Run, api: RepositoryApi) -> Answer:
    out = out_folder(settings.workspace, settings.out)
    require_formats(settings.formats)
    # A self-hosted runner may still have the reports of an earlier job.
    forget_reports(out, f"input out: {settings.out}")
    forget_proposals(proposals_folder(settings.workspace, settings.out))
    with Checkout(settings) as checkout:
        job = Job(settings, api, checkout, is_shown=True)
        holds = tuple(what_holds(job, activity))
        if holds and isinstance(activity, CheckPullRequest):
            estimate = forecast_check(job, activity)
            if estimate.worst_cost_usd != 0:
                return answer_to_hold(holds, estimate, settings)
        result = result_of(replace(job, is_held=bool(holds)), activity)
        after = look_back(job, activity, result)
    # The verdict itself says that an objective is missed.
    told = [news for news in (*after.news, *after.known) if news.kind != "objective"]
    answer = answer_to(result, out, settings, told)
    if (out / "result.json").exists():
        forget_unfinished(result.spent_answers)
    return replace(answer, news=(*answer.news, *after.news), issues=after.issues)
