"""What a pull request shows while its test runs, and what a run that was killed leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.github_server import FakeGithub, Fault
from support.terminal_stream import SetClock

from gatekeeper.action.events import CheckMergeGroup, CheckPullRequest
from gatekeeper.action.github.client import PullRequestApi
from gatekeeper.action.github.comments import COMMENT_LIMIT, CheckedCommit, publish_comment
from gatekeeper.action.inputs import ActionInputs
from gatekeeper.action.waiting.progress import PublishedProgress
from gatekeeper.gate.measuring.monitor import ContractProgress
from gatekeeper.reports.markers import comment_marker

HEAD, NEWER, BASE = "a" * 40, "b" * 40, "c" * 40
MARK = comment_marker("gatekeeper")
PULL = CheckPullRequest(7, BASE, HEAD, None, same_repository=True)
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


class Follower:
    """A run that is followed; `at` makes one call end so many seconds after its start."""

    def __init__(self, github: FakeGithub, activity: CheckPullRequest | CheckMergeGroup) -> None:
        self.api = PullRequestApi(
            "ghs_0123456789", "octo/prompts", github.url, sleep=_no_pause, seconds_between_writes=0
        )
        self.activity = activity
        self.clock = SetClock()
        self._began = self.clock.now

    def start(self, minutes: float | None = 20, **inputs: str) -> Follower:
        settings = ActionInputs(
            "pull_request", Path(), Path(), "octo/prompts", run_url="https://ci.invalid/1", **inputs
        )
        self.progress = PublishedProgress(
            settings,
            self.api,
            self.activity,
            minutes,
            clock=self.clock,
            now=lambda: NOON,
        )
        self.progress.started(400, lambda: (ContractProgress("<!-- @octocat | [x](y)", 10, 400),))
        return self._settle()

    def at(self, seconds: float) -> Follower:
        self.clock.now = self._began + seconds
        self.progress.advanced(cost_usd=0.01)
        return self._settle()

    def _settle(self) -> Follower:
        """Wait for what the thread was told, but for no time."""
        self.progress._thread.submit(len, ()).result()
        return self


def _no_pause(_: float) -> None:
    raise AssertionError("progress waits for nothing")


Follow = Callable[..., Follower]


@pytest.fixture
def follow(github: FakeGithub) -> Follow:
    github.pull_request(7, HEAD)
    return lambda activity=PULL: Follower(github, activity)


def bodies(github: FakeGithub) -> list[tuple[str, int]]:
    return [(comment.body, comment.edits) for comment in github.comments[7]]


def test_a_status_is_pending_until_a_time_that_it_names(github: FakeGithub, follow: Follow) -> None:
    follow().start()
    (status,) = github.statuses
    assert (status.sha, status.state, status.target_url) == (
        HEAD,
        "pending",
        "https://ci.invalid/1",
    )
    assert status.description == (
        "Testing since 2026-05-04 12:00 UTC. If this is still pending at 2026-05-04 12:30 UTC, the "
        "run has died: run the job again."
    )


@pytest.mark.parametrize(("minutes", "until"), [(None, "18:10"), (0.5, "12:10"), (90, "13:40")])
def test_the_time_is_that_of_the_policy(
    github: FakeGithub, follow: Follow, minutes: float | None, until: str
) -> None:
    follow().start(minutes)
    assert f"pending at 2026-05-04 {until} UTC" in (github.statuses[0].description or "")


def test_a_comment_is_written_after_a_minute_and_every_half_minute(
    github: FakeGithub, follow: Follow
) -> None:
    run = follow().start()
    for seconds in (1, 30, 59.9):
        run.at(seconds)
    assert bodies(github) == []
    run.at(61)
    ((body, edits),) = bodies(github)
    assert body.startswith(f"{MARK}\n<!-- gatekeeper-progress -->\n> [!NOTE]\n> ⏳ ")
    assert f"<!-- gatekeeper-head:{HEAD} -->\n" in body
    assert "⏳ **[Testing `aaaaaaaaaa`](https://ci.invalid/1)**: 4 of 400 calls" in body
    assert "cost 0.040 USD" in body
    assert "If it is still here at 2026-05-04 12:30 UTC, the run has died" in body
    # The name of a contract is text of the pull request.
    assert not any(raw in body for raw in ("@octocat", "[x](y)", "<!-- @"))
    run.at(75).at(90.9)
    assert bodies(github)[0][1] == edits == 0
    run.at(91)
    ((body, edits),) = bodies(github)
    assert edits == 1
    assert "7 of 400 calls" in body
    assert body.count("⏳") == 1


@pytest.mark.long
def test_a_run_of_hours_writes_ever_more_rarely(github: FakeGithub, follow: Follow) -> None:
    run = follow().start()
    for seconds in range(61, 7200, 10):
        run.at(seconds)
    (comment,) = github.comments[7]
    # Once every half minute for ten minutes, then 20 times for each tripling or so of the time.
    assert 60 < comment.edits < 80


def test_the_last_result_stays_below_and_the_next_replaces_both(
    github: FakeGithub, follow: Follow
) -> None:
    run = follow()
    quick = PullRequestApi("ghs_0", "octo/prompts", github.url, seconds_between_writes=0)
    old = CheckedCommit(7, NEWER, "fail", newsworthy=True)
    publish_comment(quick, old, "## ❌ Do not merge\n\n<!-- more -->", mode="changes", marker=MARK)
    before = github.comments[7][0].body
    run.start().at(61).at(100)
    body = github.comments[7][0].body
    assert body.startswith(f"{MARK}\n<!-- gatekeeper-progress -->\n> [!NOTE]\n> ⏳ ")
    # Everything that a later run reads in the comment is still there.
    assert [line for line in before.splitlines() if line not in body.splitlines()] == []
    run.progress.finished()
    new = CheckedCommit(7, HEAD, "pass", newsworthy=True)
    publish_comment(quick, new, "## ✅ May merge", mode="changes", marker=MARK)
    body = github.comments[7][0].body
    assert "May merge" in body
    assert not any(gone in body for gone in ("⏳", "progress", "Do not merge"))


def test_a_long_result_is_cut_to_make_room(github: FakeGithub, follow: Follow) -> None:
    run = follow()
    github.comment(7, f"{MARK}\n{'x' * (COMMENT_LIMIT - len(MARK) - 1)}", "github-actions[bot]")
    run.start().at(61)
    ((body, edits),) = bodies(github)
    assert (edits, len(body)) == (1, COMMENT_LIMIT)


@pytest.mark.parametrize(
    ("comment", "known", "written"),
    [
        ("off", True, False),
        ("failures", False, False),
        ("failures", True, True),
        ("always", False, True),
        ("changes", False, True),
    ],
)
def test_the_mode_of_the_comment_holds(
    github: FakeGithub, follow: Follow, comment: str, known: bool, written: bool
) -> None:
    run = follow()
    if known:
        github.comment(7, f"{MARK}\n## ❌", "github-actions[bot]")
    run.start(comment=comment).at(61)
    assert any("⏳" in body for body, _ in bodies(github)) == written


def test_strangers_comments_and_newer_pushes_are_left_alone(
    github: FakeGithub, follow: Follow
) -> None:
    run = follow()
    github.comment(7, f"{MARK}\nmine", "octocat")
    run.start().at(61)
    assert [edits for _, edits in bodies(github)] == [0, 0]
    github.pull_request(7, NEWER)
    run.at(100)
    assert "5 of" not in bodies(github)[1][0]
    assert bodies(github)[1][1] == 0


def test_a_merge_group_has_a_status_and_no_comment(github: FakeGithub, follow: Follow) -> None:
    follow(CheckMergeGroup(BASE, HEAD, 7)).start().at(61)
    assert [status.state for status in github.statuses] == ["pending"]
    assert bodies(github) == []


@pytest.mark.parametrize(
    "fault",
    [
        Fault("GET", "/pulls/7", status=403, message="API rate limit exceeded", times=9),
        Fault("POST", "/comments", status=429, headers={"Retry-After": "60"}, times=9),
        Fault("GET", "/comments", status=500, times=9),
        Fault("POST", "/comments", kind="close", times=9),
    ],
    ids=["limit", "later", "broken", "gone"],
)
def test_a_refused_comment_is_the_last_and_nobody_waits(
    github: FakeGithub, follow: Follow, fault: Fault
) -> None:
    github.faults.append(fault)
    run = follow().start().at(61)
    asked = len(github.requests)
    run.at(100).at(200).progress.finished()
    assert len(github.requests) == asked
    assert bodies(github) == []


def test_without_the_permission_for_a_status_the_comment_is_still_written(
    github: FakeGithub, follow: Follow
) -> None:
    github.faults.append(Fault("POST", "/statuses/", status=403, times=9))
    follow().start().at(61)
    assert (github.statuses, len(bodies(github))) == ([], 1)


def test_nothing_is_written_after_the_end(github: FakeGithub, follow: Follow) -> None:
    run = follow().start().at(61)
    run.progress.finished()
    asked = len(github.requests)
    run.progress.finished()
    assert len(github.requests) == asked


def test_without_a_name_there_is_no_status(github: FakeGithub, follow: Follow) -> None:
    follow().start(status_context="")
    assert github.statuses == []
