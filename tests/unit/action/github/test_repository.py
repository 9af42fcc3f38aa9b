"""What else GitHub is asked, and what is made of its answers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.github_objects import FakeRun, FakeStatus
from support.github_server import BOT, FakeGithub, Fault

from gatekeeper.action.github.repository import ROLES, RepositoryApi, enough
from gatekeeper.errors import PublishError

SHA = "a" * 40
CONTEXT = "gatekeeper/verdict"


@pytest.fixture
def github() -> Iterator[FakeGithub]:
    with FakeGithub() as fake:
        fake.pull_request(7, SHA)
        yield fake


@pytest.fixture
def api(github: FakeGithub) -> RepositoryApi:
    return RepositoryApi(
        "ghs_0123456789",
        "octo/prompts",
        github.url,
        sleep=lambda _: None,
        seconds_between_writes=0,
    )


@pytest.mark.parametrize(
    ("known", "role"),
    [
        ("admin", "admin"),
        ("maintain", "maintain"),
        ("write", "write"),
        ("triage", "triage"),
        ("read", "read"),
        ("none", "none"),
        ("prompt-owners:write", "write"),
        ("strange:strange", "none"),
        (None, "none"),
    ],
)
def test_a_role_is_one_of_githubs_own(
    github: FakeGithub, api: RepositoryApi, known: str | None, role: str
) -> None:
    if known:
        github.roles["octo cat"] = known
    assert api.role("octo cat") == role


def test_a_refusal_is_no_role(github: FakeGithub, api: RepositoryApi) -> None:
    github.faults.append(Fault("GET", "/collaborators/", status=403, message="no"))
    with pytest.raises(PublishError, match="could not read the role of octocat"):
        api.role("octocat")


def test_roles_are_ordered() -> None:
    for wanted, role in enumerate(ROLES):
        assert [enough(other, role) for other in ROLES] == [n >= wanted for n in range(len(ROLES))]
    assert not enough("owner", "read")


def test_a_pull_request_of_a_fork_that_is_gone(github: FakeGithub, api: RepositoryApi) -> None:
    github.pulls[7].head_repository = None
    state = api.pull_request(7)
    assert (state.head_repository, state.base_repository) == (None, "octo/prompts")
    assert state.is_open
    assert api.open_pull_requests("fork/prompts", "change") == ()


def test_only_what_a_merge_made_is_merged(github: FakeGithub, api: RepositoryApi) -> None:
    merge = "b" * 40
    github.pull_request(8, "c" * 40, merge_sha=merge, state="closed")
    github.pull_request(9, merge, state="closed")
    github.pull_request(10, "d" * 40, merge_sha=merge)
    assert [state.number for state in api.merged_as(merge)] == [8]


def test_a_ref_becomes_a_commit(github: FakeGithub, api: RepositoryApi) -> None:
    github.refs["heads/release/1.0 #2"] = SHA
    assert api.commit_sha("heads/release/1.0 #2") == SHA
    with pytest.raises(PublishError, match="find the commit gone"):
        api.commit_sha("gone")


def test_whose_a_comment_is_matters_only_with_the_marker(
    github: FakeGithub, api: RepositoryApi
) -> None:
    for author in (BOT, "octocat", None):
        github.comment(7, "<!-- x --> text", author)
    github.comment(7, "text", BOT)
    remarks = api.comments(7, "<!-- x -->")
    assert [remark.own for remark in remarks] == [True, False, False, False]
    assert [remark.author for remark in remarks] == [BOT, "octocat", None, BOT]


def test_the_run_of_a_status_is_the_gates_own_latest(
    github: FakeGithub, api: RepositoryApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    def status(run: int, context: str = CONTEXT) -> FakeStatus:
        address = f"https://github.com/octo/prompts/actions/runs/{run}"
        return FakeStatus(SHA, "failure", context, "x", address)

    assert api.run_of_status(SHA, CONTEXT) is None
    github.statuses += [status(1), status(2), status(3, "other")]
    assert api.run_of_status(SHA, CONTEXT) == 2
    github.statuses.append(FakeStatus(SHA, "failure", CONTEXT, "x", None))
    assert api.run_of_status(SHA, CONTEXT) is None
    # Somebody else's status of the same name points to a run of their choice.
    monkeypatch.setattr(github, "_author", lambda: "mallory")
    assert api.run_of_status(SHA, CONTEXT) is None


def test_a_run_whose_answer_was_lost_is_not_asked_twice(
    github: FakeGithub, api: RepositoryApi
) -> None:
    github.runs.append(FakeRun(3, SHA))
    github.faults.append(Fault("POST", "/rerun", kind="lost"))
    (run,) = api.workflow_runs(SHA)
    api.rerun(run)
    assert github.runs[0].reruns == ["rerun-failed-jobs"]


def test_a_run_that_was_not_asked_is_asked_again(github: FakeGithub, api: RepositoryApi) -> None:
    github.runs.append(FakeRun(3, SHA, conclusion="success"))
    github.faults.append(Fault("POST", "/rerun", status=502))
    api.rerun(api.workflow_run(3))
    assert github.runs[0].reruns == ["rerun"]


def test_a_reaction_is_put(github: FakeGithub, api: RepositoryApi) -> None:
    api.react(7, 11, "eyes")
    assert github.reactions == {11: ["eyes"]}
