"""What each event makes the gate do."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import webhook_payloads as payloads
from support.webhook_payloads import BASE, HEAD, MERGE, pull_request

from gatekeeper.action.events import (
    CheckMergeGroup,
    CheckPullRequest,
    Command,
    FindPullRequest,
    Nothing,
    Respond,
    RunFull,
    RunPush,
    activity_for,
)
from gatekeeper.errors import UsageError


@pytest.mark.parametrize(
    "action", ["opened", "synchronize", "reopened", "ready_for_review", "edited", "labeled"]
)
def test_every_open_pull_request_is_checked(action: str) -> None:
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


@pytest.mark.parametrize("name", ["pull_request", "pull_request_target"])
def test_a_closed_pull_request_is_red(name: str) -> None:
    """Another pull request with the same head may still be open."""
    found = activity_for(name, pull_request("closed"), {})
    assert isinstance(found, Nothing)
    assert found.exit_code == 2
    assert f"Remove `closed` from the `types` of the workflow's `{name}`" in found.explanation


def test_a_merge_group_is_checked_between_its_own_commits() -> None:
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
    ("branch", "number"),
    [
        (f"refs/heads/gh-readonly-queue/main/pr-12-{BASE}", 12),
        (f"refs/heads/gh-readonly-queue/release/pr-3-{BASE}/pr-12-{BASE}", 12),
        ("refs/heads/gh-readonly-queue/main", None),
        (f"refs/heads/mine/gh-readonly-queue/main/pr-12-{BASE}", None),
        (None, None),
        (7, None),
    ],
)
def test_a_merge_group_names_its_pull_request(branch: Any, number: int | None) -> None:
    payload = {"merge_group": {"base_sha": BASE, "head_sha": HEAD, "head_ref": branch}}
    assert activity_for("merge_group", payload, {}) == CheckMergeGroup(BASE, HEAD, number)


@pytest.mark.parametrize("before", [BASE, "0" * 40, "0" * 64])
def test_a_push_to_the_default_branch_runs_what_it_changed(before: str) -> None:
    found = activity_for("push", payloads.push(before=before), {"GITHUB_SHA": HEAD})
    assert found == RunPush(BASE if before == BASE else None, HEAD)


@pytest.mark.parametrize(
    "payload",
    [
        payloads.push("refs/heads/feature"),
        payloads.push("refs/tags/main"),
        payloads.push("refs/heads/main/x"),
        payloads.push("refs/heads/Main"),
        payloads.push("main"),
        payloads.push("refs/heads/feature", before="0" * 40),
    ],
)
def test_any_other_push_is_red_and_explained(payload: dict[str, Any]) -> None:
    """A green run would be the required check of the branch's pull request."""
    found = activity_for("push", payload, {"GITHUB_SHA": HEAD})
    assert isinstance(found, Nothing)
    assert found.exit_code == 2
    assert "`push: {branches: [main]}`" in found.explanation


@pytest.mark.parametrize("ref", ["refs/heads/main", "refs/heads/feature", "refs/tags/v1"])
def test_a_deleted_branch_has_no_commit_to_report_to(ref: str) -> None:
    found = activity_for("push", payloads.push(ref, after="0" * 40), {"GITHUB_SHA": HEAD})
    assert found == Nothing("the branch was deleted", exit_code=0)


@pytest.mark.parametrize(
    "ref", ["refs/heads/release", "refs/tags/v1", "refs/heads/main/x", "refs/pull/7/head", None]
)
@pytest.mark.parametrize("inputs", [{}, {"contracts": "easy"}, {"ref": "main"}])
def test_a_dispatch_on_another_branch_is_red(ref: str | None, inputs: dict[str, str]) -> None:
    payload = payloads.dispatch(**inputs) | {"ref": ref}
    found = activity_for("workflow_dispatch", payload, {"GITHUB_SHA": HEAD})
    assert isinstance(found, Nothing)
    assert found.exit_code == 2
    assert "Start the workflow on main" in found.explanation


def test_the_schedule_runs_the_suite_for_the_history() -> None:
    found = activity_for("schedule", {"schedule": "0 3 * * *"}, {"GITHUB_SHA": HEAD})
    assert found == RunFull(HEAD, keep="schedule")


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (payloads.dispatch() | {"inputs": None}, {}),
        (payloads.dispatch(), {}),
        (payloads.dispatch(contracts="", ref="", samples="", pull_request=""), {}),
        (payloads.dispatch(contracts="a, b\nc"), {"contracts": ("a", "b", "c")}),
        (payloads.dispatch(ref="release/1.0"), {"ref": "release/1.0", "keep": None}),
        (payloads.dispatch(samples="5", pull_request=" 12 "), {"samples": 5, "pull_request": 12}),
        (payloads.dispatch(samples=5.0), {"samples": 5}),
        (payloads.dispatch(contracts=True), {}),
    ],
)
def test_a_dispatch_runs_what_was_typed(payload: Any, expected: dict[str, Any]) -> None:
    found = activity_for("workflow_dispatch", payload, {"GITHUB_SHA": HEAD})
    assert found == RunFull(HEAD, **{"keep": "manual", **expected})


