"""From what GitHub says has happened to what the gate should do. Pure: reads values, asks nobody.

| event | activity | base | head |
| --- | --- | --- | --- |
| `pull_request` | CheckPullRequest | first parent of the merge | the merge, GITHUB_SHA |
| `pull_request_target` | CheckPullRequest | first parent of the merge | merge_commit_sha |
| the two above, action `closed` | Nothing, green | | |
| `merge_group` | CheckMergeGroup | merge_group.base_sha | merge_group.head_sha |
| `merge_group`, action `destroyed` | Nothing, green | | |
| `workflow_dispatch` | RunFull | | GITHUB_SHA |
| any other | Nothing, with the reason, red | | |

Every action of a pull request but `closed` is checked, `edited` and `labeled` too: each run
of a workflow replaces the required check of the same commit, so a run that looked at nothing
and ended green would lift the verdict of the run before. An event the gate cannot judge is
red for the same reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gatekeeper.errors import UsageError

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@dataclass(frozen=True, slots=True)
class CheckPullRequest:
    """Judge a pull request.

    `base_sha` is the tip of the branch merged into as the event knew it and may be out of
    date. `merge_sha` is the commit that merges the two; GitHub makes it in the background, so
    its second parent must be compared with `head_sha`. `same_repository` is False for forks:
    their runs get no secrets.
    """

    number: int
    base_sha: str
    head_sha: str
    merge_sha: str | None
    same_repository: bool


@dataclass(frozen=True, slots=True)
class CheckMergeGroup:
    """Judge a group of a merge queue."""

    base_sha: str
    head_sha: str


@dataclass(frozen=True, slots=True)
class RunFull:
    """Run the full suite, or the named contracts, on one revision."""

    ref: str
    contracts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Nothing:
    """There is nothing to judge. `exit_code` is what the job ends with."""

    explanation: str
    exit_code: int = 2


Activity = CheckPullRequest | CheckMergeGroup | RunFull | Nothing

_WRONG_PAYLOAD = "is GITHUB_EVENT_PATH the payload of this event?"
_LATER = {
    "push": "a push has no pull request to judge; run the gate on pull_request",
    "schedule": "for a full run use workflow_dispatch",
    "workflow_run": "run the gate on pull_request or pull_request_target",
    "issue_comment": "comments start no run; use workflow_dispatch",
}


def activity_for(name: str, payload: Mapping[str, Any], environ: Mapping[str, str]) -> Activity:
    """What to do for the event. Raises UsageError for a payload that is not of this event."""
    if name in ("pull_request", "pull_request_target"):
        return _pull_request(name, payload, environ)
    if name == "merge_group":
        return _merge_group(payload)
    if name == "workflow_dispatch":
        sha = _sha(environ.get("GITHUB_SHA"), "GITHUB_SHA")
        return RunFull(sha, _dispatched_contracts(payload))
    advice = _LATER.get(name, "run it on pull_request, merge_group or workflow_dispatch")
    return Nothing(f"the event {name!r} gives the gate nothing to judge: {advice}")


def _pull_request(name: str, payload: Mapping[str, Any], environ: Mapping[str, str]) -> Activity:
    number = _at(payload, "pull_request.number")
    if not isinstance(number, int):
        raise UsageError(f"pull_request.number is {number!r}; {_WRONG_PAYLOAD}")
    if payload.get("action") == "closed":
        return Nothing(f"pull request {number} is closed", exit_code=0)
    head_repository = _at(payload, "pull_request.head.repo.full_name", needed=False)
    base_repository = _at(payload, "pull_request.base.repo.full_name", needed=False)
    return CheckPullRequest(
        number=number,
        base_sha=_sha(_at(payload, "pull_request.base.sha"), "pull_request.base.sha"),
        head_sha=_sha(_at(payload, "pull_request.head.sha"), "pull_request.head.sha"),
        # Only for pull_request is GITHUB_SHA the merge commit.
        merge_sha=_full_name(
            environ.get("GITHUB_SHA")
            if name == "pull_request"
            else _at(payload, "pull_request.merge_commit_sha", needed=False)
        ),
        # A fork that has been deleted has no repository any more.
        same_repository=head_repository is not None and head_repository == base_repository,
    )


def _full_name(value: Any) -> str | None:
    return value if isinstance(value, str) and _SHA.fullmatch(value) else None


def _merge_group(payload: Mapping[str, Any]) -> Activity:
    if payload.get("action") == "destroyed":
        return Nothing("the merge group is gone", exit_code=0)
    return CheckMergeGroup(
        base_sha=_sha(_at(payload, "merge_group.base_sha"), "merge_group.base_sha"),
        head_sha=_sha(_at(payload, "merge_group.head_sha"), "merge_group.head_sha"),
    )


def _dispatched_contracts(payload: Mapping[str, Any]) -> tuple[str, ...]:
    # `inputs` is null where the workflow declares none.
    text = _at(payload, "inputs.contracts", needed=False)
    if not isinstance(text, str):
        return ()
    return tuple(name for name in re.split(r"[\s,]+", text) if name)


def _at(payload: Mapping[str, Any], path: str, *, needed: bool = True) -> Any:
    value: Any = payload
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    if value is None and needed:
        raise UsageError(f"the event has no {path}; {_WRONG_PAYLOAD}")
    return value


def _sha(value: Any, what: str) -> str:
    # A name of a branch would be taken for an option or a path by git: only commits go there.
    name = _full_name(value)
    if name is None:
        raise UsageError(f"{what} is {value!r}, not a full commit name; {_WRONG_PAYLOAD}")
    return name
