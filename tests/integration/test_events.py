"""Events beside the pull request's own, to the answer: real git; GitHub and model on 127.0.0.1."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from support import webhook_payloads as payloads
from support.bot_comments import CheckedPull
from support.edited_text import edited
from support.git_repository import GitRepository
from support.github_server import FakeGithub, Fault
from support.machine_needs import ROOT_USER
from support.openai_server import OpenAIServer
from support.pull_request import BROKEN, CONTRACT, FEW, PROMPT

from gatekeeper.git.data_branch import DataBranch, PushRefusedError

HISTORY = "history.jsonl"
OWN_FIXTURES = edited(
    CONTRACT, "name: sentiment", "name: other", "../prompts/sentiment.md", "../prompts/other.md"
)
OTHER: dict[str, str | bytes] = {
    "contracts/other.yaml": OWN_FIXTURES,
    "prompts/other.md": "Positive or negative, in one word? {{ review }}\n",
}


@pytest.fixture
def checked_pull(open_pull: Callable[..., CheckedPull]) -> CheckedPull:
    """The pull request breaks one of two prompts."""
    return open_pull({PROMPT: BROKEN}, OTHER)


def history(checked_pull: CheckedPull) -> list[dict[str, Any]]:
    path = checked_pull.change.workspace / HISTORY
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_a_push_runs_what_it_changed_and_keeps_the_counts(
    checked_pull: CheckedPull, github: FakeGithub, model: OpenAIServer
) -> None:
    push = payloads.push(before=checked_pull.change.base, after=checked_pull.change.merge)
    # Objectives decide a push, and this contract has none.
    assert checked_pull.act("push", push, history=HISTORY) == 1
    assert len(model.requests) == FEW
    (event,) = history(checked_pull)
    assert (event["contract"], event["sha"]) == ("sentiment", checked_pull.change.merge)
    assert (event["samples"], event["failed"], event["trigger"]) == (FEW, FEW, "push")
    assert github.statuses == []
    assert checked_pull.own == []


def test_the_history_says_what_was_waived_when_it_was_merged(
    checked_pull: CheckedPull, github: FakeGithub
) -> None:
    assert checked_pull.say("/gatekeeper waive sentiment: it is meant") == 0
    github.pulls[7].state = "closed"
    push = payloads.push(before=checked_pull.change.base, after=checked_pull.change.merge)
    assert checked_pull.act("push", push, history=HISTORY) == 1
    (event,) = history(checked_pull)
    assert (event["waiver"]["author"], event["waiver"]["reason"]) == ("maintainer", "it is meant")
    github.faults.append(Fault("GET", "/pulls$", status=403, message="no"))
    assert checked_pull.act("push", push, history=HISTORY) == 1
    assert "waiver" not in history(checked_pull)[1]
    assert any(
        "waivers of the merged pull request" in notice
        for notice in checked_pull.result()["notices"]
    )


def test_a_push_that_touches_no_prompt_is_green_without_a_model(
    checked_pull: CheckedPull, model: OpenAIServer
) -> None:
    push = payloads.push(before=checked_pull.change.base, after=checked_pull.change.base)
    assert checked_pull.act("push", push, history=HISTORY) == 0
    assert model.requests == []
    assert history(checked_pull) == []


@pytest.mark.parametrize("before", ["0" * 40, "e" * 40])
def test_where_nothing_tells_what_was_there_before_the_suite_runs(
    checked_pull: CheckedPull, model: OpenAIServer, before: str
) -> None:
    push = payloads.push(before=before, after=checked_pull.change.merge)
    assert checked_pull.act("push", push, history=HISTORY) == 1
    assert {event["contract"] for event in history(checked_pull)} == {"sentiment", "other"}
    assert len(model.requests) == 2 * FEW


def test_a_push_to_another_branch_is_explained(
    checked_pull: CheckedPull, github: FakeGithub, capsys: pytest.CaptureFixture[str]
) -> None:
    push = payloads.push("refs/heads/feature", after=checked_pull.change.merge)
    assert checked_pull.act("push", push, history=HISTORY) == 2
    assert "not the default branch" in "".join(capsys.readouterr())
    assert github.requests == []


@pytest.mark.long
def test_the_nightly_run_keeps_the_counts_of_the_whole_suite(checked_pull: CheckedPull) -> None:
    assert checked_pull.act("schedule", {"schedule": "0 3 * * *"}, history=HISTORY) == 1
    assert checked_pull.act("schedule", {"schedule": "0 3 * * *"}, history=HISTORY) == 1
    assert len(history(checked_pull)) == 4
    assert checked_pull.act("schedule", {"schedule": "0 3 * * *"}) == 1
    assert len(history(checked_pull)) == 4


def test_a_dispatch_runs_what_was_typed_and_shows_it_where_asked(
    checked_pull: CheckedPull, github: FakeGithub, model: OpenAIServer
) -> None:
    github.refs["change"] = checked_pull.change.head
    typed = payloads.dispatch(contracts="other", ref="change", samples="2", pull_request="7")
    assert checked_pull.act("workflow_dispatch", typed, history=HISTORY) == 0
    assert len(model.requests) == 2 * FEW
    assert checked_pull.result()["head"]["sha"] == checked_pull.change.head
    assert history(checked_pull) == []
    (comment,) = checked_pull.own
    assert comment.startswith("<!-- gatekeeper-run:gatekeeper -->\n> ")
    assert comment.splitlines()[1].startswith("> Manual run: ")
    assert comment.splitlines()[3].startswith("## ")
    assert "`other`" in (checked_pull.folder / "summary").read_text()
    # The same comment is brought up to date, and the sticky one is another.
    assert checked_pull.act("workflow_dispatch", typed) == 0
    assert len(checked_pull.own) == 1


def test_a_pull_request_that_is_not_there_changes_no_exit_code(
    checked_pull: CheckedPull, github: FakeGithub, capsys: pytest.CaptureFixture[str]
) -> None:
    github.read_only = True
    typed = payloads.dispatch(contracts="other", ref=checked_pull.change.head, pull_request="7")
    assert checked_pull.act("workflow_dispatch", typed) == 0
    assert "::warning title=Gatekeeper::could not post the comment" in capsys.readouterr().out


def test_a_ref_that_is_not_there_is_named(checked_pull: CheckedPull) -> None:
    assert checked_pull.act("workflow_dispatch", payloads.dispatch(ref="gone")) == 3
    assert "find the commit gone" in (checked_pull.folder / "summary").read_text()


def forked(checked_pull: CheckedPull, github: FakeGithub, **fields: Any) -> dict[str, Any]:
    """The pull request comes from a fork, and its first stage has ended."""
    github.pulls[7].head_repository = "fork/prompts"
    repository = {"full_name": "fork/prompts", "owner": {"login": "fork"}}
    run = {"head_sha": checked_pull.change.head, "head_repository": repository} | fields
    return payloads.workflow_run(**run) | {"repository": {"full_name": "octo/prompts"}}


def test_the_second_stage_checks_the_forks_pull_request(
    checked_pull: CheckedPull, github: FakeGithub
) -> None:
    assert checked_pull.act("workflow_run", forked(checked_pull, github)) == 1
    assert "Do not merge" in checked_pull.own[0]
    assert [(s.sha, s.state) for s in github.verdicts] == [(checked_pull.change.head, "failure")]


def test_of_several_pull_requests_from_one_branch_the_first_is_checked(
    checked_pull: CheckedPull, github: FakeGithub
) -> None:
    pull = github.pull_request(5, checked_pull.change.head, base_sha=checked_pull.change.base)
    pull.head_repository = "fork/prompts"
    assert checked_pull.act("workflow_run", forked(checked_pull, github)) == 1
    assert len(github.comments[5]) == 1
    assert github.comments[7] == []


@pytest.mark.parametrize("what", ["closed", "pushed", "another fork"])
def test_what_the_first_stage_saw_must_still_be_there(
    checked_pull: CheckedPull, github: FakeGithub, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    payload = forked(checked_pull, github)
    pull = github.pulls[7]
    if what == "closed":
        pull.state = "closed"
    elif what == "pushed":
        pull.head_sha = "f" * 40
    else:
        # The same owner may have two forks with a branch of that name.
        pull.head_repository = "fork/elsewhere"
    assert checked_pull.act("workflow_run", payload) == 0
    assert "no longer the head of an open pull request" in capsys.readouterr().out
    assert checked_pull.own == []


def test_a_waiver_counts_in_the_merge_queue(checked_pull: CheckedPull, github: FakeGithub) -> None:
    change = checked_pull.change
    branch = f"refs/heads/gh-readonly-queue/main/pr-7-{change.base}"
    group = {"base_sha": change.base, "head_sha": change.merge, "head_ref": branch}
    payload = {"action": "checks_requested", "merge_group": group}
    assert checked_pull.act("merge_group", payload) == 1
    assert checked_pull.say("/gatekeeper waive sentiment: it is meant") == 0
    assert checked_pull.act("merge_group", payload) == 0


def test_waivers_that_cannot_be_read_are_said_and_do_not_count(
    checked_pull: CheckedPull, github: FakeGithub
) -> None:
    assert checked_pull.say("/gatekeeper waive sentiment: it is meant") == 0
    github.faults.append(Fault("GET", "/comments", status=403, message="no"))
    assert checked_pull.run_check() == 1
    assert any("Waivers" in notice for notice in checked_pull.result()["notices"])


@ROOT_USER.mark
def test_the_history_belongs_to_whom_the_workspace_belongs(checked_pull: CheckedPull) -> None:
    os.chown(checked_pull.change.workspace, 1001, 1002)
    push = payloads.push(before=checked_pull.change.base, after=checked_pull.change.merge)
    assert checked_pull.act("push", push, history=HISTORY) == 1
    owner = (checked_pull.change.workspace / HISTORY).stat()
    assert (owner.st_uid, owner.st_gid) == (1001, 1002)


def remembered(checked_pull: CheckedPull, name: str = "gatekeeper-data") -> list[dict[str, Any]]:
    """What the data branch of the remote holds."""
    git = GitRepository(checked_pull.folder / "origin").git
    if not git("for-each-ref", f"refs/heads/{name}"):
        return []
    paths = git("ls-tree", "-r", "--name-only", name, "runs").splitlines()
    lines = [line for path in paths for line in git("show", f"{name}:{path}").splitlines()]
    return [json.loads(line) for line in lines]


@pytest.mark.long
def test_a_gate_remembers_without_being_told_where(checked_pull: CheckedPull) -> None:
    push = payloads.push(before=checked_pull.change.base, after=checked_pull.change.merge)
    assert checked_pull.act("push", push) == 1
    assert checked_pull.act("workflow_dispatch", payloads.dispatch(contracts="other")) == 0
    assert checked_pull.act("schedule", {"schedule": "0 3 * * *"}) == 1
    told = sorted((event["trigger"], event["contract"]) for event in remembered(checked_pull))
    assert told == [
        ("manual", "other"),
        ("push", "sentiment"),
        ("schedule", "other"),
        ("schedule", "sentiment"),
    ]
    assert checked_pull.result()["notices"] == []


def test_what_is_not_of_the_default_branch_is_not_remembered(
    checked_pull: CheckedPull, github: FakeGithub
) -> None:
    github.refs["change"] = checked_pull.change.head
    assert checked_pull.act("workflow_dispatch", payloads.dispatch(ref="change")) == 1
    elsewhere = payloads.dispatch(contracts="other") | {"ref": "refs/heads/release"}
    assert checked_pull.act("workflow_dispatch", elsewhere) == 2
    assert checked_pull.act("pull_request", checked_pull.change.event()) == 1
    assert remembered(checked_pull) == []
    assert checked_pull.result()["notices"] == []


def test_the_workflow_can_turn_it_off(checked_pull: CheckedPull) -> None:
    push = payloads.push(before=checked_pull.change.base, after=checked_pull.change.merge)
    assert checked_pull.act("push", push, history="off") == 1
    assert remembered(checked_pull) == []


def test_a_history_that_may_not_be_written_is_one_warning_and_no_verdict(
    checked_pull: CheckedPull, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> bool:
        raise PushRefusedError("gatekeeper-data: the remote refuses the push (403)")

    monkeypatch.setattr(DataBranch, "push", refused)
    push = payloads.push(before=checked_pull.change.base, after=checked_pull.change.merge)
    assert checked_pull.act("push", push) == 1
    (notice,) = checked_pull.result()["notices"]
    assert "missing in the history" in notice
    assert "403" in notice


def test_no_history_is_read_where_no_prompt_changed(
    checked_pull: CheckedPull, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(_: DataBranch) -> DataBranch:
        raise AssertionError("nothing needs the history")

    monkeypatch.setattr(DataBranch, "__enter__", opened)
    push = payloads.push(before=checked_pull.change.base, after=checked_pull.change.base)
    assert checked_pull.act("push", push) == 0