@pytest.mark.parametrize(
    ("inputs", "wrong"),
    [
        ({"samples": "0"}, "input samples"),
        ({"samples": "1001"}, "input samples"),
        ({"samples": "ten"}, "input samples"),
        ({"samples": "-1"}, "input samples"),
        ({"samples": "٣"}, "input samples"),
        ({"pull_request": "#7"}, "input pull-request"),
        ({"pull_request": "9" * 5000}, "input pull-request"),
        ({"ref": "--upload-pack=evil"}, "input ref"),
        ({"ref": "a..b"}, "input ref"),
        ({"ref": "a b"}, "input ref"),
        ({"ref": "x" * 256}, "input ref"),
    ],
)
def test_what_cannot_be_meant_is_refused(inputs: dict[str, str], wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong):
        activity_for("workflow_dispatch", payloads.dispatch(**inputs), {"GITHUB_SHA": HEAD})


def test_a_first_stage_leads_to_a_search_and_never_to_a_number() -> None:
    payload = payloads.workflow_run(pull_requests=[{"number": 666}])
    found = activity_for("workflow_run", payload, {"GITHUB_SHA": BASE})
    assert found == FindPullRequest("fork/r", "change", HEAD)


def test_a_first_stage_of_dependabot_had_no_secrets_either() -> None:
    own = {"full_name": "o/r"}
    found = activity_for("workflow_run", payloads.workflow_run(head_repository=own), {})
    assert isinstance(found, Nothing)
    payload = payloads.workflow_run(head_repository=own, actor={"login": "dependabot[bot]"})
    assert activity_for("workflow_run", payload, {}) == FindPullRequest("o/r", "change", HEAD)


@pytest.mark.parametrize(
    "payload",
    [
        payloads.workflow_run() | {"action": "requested"},
        payloads.workflow_run(event="push"),
        payloads.workflow_run(conclusion="cancelled"),
        payloads.workflow_run(conclusion="action_required"),
        payloads.workflow_run(conclusion=None),
        payloads.workflow_run(head_repository=None),
        payloads.workflow_run(head_branch=None),
    ],
)
def test_any_other_workflow_run_is_green_and_explained(payload: dict[str, Any]) -> None:
    found = activity_for("workflow_run", payload, {})
    assert isinstance(found, Nothing)
    assert found.exit_code == 0
    assert found.explanation


def test_a_comment_with_a_command_is_answered() -> None:
    found = activity_for("issue_comment", payloads.issue_comment("/gatekeeper full"), {})
    assert found == Respond(7, 11, "octocat", "2026-01-02T03:04:05Z", Command("full"))


@pytest.mark.parametrize(
    "payload",
    [
        payloads.issue_comment("Nice!"),
        payloads.issue_comment("/gatekeeper full", action="edited"),
        payloads.issue_comment("/gatekeeper full", action="deleted"),
        payloads.issue_comment("/gatekeeper full", user=None),
        payloads.issue_comment("/gatekeeper full", user={"login": "helper[bot]", "type": "Bot"}),
        payloads.issue_comment("/gatekeeper full", user={"login": "octo", "type": "Organization"}),
        payloads.issue_comment("/gatekeeper full", user={"login": "octocat"}),
        payloads.issue_comment("/gatekeeper full", performed_via_github_app={"slug": "helper"}),
        payloads.issue_comment("/gatekeeperwaive a: b"),
        payloads.issue_comment("    /gatekeeper full"),
        payloads.issue_comment(None),
        payloads.issue_comment("/gatekeeper full") | {"issue": {"number": 7}},
    ],
)
def test_any_other_comment_is_passed_over_in_silence(payload: dict[str, Any]) -> None:
    assert activity_for("issue_comment", payload, {}) == Nothing("", exit_code=0)


@pytest.mark.parametrize("name", ["release", "status", "repository_dispatch", "x"])
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
        ("schedule", {}, "GITHUB_SHA"),
        ("push", {}, "ref"),
        ("push", {"ref": "refs/heads/main"}, "repository.default_branch"),
        ("push", payloads.push(before="main"), "before"),
        ("workflow_run", {"action": "completed"}, "workflow_run.event"),
        ("workflow_run", payloads.workflow_run(head_sha="main"), "workflow_run.head_sha"),
        ("issue_comment", payloads.issue_comment("/gatekeeper full", id="1"), "comment.id"),
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
    assume(not (isinstance(junk, str) and (junk == "closed" or len(junk) == len(HEAD))))
    payload = pull_request()
    *parents, last = path.split(".")
    inner = payload
    for key in parents:
        inner = inner[key]
    inner[last] = junk
    if path == "action":  # every one but `closed` is evaluated
        found = activity_for("pull_request", payload, {"GITHUB_SHA": MERGE})
        assert found == CheckPullRequest(7, BASE, HEAD, MERGE, same_repository=True)
        return
    missing = {"pull_request": "pull_request.number", "pull_request.base": "pull_request.base.sha"}
    with pytest.raises(UsageError, match=re.escape(missing.get(path, path))):
        activity_for("pull_request", payload, {"GITHUB_SHA": MERGE})
