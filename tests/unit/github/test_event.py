"""What each event makes the gate do."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.errors import UsageError
from gatekeeper.github.event import (
    CheckMergeGroup,
    CheckPullRequest,
    Nothing,
    RunFull,
    activity_for,
)

BASE, HEAD, MERGE = "b" * 40, "a" * 40, "c" * 40


def pull_request(action: str = "opened", head_repository: str | None = "o/r") -> dict[str, Any]:
    return {
        "action": action,
        "number": 7,
        "pull_request": {
            "number": 7,
            "merge_commit_sha": "d" * 40,
            "base": {"sha": BASE, "ref": "main", "repo": {"full_name": "o/r"}},
            "head": {
                "sha": HEAD,
                "ref": "x; rm -rf /",
                "repo": {"full_name": head_repository} if head_repository else None,
            },
        },
    }


@pytest.mark.parametrize(
    "action", ["opened", "synchronize", "reopened", "ready_for_review", "edited", "labeled"]
)
def test_every_open_pull_request_is_judged(action: str) -> None:
    found = activity_for("pull_request", pull_request(action), {"GITHUB_SHA": MERGE})
    assert found == CheckPullRequest(7, BASE, HEAD, MERGE, same_repository=True)


@pytest.mark.parametrize("head_repository", ["fork/r", None])
def test_a_fork_is_not_the_same_repository(head_repository: str | None) -> None:
    payload = pull_request(head_repository=head_repository)
    found = activity_for("pull_request", payload, {"GITHUB_SHA": MERGE})
    assert isinstance(found, CheckPullRequest)
    assert not found.same_repository


def test_the_target_event_takes_the_merge_commit_of_the_payload() -> None:
    # There GITHUB_SHA is the tip of the base branch.
    found = activity_for("pull_request_target", pull_request(), {"GITHUB_SHA": BASE})
    assert found == CheckPullRequest(7, BASE, HEAD, "d" * 40, same_repository=True)


@pytest.mark.parametrize("sha", ["", "refs/pull/7/merge", "--upload-pack=evil"])
def test_a_merge_commit_that_is_none_is_not_taken(sha: str) -> None:
    found = activity_for("pull_request", pull_request(), {"GITHUB_SHA": sha})
    assert isinstance(found, CheckPullRequest)
    assert found.merge_sha is None


def test_a_closed_pull_request_is_green() -> None:
    found = activity_for("pull_request", pull_request("closed"), {})
    assert found == Nothing("pull request 7 is closed", exit_code=0)


def test_a_merge_group_is_judged_between_its_own_commits() -> None:
    payload = {
        "action": "checks_requested",
        "merge_group": {"base_sha": BASE, "head_sha": HEAD, "head_ref": "refs/heads/gh-readonly"},
    }
    assert activity_for("merge_group", payload, {}) == CheckMergeGroup(BASE, HEAD)


def test_a_destroyed_merge_group_is_green() -> None:
    found = activity_for("merge_group", {"action": "destroyed"}, {})
    assert isinstance(found, Nothing)
    assert found.exit_code == 0


@pytest.mark.parametrize(
    ("inputs", "contracts"),
    [
        (None, ()),
        ({}, ()),
        ({"contracts": ""}, ()),
        ({"contracts": "a, b\nc"}, ("a", "b", "c")),
        ({"contracts": 3}, ()),
    ],
)
def test_a_dispatch_runs_the_suite(inputs: Any, contracts: tuple[str, ...]) -> None:
    found = activity_for("workflow_dispatch", {"inputs": inputs}, {"GITHUB_SHA": HEAD})
    assert found == RunFull(HEAD, contracts)


@pytest.mark.parametrize(
    "name", ["push", "schedule", "workflow_run", "issue_comment", "release", "x"]
)
def test_any_other_event_is_explained_and_never_green(name: str) -> None:
    found = activity_for(name, {}, {"GITHUB_SHA": HEAD})
    assert isinstance(found, Nothing)
    assert name in found.explanation
    assert found.exit_code == 2


@pytest.mark.parametrize(
    ("name", "payload", "missing"),
    [
        ("pull_request", {}, "pull_request.number"),
        ("pull_request", {"pull_request": {"number": "7"}}, "pull_request.number"),
        ("pull_request", {"pull_request": {"number": 7, "base": None}}, "pull_request.base.sha"),
        ("pull_request", {"pull_request": 7}, "pull_request.number"),
        ("merge_group", {"merge_group": {"base_sha": "main"}}, "merge_group.base_sha"),
        ("workflow_dispatch", {}, "GITHUB_SHA"),
    ],
)
def test_a_payload_of_another_event_is_named(
    name: str, payload: dict[str, Any], missing: str
) -> None:
    with pytest.raises(UsageError, match=missing.replace(".", r"\.")):
        activity_for(name, payload, {})


@given(
    path=st.sampled_from(["action", "pull_request", "pull_request.base", "pull_request.head.sha"]),
    junk=st.none() | st.booleans() | st.integers() | st.text(max_size=50) | st.just([{}]),
)
def test_junk_anywhere_is_the_payloads_fault(path: str, junk: Any) -> None:
    payload = pull_request()
    *parents, last = path.split(".")
    inner = payload
    for key in parents:
        inner = inner[key]
    inner[last] = junk
    with contextlib.suppress(UsageError):
        activity_for("pull_request", payload, {"GITHUB_SHA": MERGE})
