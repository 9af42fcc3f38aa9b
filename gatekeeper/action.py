"""The container's entry: inputs and event from the environment, the answer to GitHub.

Runs the same gate as the command line. The exit code is the verdict and nothing else:
what cannot be delivered is a warning in the log.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gatekeeper.answer import (
    COULD_NOT_MEASURE,
    Answer,
    answer_to,
    answer_to_error,
    clean,
    deliver,
    out_folder,
    problems,
    say,
    say_annotations,
)
from gatekeeper.checkout import Checkout
from gatekeeper.contract.policy import judging_policy, load_policy
from gatekeeper.errors import GatekeeperError, UsageError
from gatekeeper.github.api import GithubApi, PullRequestApi
from gatekeeper.github.event import (
    Activity,
    CheckMergeGroup,
    CheckPullRequest,
    Nothing,
    RunFull,
    activity_for,
)
from gatekeeper.settings import Settings, read_settings

if TYPE_CHECKING:
    from gatekeeper.result import GateResult


def main() -> int:
    """Judge what the event asks for. Returns the exit code."""
    try:
        settings = read_settings(os.environ)
        payload = _read_event(settings.event_path)
        activity = activity_for(settings.event_name, payload, os.environ)
    except GatekeeperError as error:
        say_annotations(problems(error))
        return error.exit_code
    if isinstance(activity, Nothing):
        say(activity.explanation)
        return activity.exit_code
    api = GithubApi(settings.token, settings.repository, settings.api_url)
    return act(settings, activity, api)


def act(settings: Settings, activity: Activity, api: PullRequestApi) -> int:
    """Judge and answer. An error of any kind is told where the verdict would have been."""
    try:
        answer = _judge(settings, activity)
    except GatekeeperError as error:
        answer = answer_to_error(error, str(error), settings)
    except Exception as error:
        # An unforeseen fault is neither a pass nor a fail of the prompt.
        say(clean("".join(traceback.format_exception(error)), settings))
        fault = f"{type(error).__name__}: this is a fault of gatekeeper itself, please report it"
        answer = answer_to_error(error, fault, settings)
    deliver(answer, settings, activity, api)
    fork = isinstance(activity, CheckPullRequest) and not activity.same_repository
    if fork and answer.exit_code == COULD_NOT_MEASURE and settings.event_name == "pull_request":
        say("Pull requests from forks get no secrets, so models that need a key cannot be called.")
    return answer.exit_code


def _read_event(path: Path) -> Mapping[str, Any]:
    try:
        payload = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"GITHUB_EVENT_PATH: {path} cannot be read as JSON ({error})") from error
    if not isinstance(payload, dict):
        raise UsageError(f"GITHUB_EVENT_PATH: {path} holds no JSON object")
    return payload


# From the activity to a result


def _judge(settings: Settings, activity: Activity) -> Answer:
    out = out_folder(settings)
    with Checkout(settings) as checkout:
        result = _measure(settings, activity, checkout)
    return answer_to(result, out, settings)


def _measure(settings: Settings, activity: Activity, checkout: Checkout) -> GateResult:
    # Heavy: reached only once the repository and the event are known to be usable.
    from gatekeeper.gate import plan_check, plan_run
    from gatekeeper.session import measure

    history = settings.workspace / settings.history if settings.history else None
    if isinstance(activity, RunFull):
        revision = checkout.revision(activity.ref)
        names = activity.contracts or settings.contracts
        work = plan_run(revision, load_policy(revision), names)
        return measure(work, (revision,), history=history)
    assert isinstance(activity, CheckPullRequest | CheckMergeGroup)  # noqa: S101
    change = checkout.change(activity)
    policy, notices = judging_policy(change)
    work = plan_check(change, policy, settings.contracts, notices)
    result = measure(work, (change.base, change.head), history=history)
    # People know the pull request's own commit, not the merge that GitHub made of it.
    return replace(result, head_sha=activity.head_sha)


if __name__ == "__main__":
    sys.exit(main())
