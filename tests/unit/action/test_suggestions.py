"""The comment and the suggestion on the lines agree on where the revert is shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.github_reviews import FakeFile
from support.github_server import FakeGithub, Fault

from gatekeeper.action.events import CheckPullRequest
from gatekeeper.action.github.repository import RepositoryApi
from gatekeeper.action.inputs import ActionInputs
from gatekeeper.action.publish import Answer, deliver
from gatekeeper.reports.markdown.revert import Suggestion
from gatekeeper.reports.markers import suggestion_marker

SHA, NEWER, PATH = "a" * 40, "b" * 40, "prompts/a.md"
MARK = suggestion_marker("gatekeeper")
SUGGESTION = Suggestion(PATH, 2, 2, "f" * 40, "why")
HARMFUL = Answer(
    "fail",
    1,
    "title",
    "with diff",
    "summary",
    True,
    (),
    {},
    suggestions=(SUGGESTION,),
    comment_on_suggestions="where",
)
HARMLESS = Answer("pass", 0, "title", "fine", "summary", True, (), {})


@pytest.fixture
def github() -> Iterator[FakeGithub]:
    with FakeGithub() as fake:
        fake.pull_request(7, SHA)
        fake.files[7] = [FakeFile(PATH, "f" * 40, "@@ -1,2 +1,2 @@\n a\n-b\n+c")]
        yield fake


def publish(github: FakeGithub, answer: Answer, sha: str = SHA, mode: str = "changes") -> str:
    """Deliver the answer, and return the last line of the comment."""
    token, name = "ghs_token", "octo/prompts"
    api = RepositoryApi(token, name, github.url, sleep=lambda _: None, seconds_between_writes=0)
    event, workspace = Path("event"), Path("workspace")
    settings = ActionInputs("pull_request", event, workspace, name, token=token, comment=mode)  # type: ignore[arg-type]
    settings = replace(settings, status_context="")
    activity = CheckPullRequest(7, "c" * 40, sha, None, True)
    assert deliver(answer, settings, activity, api) == answer.exit_code
    comments = github.comments[7]
    return comments[0].body.rpartition("\n")[2] if comments else ""


def test_the_comment_refers_to_a_suggestion_until_it_is_withdrawn(github: FakeGithub) -> None:
    assert publish(github, HARMFUL) == "where"
    assert [c.body for c in github.reviews[7]] == [f"{MARK}\nwhy"]
    assert MARK in github.comments[7][0].body
    assert publish(github, HARMLESS) == "fine"
    assert github.reviews[7] == []
    assert MARK not in github.comments[7][0].body
    before = len(github.requests)
    assert publish(github, HARMLESS) == "fine"
    assert not any("/pulls/7/comments" in request for request in github.requests[before:])


@pytest.mark.parametrize("patch", [None, "@@ -9 +9 @@\n-b\n+c"])
def test_lines_outside_the_diff_leave_the_revert_in_the_comment(
    github: FakeGithub, patch: str | None
) -> None:
    github.files[7][0].patch = patch
    assert publish(github, HARMFUL) == "with diff"
    assert github.reviews.get(7, []) == []


def test_a_refused_suggestion_is_a_warning_and_the_revert_is_in_the_comment(
    github: FakeGithub, capsys: pytest.CaptureFixture[str]
) -> None:
    github.faults.append(Fault("POST", "/pulls/7/comments", status=422, message="no"))
    assert publish(github, HARMFUL) == "with diff"
    assert "::warning" in capsys.readouterr().out
    # Some suggestions may have been posted, so the next run looks for them.
    assert publish(github, HARMFUL) == "where"


def test_a_read_only_token_leaves_the_revert_to_the_summary(
    github: FakeGithub, capsys: pytest.CaptureFixture[str]
) -> None:
    github.read_only = True
    assert publish(github, HARMFUL) == ""
    assert github.reviews.get(7, []) == []
    assert capsys.readouterr().out.count("::warning") == 2


def test_an_older_commit_is_not_suggested_on(github: FakeGithub) -> None:
    publish(github, HARMFUL)
    github.pull_request(7, NEWER)
    assert publish(github, replace(HARMFUL, suggestions=())) == "with diff"
    assert len(github.reviews[7]) == 1
    assert MARK in github.comments[7][0].body
    github.comments[7].clear()
    assert publish(github, replace(HARMFUL, suggestions=(replace(SUGGESTION, text="x"),)))
    assert [c.body for c in github.reviews[7]] == [f"{MARK}\nwhy"]


def test_without_a_comment_there_is_no_suggestion(github: FakeGithub) -> None:
    assert publish(github, HARMFUL, mode="off") == ""
    assert github.requests == []
