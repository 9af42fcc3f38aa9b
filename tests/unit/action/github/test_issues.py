"""The issue about drift, against a GitHub that remembers."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from support.github_server import FakeGithub, Fault
from support.past_runs import STARTED, record

from gatekeeper.action.github.issues import IssueApi, publish_issue
from gatekeeper.errors import PublishError
from gatekeeper.providers.models import retirement
from gatekeeper.providers.models.retirement import Retirement
from gatekeeper.reports.described import nights
from gatekeeper.reports.markers import issue_marker

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
    return publish_issue(api, MARKER, changes, "Model drift: words", body)[1]


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


def test_thirty_nights_with_a_model_that_retires(api, github, monkeypatch):
    end = date(2027, 1, 14)
    retiring = Retirement("openai/old", end, "openai/new")
    monkeypatch.setattr(nights, "find_retirement", {"openai/old": retiring}.get)
    opened = {}

    def night(day: date, *used: tuple[str, str]) -> None:
        monkeypatch.setattr(retirement, "today", lambda: day)
        before = len(github.issues)
        for found in nights.retirement_issues(used):
            own = issue_marker("gatekeeper", found.kind)
            publish_issue(api, own, found.changes, found.title, found.body, found.about)
        if len(github.issues) > before:
            opened[(end - day).days] = github.issues[-1]

    uses = [("openai/old", "tag"), ("openai/old", "mail"), ("openai/other", "mail")]
    for number in range(30):
        night(end - timedelta(days=93 - 3 * number), *uses)
    assert [*opened] == [90, 30, 6]
    assert [issue.state for issue in opened.values()] == ["closed", "closed", "open"]
    last = opened[6]
    assert last.title == "Model retires on 2027-01-14: openai/old"
    assert "| `openai/old` | 2027-01-14 | tag, mail | `openai/new` |" in last.body
    assert "gatekeeper migrate --to" in last.body
    # Every night says the same, also after the end.
    night(end + timedelta(days=3), *uses)
    assert last.edits == 0
    # Whoever closes it hears no more of it, and a migration closes it.
    last.state = "closed"
    night(end + timedelta(days=4), *uses)
    assert len(github.issues) == 3
    last.state = "open"
    night(end + timedelta(days=5), ("openai/new", "tag"), ("openai/other", "mail"))
    assert last.state == "closed"


def test_two_models_share_the_issue_of_their_stage(api, github, monkeypatch):
    ends = {n: Retirement(n, date(2027, 1, 14), None) for n in ("openai/a|b", "openai/@c")}
    monkeypatch.setattr(nights, "find_retirement", ends.get)
    monkeypatch.setattr(retirement, "today", lambda: date(2027, 1, 10))
    found = nights.retirement_issues([(name, "t") for name in ends])
    (due,) = [issue for issue in found if issue.changes]
    assert (due.kind, len(due.changes)) == ("retires-7", 2)
    assert due.title.endswith(" and 1 more")
    assert due.body.count(" | 2027-01-14 | t | ") == 2


def test_a_contract_that_never_was_measured_is_not_counted() -> None:
    now = STARTED + timedelta(days=3)
    lost = {"tag": "HTTP 410 | gone", "new": "x"}
    (found, early) = (
        nights.unmeasured_issue(lost, [record()], now - timedelta(hours=h)) for h in (0, 13)
    )
    assert not early.changes
    assert len(found.changes) == len(found.news) == 1
    assert "| `tag` | `openai/gpt-4o-mini` | 2026-11-03 | HTTP 410 " in found.body
    assert "new" not in found.title
