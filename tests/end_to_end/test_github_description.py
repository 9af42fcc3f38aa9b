"""Every call of the gate to GitHub is one that GitHub's own description allows."""

from __future__ import annotations

import pytest
from support.github_reviews import FakeFile
from support.github_server import BOT, FakeGithub, Fault

from gatekeeper.action.github.check_runs import CheckRun
from gatekeeper.action.github.client import PullRequestApi
from gatekeeper.action.github.comments import CheckedCommit, publish_comment
from gatekeeper.action.github.repository import RepositoryApi
from gatekeeper.action.github.review_comments import publish_suggestions
from gatekeeper.action.github.workflow_step import Annotation
from gatekeeper.action.publish import publish_status
from gatekeeper.errors import PublishError
from gatekeeper.reports.markdown.revert import Suggestion

pytestmark = pytest.mark.container

SHA = "a" * 40
MARK = "<!-- gatekeeper:x -->"


@pytest.fixture
def api(github: FakeGithub) -> RepositoryApi:
    github.pull_request(7, SHA)
    return RepositoryApi(
        "ghs_0123456789",
        "octo/prompts",
        github.public_url,
        sleep=lambda _: None,
        seconds_between_writes=0,
    )


def test_comment_and_status(github: FakeGithub, api: PullRequestApi) -> None:
    for n in range(130):
        github.comment(7, f"chat {n}")
    for text in ("one", "two"):
        publish_comment(api, CheckedCommit(7, SHA, "fail", True), text, mode="always", marker=MARK)
    publish_status(api, SHA, 1, "Do not merge", context="gate", target_url="https://x.invalid/1")
    own = [comment for comment in github.comments[7] if comment.author == BOT]
    assert [(comment.edits, comment.body[-3:]) for comment in own] == [(1, "two")]
    assert github.statuses[0].state == "failure"


def test_a_comment_that_github_would_refuse_is_refused(
    github: FakeGithub, api: PullRequestApi
) -> None:
    with pytest.raises(PublishError, match="422"):
        api.create_comment(7, MARK, "x" * 70_000)
    assert github.comments[7] == []


def test_a_check_run(github: FakeGithub, api: RepositoryApi) -> None:
    found = tuple(Annotation("error", "t", "m", "p.md", line) for line in range(1, 121))
    text = "## ❌ Do not merge"
    github.faults += [Fault("POST", "check-runs$", "lost"), Fault("PATCH", "check-runs", "lost")]
    api.publish_check_run(CheckRun("gate/details", SHA, False, "x", text, None, found))
    assert [len(run.annotations) for run in github.check_runs] == [120]


def test_suggestions(github: FakeGithub, api: RepositoryApi) -> None:
    github.files[7] = [FakeFile("p.md", "f" * 40, "@@ -1,3 +1,3 @@\n a\n-b\n+c\n d")]
    for first, text in ((1, "one"), (2, "one"), (2, "two")):
        wanted = Suggestion("p.md", first, 2, "f" * 40, text)
        assert publish_suggestions(api, 7, SHA, MARK, [wanted])
    assert [(c.start_line, c.line, c.edits) for c in github.reviews[7]] == [(None, 2, 1)]
    assert not publish_suggestions(api, 7, SHA, MARK, [])
    assert github.reviews[7] == []
