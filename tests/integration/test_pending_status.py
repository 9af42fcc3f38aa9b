"""A pending status stays on no commit that is tested, or that a push has replaced."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from support.action_job import Job
from support.github_objects import FakeStatus
from support.github_server import FakeGithub, Fault
from support.pull_request import BROKEN, FEW, HARMLESS, PROMPT, PullRequest

propose = partial(PullRequest.make, fixtures=FEW)
BEFORE = "d" * 40
RUN = "https://github.com/octo/prompts/actions/runs/41"
CONTEXT = "gatekeeper/verdict"


def states(github: FakeGithub, sha: str) -> list[str]:
    return [status.state for status in github.statuses if status.sha == sha]


def test_the_verdict_replaces_the_pending_status(
    job: Job, github: FakeGithub, tmp_path: Path
) -> None:
    change = propose(tmp_path, {PROMPT: BROKEN})
    github.pull_request(7, change.head)
    assert job.run(change) == 1
    assert states(github, change.head) == ["pending", "failure"]
    # The run was short, so nothing but the result was worth a comment.
    assert [comment.edits for comment in github.comments[7]] == [0]


def test_what_ends_without_asking_a_model_was_never_pending(
    job: Job, github: FakeGithub, tmp_path: Path
) -> None:
    change = propose(tmp_path, {"README.md": "Another product.\n"})
    github.pull_request(7, change.head)
    assert job.run(change) == 0
    assert states(github, change.head) == ["success"]


@pytest.mark.parametrize(
    ("left", "context", "expected"),
    [
        (["pending"], CONTEXT, ["pending", "error"]),
        (["pending", "success"], CONTEXT, ["pending", "success"]),
        (["failure", "pending"], CONTEXT, ["failure", "pending", "error"]),
        (["pending"], "ci/other", ["pending"]),
        ([], CONTEXT, []),
    ],
)
def test_the_run_of_a_push_ends_what_a_killed_run_left(
    job: Job,
    github: FakeGithub,
    tmp_path: Path,
    left: list[str],
    context: str,
    expected: list[str],
) -> None:
    change = propose(tmp_path, {"README.md": "Another product.\n"})
    github.pull_request(7, change.head)
    github.statuses += [FakeStatus(BEFORE, state, context, "Testing", RUN) for state in left]
    assert job.run(change, {"before": BEFORE}) == 0
    assert states(github, BEFORE) == expected
    if expected[-1:] == ["error"]:
        assert "replaced by a push" in (github.statuses[-1].description or "")
        assert github.statuses[-1].target_url == RUN


def test_a_status_that_cannot_be_read_changes_no_verdict(
    job: Job, github: FakeGithub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change = propose(tmp_path, {PROMPT: HARMLESS})
    github.pull_request(7, change.head)
    github.faults.append(Fault("GET", rf"{BEFORE}/statuses", status=403))
    assert job.run(change, {"before": BEFORE}) == 0
    assert states(github, change.head) == ["pending", "success"]
    assert "could not read the commit statuses" in capsys.readouterr().out


def test_no_statuses_are_read_if_none_are_set(job: Job, github: FakeGithub, tmp_path: Path) -> None:
    change = propose(tmp_path, {PROMPT: HARMLESS})
    github.pull_request(7, change.head)
    assert job.run(change, {"before": BEFORE}, status_context="") == 0
    assert not [request for request in github.requests if "/statuses" in request]
