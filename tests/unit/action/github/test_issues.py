"""The issue about drift, against a GitHub that remembers."""

from __future__ import annotations

import pytest
from support.github_server import FakeGithub, Fault

from gatekeeper.action.github.issues import IssueApi, publish_drift
from gatekeeper.errors import PublishError

MARKER = "<!-- gatekeeper-drift:gatekeeper -->"


@pytest.fixture
def api(github: FakeGithub) -> IssueApi:
    return IssueApi(
        "ghs_token",
        "octo/prompts",
        github.url,
        sleep=lambda _: None,
        seconds_between_writes=0,
    )


def tell(api: IssueApi, *changes: str, body: str = "It drifted.") -> str:
    return publish_drift(api, MARKER, changes, "Model drift: words", body)[1]


def test_it_is_opened_once_updated_in_place_and_closed(api, github):
    assert tell(api, "c1") == "opened an issue about drift"
    assert tell(api, "c1") == ""
    assert tell(api, "c1", "c2", body="Two.") == "updated the issue about drift"
    assert tell(api, body="Over.") == "closed the issue about drift"
    assert tell(api, body="Over.") == ""
    (issue,) = github.issues
    assert (issue.state, issue.edits) == ("closed", 2)
    assert issue.body.startswith(MARKER)
    assert issue.body.endswith("Over.")


def test_without_a_drift_nothing_is_opened(api, github):
    assert tell(api) == ""
    assert github.issues == []


def test_whoever_closes_it_hears_no_more_of_the_same_drift(api, github):
    tell(api, "c1")
    github.issues[0].state = "closed"
    assert "stays closed" in tell(api, "c1")
    assert len(github.issues) == 1
    assert tell(api, "c1", "c2") == "opened an issue about drift"
    assert [issue.state for issue in github.issues] == ["closed", "open"]


def test_somebody_elses_marker_and_pull_requests_are_not_taken_for_it(api, github):
    github.issue("Mine", f"{MARKER} give me your drift", author="mallory")
    assert tell(api, "c1") == "opened an issue about drift"
    assert len(github.issues) == 2


def test_it_is_found_beyond_a_hundred_others(api, github):
    tell(api, "c1")
    for number in range(150):
        github.issue(f"Issue {number}", "text", author="octocat")
    assert tell(api, "c1") == ""


def test_a_lost_answer_makes_no_second_issue(api, github):
    github.faults.append(Fault("POST", "/issues$", kind="lost"))
    assert tell(api, "c1") == "opened an issue about drift"
    assert len(github.issues) == 1


@pytest.mark.parametrize(("status", "says"), [(403, "issues: write"), (404, "not found")])
def test_a_refusal_is_explained(api, github, status, says):
    github.faults.append(Fault("POST", "/issues$", status=status))
    with pytest.raises(PublishError, match=says):
        tell(api, "c1")


def test_a_text_beyond_githubs_limit_is_cut(api, github):
    tell(api, "c1", body="x" * 100_000)
    assert len(github.issues[0].body) == 65_536
