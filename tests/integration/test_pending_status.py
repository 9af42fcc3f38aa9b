"""A pending status stays on no commit that is tested, or that a push has replaced."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.bot_comments import CheckedPull
from support.github_objects import FakeStatus
from support.github_server import FakeGithub, Fault
from support.pull_request import BROKEN, HARMLESS, PROMPT

Open = Callable[..., CheckedPull]
BEFORE = "d" * 40
RUN = "https://github.com/octo/prompts/actions/runs/41"
CONTEXT = "gatekeeper/verdict"


def states(github: FakeGithub, sha: str) -> list[str]:
    return [status.state for status in github.statuses if status.sha == sha]


def test_the_verdict_replaces_the_pending_status(open_pull: Open, github: FakeGithub) -> None:
    pull = open_pull({PROMPT: BROKEN})
    assert pull.run_check() == 1
    assert states(github, pull.change.head) == ["pending", "failure"]
    # The run was short, so nothing but the result was worth a comment.
    assert [comment.edits for comment in github.comments[7]] == [0]


def test_what_ends_without_asking_a_model_was_never_pending(
    open_pull: Open, github: FakeGithub
) -> None:
    pull = open_pull({"README.md": "Another product.\n"})
    assert pull.run_check() == 0
    assert states(github, pull.change.head) == ["success"]


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
    open_pull: Open, github: FakeGithub, left: list[str], context: str, expected: list[str]
) -> None:
    pull = open_pull({"README.md": "Another product.\n"})
    github.statuses += [FakeStatus(BEFORE, state, context, "Testing", RUN) for state in left]
    assert pull.run_check({"before": BEFORE}) == 0
    assert states(github, BEFORE) == expected
    if expected[-1:] == ["error"]:
        assert "replaced by a push" in (github.statuses[-1].description or "")
        assert github.statuses[-1].target_url == RUN


def test_a_status_that_cannot_be_read_changes_no_verdict(
    open_pull: Open, github: FakeGithub, capsys: pytest.CaptureFixture[str]
) -> None:
    pull = open_pull({PROMPT: HARMLESS})
    github.faults.append(Fault("GET", rf"{BEFORE}/statuses", status=403))
    assert pull.run_check({"before": BEFORE}) == 0
    assert states(github, pull.change.head) == ["pending", "success"]
    assert "could not read the commit statuses" in capsys.readouterr().out


def test_no_statuses_are_read_if_none_are_set(open_pull: Open, github: FakeGithub) -> None:
    pull = open_pull({PROMPT: HARMLESS})
    assert pull.run_check({"before": BEFORE}, status_context="") == 0
    assert not [request for request in github.requests if "/statuses" in request]
