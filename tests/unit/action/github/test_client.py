"""What is asked of GitHub, and when it is asked again. Against a GitHub on 127.0.0.1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from support.github_server import BOT, FakeGithub, Fault

from gatekeeper.action.github.client import PullRequestApi, advice, seconds_to_wait
from gatekeeper.errors import PublishError

SHA = "a" * 40
JOB_TOKEN = "ghs_0123456789"
MARK = "<!-- gatekeeper:x -->"
COMMENTS = "/repos/octo/prompts/issues/7/comments"


@pytest.fixture
def github() -> Iterator[FakeGithub]:
    with FakeGithub() as fake:
        fake.pull_request(7, SHA)
        yield fake


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def api(github: FakeGithub, waits: list[float]) -> PullRequestApi:
    return connect(github, waits)


def connect(github: FakeGithub, waits: list[float], token: str = JOB_TOKEN) -> PullRequestApi:
    return PullRequestApi(
        token, "octo/prompts", github.url, sleep=waits.append, seconds_between_writes=0
    )


def test_the_head_is_read_anew_each_time(github: FakeGithub, api: PullRequestApi) -> None:
    assert api.head_sha(7) == SHA
    github.pull_request(7, "b" * 40)
    assert api.head_sha(7) == "b" * 40


def test_a_comment_is_created_found_and_updated(github: FakeGithub, api: PullRequestApi) -> None:
    assert api.find_comment(7, MARK) is None
    created = api.create_comment(7, MARK, f"{MARK} one")
    found = api.find_comment(7, MARK)
    assert found == created
    assert api.update_comment(found, f"{MARK} two").body == f"{MARK} two"
    assert [(c.body, c.edits) for c in github.comments[7]] == [(f"{MARK} two", 1)]


def test_it_is_found_behind_hundreds_of_others(github: FakeGithub, api: PullRequestApi) -> None:
    for n in range(230):
        github.comment(7, f"chat {n}")
    own = github.comment(7, MARK, BOT)
    found = api.find_comment(7, MARK)
    assert found is not None
    assert found.id == own.id
    assert github.requests.count(f"GET {COMMENTS}") == 3


@pytest.mark.parametrize("author", ["octocat", "dependabot[bot]", "github-actions", None])
def test_a_forged_marker_is_not_ours(
    github: FakeGithub, api: PullRequestApi, author: str | None
) -> None:
    github.comment(7, MARK, author)
    assert api.find_comment(7, MARK) is None


def test_an_app_knows_its_own_comments(github: FakeGithub, api: PullRequestApi) -> None:
    github.viewer = "our-app"
    own = github.comment(7, MARK, "our-app[bot]")
    found = api.find_comment(7, MARK)
    assert found is not None
    assert found.id == own.id


def test_a_person_token_knows_its_own_comments(github: FakeGithub, waits: list[float]) -> None:
    github.login = "robot-account"
    github.comment(7, MARK, "octocat")
    own = github.comment(7, MARK, "robot-account")
    found = connect(github, waits, "ghp_0123456789").find_comment(7, MARK)
    assert found is not None
    assert found.id == own.id
    assert github.requests.count("GET /user") == 1


def test_who_may_not_ask_for_its_name_is_the_jobs_account(
    github: FakeGithub, waits: list[float]
) -> None:
    github.comment(7, MARK, "octocat")
    assert connect(github, waits, "github_pat_01234").find_comment(7, MARK) is None


def test_a_status_says_what_it_is_told(github: FakeGithub, api: PullRequestApi) -> None:
    api.set_status(SHA, "success", "gate", "fine", "https://example.invalid/run")
    api.set_status(SHA, "error", "gate", "hm", None)
    assert [(s.state, s.description, s.target_url) for s in github.statuses] == [
        ("success", "fine", "https://example.invalid/run"),
        ("error", "hm", None),
    ]


def create(api: PullRequestApi) -> object:
    return api.create_comment(7, MARK, MARK)


def find(api: PullRequestApi) -> object:
    return api.find_comment(7, MARK)


def head(api: PullRequestApi) -> object:
    return api.head_sha(7)


def status(api: PullRequestApi) -> object:
    return api.set_status(SHA, "success", "gate", "fine", None)


def update(api: PullRequestApi) -> object:
    found = api.find_comment(7, MARK)
    assert found is not None
    return api.update_comment(found, f"{MARK} new")


CALLS = [
    (create, "POST", "/comments"),
    (update, "PATCH", "/comments/"),
    (find, "GET", "/comments"),
    (head, "GET", "/pulls/"),
    (status, "POST", "/statuses/"),
]


@pytest.mark.parametrize(("call", "method", "path"), CALLS)
@pytest.mark.parametrize(
    ("fault", "waited"),
    [
        ({"status": 500}, [1.0]),
        ({"status": 502, "times": 3}, [1.0, 4.0, 10.0]),
        ({"status": 429}, [60.0]),
        ({"status": 429, "headers": {"Retry-After": "7"}}, [7.0]),
        ({"status": 403, "headers": {"Retry-After": "2"}}, [2.0]),
        ({"status": 403, "message": "You have exceeded a secondary rate limit"}, [60.0]),
        ({"kind": "close"}, [1.0]),
        ({"kind": "lost"}, [1.0]),
    ],
)
def test_what_may_pass_is_tried_again(
    github: FakeGithub,
    api: PullRequestApi,
    waits: list[float],
    call: Callable[[PullRequestApi], object],
    method: str,
    path: str,
    fault: dict[str, object],
    waited: list[float],
) -> None:
    if call is update:
        github.comment(7, MARK, BOT)
    github.faults.append(Fault(method, path, **fault))  # type: ignore[arg-type]
    call(api)
    assert waits == waited
    assert len(github.comments[7]) == (1 if call in (create, update) else 0)


@pytest.mark.parametrize(("call", "method", "path"), CALLS)
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"status": 401, "message": "Bad credentials"}, "check the input `token`"),
        ({"status": 403, "message": "Resource not accessible"}, "permissions"),
        ({"status": 404, "message": "Not Found"}, "not found"),
        ({"status": 422, "message": "Validation Failed"}, "Validation Failed"),
    ],
)
def test_what_cannot_pass_is_told_at_once(
    github: FakeGithub,
    api: PullRequestApi,
    waits: list[float],
    call: Callable[[PullRequestApi], object],
    method: str,
    path: str,
    fault: dict[str, object],
    said: str,
) -> None:
    if call is update:
        github.comment(7, MARK, BOT)
    github.faults.append(Fault(method, path, **fault))  # type: ignore[arg-type]
    with pytest.raises(PublishError, match=said):
        call(api)
    assert waits == []


def test_there_is_an_end_to_trying(
    github: FakeGithub, api: PullRequestApi, waits: list[float]
) -> None:
    github.faults.append(Fault("POST", "/comments", status=503, times=99))
    with pytest.raises(PublishError, match="GitHub has a problem"):
        create(api)
    assert waits == [1.0, 4.0, 10.0]


def test_nobody_waits_for_an_hour(
    github: FakeGithub, api: PullRequestApi, waits: list[float]
) -> None:
    github.faults.append(Fault("GET", "/comments", status=429, headers={"Retry-After": "3000"}))
    with pytest.raises(PublishError, match="rate limit"):
        find(api)
    assert waits == []


def test_a_lost_answer_makes_no_second_comment(
    github: FakeGithub, api: PullRequestApi, waits: list[float]
) -> None:
    github.faults.append(Fault("POST", "/comments", kind="lost"))
    created = api.create_comment(7, MARK, f"{MARK} text")
    assert [c.body for c in github.comments[7]] == [f"{MARK} text"]
    assert created.id == github.comments[7][0].id


def test_a_comment_made_meanwhile_is_brought_up_to_date(
    github: FakeGithub, api: PullRequestApi
) -> None:
    github.comment(7, f"{MARK} by another job", BOT)
    github.faults.append(Fault("POST", "/comments", kind="close"))
    api.create_comment(7, MARK, f"{MARK} text")
    assert [c.body for c in github.comments[7]] == [f"{MARK} text"]


def test_no_server_is_said_so(waits: list[float]) -> None:
    api = PullRequestApi("", "o/r", "http://127.0.0.1:9", sleep=waits.append)
    with pytest.raises(PublishError, match=r"no answer from http://127\.0\.0\.1:9"):
        api.head_sha(7)
    assert waits == [1.0, 4.0, 10.0]


def test_an_answer_that_leads_elsewhere_is_not_followed(
    github: FakeGithub, api: PullRequestApi
) -> None:
    github.public_url = "https://evil.invalid"
    for n in range(101):
        github.comment(7, f"chat {n}")
    with pytest.raises(PublishError, match="not GitHub's API"):
        find(api)


def test_a_trouble_while_asking_for_the_name_is_not_taken_for_a_refusal(
    github: FakeGithub, waits: list[float]
) -> None:
    github.login = "me"
    own = github.comment(7, MARK, "me")
    github.faults.append(Fault("GET", "/user", status=500))
    found = connect(github, waits, "ghp_0123456789").find_comment(7, MARK)
    assert found is not None
    assert found.id == own.id
    assert waits == [1.0]


NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_primary_limit_is_waited_for_until_its_reset() -> None:
    reset = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW.timestamp()) + 20)}
    assert seconds_to_wait(403, reset, "API rate limit exceeded", 1.0, NOW) == 21.0
    assert seconds_to_wait(429, reset, "", 30.0, NOW) == 30.0
    assert seconds_to_wait(403, {}, "Forbidden", 1.0, NOW) is None
    assert seconds_to_wait(500, {}, "", None, NOW) is None


def test_advice_names_the_permission() -> None:
    assert "statuses: write" in advice(403, "Resource not accessible", "statuses: write")
    assert "rate limit" in advice(429, "", "x")
