"""What events and commands ask of GitHub is what GitHub's own description allows."""

from __future__ import annotations

import pytest
from support.github_objects import FakeRun
from support.github_server import BOT, FakeGithub

from gatekeeper.action.github.repository import RepositoryApi

pytestmark = pytest.mark.container

SHA, MERGE = "a" * 40, "b" * 40


@pytest.fixture
def api(github: FakeGithub) -> RepositoryApi:
    github.pull_request(7, SHA, head_repository="fork/prompts")
    return RepositoryApi(
        "ghs_0123456789",
        "octo/prompts",
        github.public_url,
        sleep=lambda _: None,
        seconds_between_writes=0,
    )


def test_pull_requests_and_commits(github: FakeGithub, api: RepositoryApi) -> None:
    assert api.pull_request(7).head_repository == "fork/prompts"
    github.pull_request(8, "c" * 40, merge_sha=MERGE, state="closed")
    assert [state.number for state in api.merged_as(MERGE)] == [8]
    github.refs["heads/main"] = MERGE
    assert api.commit_sha("heads/main") == MERGE


def test_people_comments_and_reactions(github: FakeGithub, api: RepositoryApi) -> None:
    github.roles["octocat"] = "maintain"
    assert (api.role("octocat"), api.role("stranger")) == ("maintain", "none")
    comment = github.comment(7, "<!-- x --> text", BOT)
    (remark,) = api.comments(7, "<!-- x -->")
    assert remark.own
    for reaction in ("eyes", "rocket", "confused", "-1"):
        api.react(7, comment.id, reaction)
    assert github.reactions[comment.id] == ["eyes", "rocket", "confused", "-1"]


@pytest.mark.parametrize("conclusion", ["failure", "success"])
def test_the_run_of_a_status_runs_again(
    github: FakeGithub, api: RepositoryApi, conclusion: str
) -> None:
    github.runs.append(FakeRun(3, SHA, conclusion=conclusion))
    address = "https://github.com/octo/prompts/actions/runs/3"
    api.set_status(SHA, "failure", "gatekeeper/verdict", "Do not merge", address)
    assert api.run_of_status(SHA, "gatekeeper/verdict") == 3
    assert [run.id for run in api.workflow_runs(SHA)] == [3]
    api.rerun(api.workflow_run(3))
    assert github.runs[0].reruns == ["rerun" if conclusion == "success" else "rerun-failed-jobs"]
    assert api.workflow_run(3).conclusion is None


def test_a_forks_pull_request_is_looked_up(api: RepositoryApi) -> None:
    (found,) = api.open_pull_requests("fork/prompts", "change")
    assert found.number == 7
