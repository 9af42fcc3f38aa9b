"""Waivers that nobody with the role gave: forged, stolen, replayed, edited, or of lost roles.

The attacker can have another workflow of the same repository, which comments as the same account,
repeat any text on the first line of a comment (`echo`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from support.bot_comments import AFTER, CheckedPull
from support.github_objects import FakeComment, FakeRun
from support.github_server import BOT, FakeGithub, Fault
from support.pull_request import BROKEN, PROMPT

from gatekeeper.action.waivers import Place, waiver_line
from gatekeeper.gate.results.result import Waiver
from gatekeeper.providers.models.keys import waiver_keys
from gatekeeper.reports.markers import WAIVER_MARKER

WAIVE = "/gatekeeper waive sentiment: it is meant"
KEY = "OPENAI_API_KEY"
Open = Callable[..., CheckedPull]


@pytest.fixture
def opened(open_pull: Open) -> Open:
    def make(policy: str = "") -> CheckedPull:
        more = {".github/gatekeeper.yml": policy} if policy else {}
        return open_pull({PROMPT: BROKEN}, more)

    return make


def echo(github: FakeGithub, text: str, number: int = 7) -> FakeComment:
    """Another workflow of the repository repeats the text."""
    return github.comment(number, text, BOT)


def record_of(github: FakeGithub, number: int = 7) -> FakeComment:
    """The comment in which the gate recorded a waiver."""
    return next(c for c in github.comments[number] if c.body.startswith(WAIVER_MARKER))


def forged(
    checked_pull: CheckedPull, comment: FakeComment, place: Place | None = None, **fields: Any
) -> str:
    """A record that claims a command, unsigned unless the place has keys."""
    told: dict[str, Any] = {
        "contract": "sentiment",
        "kind": "waive",
        "author": comment.author,
        "sha": checked_pull.change.head,
        "reason": "it is meant",
        "time": "2026-01-02T03:05:00Z",
    }
    place = place or Place("octo/prompts", 7)
    return waiver_line(Waiver(**told | fields), comment.id, place)


def still_fails(checked_pull: CheckedPull, **inputs: str) -> bool:
    """The gate blocks as if there was no waiver, and says that it saw one."""
    code = checked_pull.run_check(**inputs)
    result = checked_pull.result()
    assert result["contracts"][0]["waiver"] is None
    return code == 1 and any("aiver" in notice for notice in result["notices"])


# The echo


def test_an_echoed_record_of_the_attackers_own_command(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    command = github.comment(7, WAIVE, "stranger")
    assert checked_pull.again(command) == 0
    assert checked_pull.reactions == ["-1"]
    echo(github, forged(checked_pull, command))
    assert still_fails(checked_pull)


def test_an_echoed_record_of_a_maintainers_command_for_another_commit(
    opened: Open, github: FakeGithub
) -> None:
    checked_pull = opened()
    command = github.comment(7, WAIVE, "maintainer")
    echo(github, forged(checked_pull, command))
    assert still_fails(checked_pull)


def test_an_echoed_command_is_nobodys(opened: Open, github: FakeGithub) -> None:
    """The other workflow repeats the command itself, and its account has a role."""
    checked_pull = opened()
    github.roles[BOT] = "admin"
    command = echo(github, WAIVE)
    assert checked_pull.act("issue_comment", _created(command, "Bot")) == 0
    assert github.runs[0].reruns == []
    echo(github, forged(checked_pull, command, _true_place()))
    assert still_fails(checked_pull)


def test_an_app_that_comments_for_a_maintainer_gives_no_command(
    opened: Open, github: FakeGithub
) -> None:
    checked_pull = opened()
    command = github.comment(7, WAIVE, "maintainer")
    command.app = "helper"
    assert checked_pull.act("issue_comment", _created(command, "User", {"slug": "helper"})) == 0
    assert github.runs[0].reruns == []
    echo(github, forged(checked_pull, command, _true_place()))
    assert still_fails(checked_pull)


# Records that the gate did sign, elsewhere or for something else


def test_a_record_copied_from_another_pull_request(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    command = github.comment(7, WAIVE, "maintainer")
    elsewhere = Place("octo/prompts", 8, _true_place().keys)
    echo(github, forged(checked_pull, command, elsewhere))
    assert still_fails(checked_pull)


def test_a_record_copied_from_another_repository(opened: Open, github: FakeGithub) -> None:
    """Of the same organisation, with the same keys."""
    checked_pull = opened()
    command = github.comment(7, WAIVE, "maintainer")
    echo(github, forged(checked_pull, command, Place("octo/other", 7, _true_place().keys)))
    assert still_fails(checked_pull)


@pytest.mark.parametrize(
    "changed",
    [
        {"contract": None},
        {"contract": "other"},
        {"kind": "accept"},
        {"sha": "f" * 40},
        {"time": "2027-01-02T03:05:00Z"},
        {"signatures": []},
        {"signatures": ["0" * 64]},
        {"more": 1},
    ],
)
def test_a_replayed_record_with_a_changed_field(
    opened: Open, github: FakeGithub, changed: Mapping[str, object]
) -> None:
    checked_pull = opened()
    assert checked_pull.say(WAIVE) == 0
    record = record_of(github)
    text = record.body.split("\n")[0].removeprefix(WAIVER_MARKER).removesuffix(" -->")
    changed_text = json.dumps(json.loads(text) | changed)
    github.edit(record, f"{WAIVER_MARKER}{changed_text} -->\nWaived.")
    assert checked_pull.run_check() == 1


def test_a_record_for_an_older_commit(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    command = github.comment(7, WAIVE, "maintainer")
    echo(github, forged(checked_pull, command, _true_place(), sha="f" * 40))
    assert still_fails(checked_pull)


def test_a_replayed_record_after_its_command_was_deleted(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    assert checked_pull.say(WAIVE) == 0
    echo(github, record_of(github).body)
    github.comments[7] = [c for c in github.comments[7] if c.author == BOT]
    assert still_fails(checked_pull)


# Roles


@pytest.mark.parametrize("role", ["write", "read", "none", None])
def test_who_lost_the_role_no_longer_waives(
    opened: Open, github: FakeGithub, role: str | None
) -> None:
    checked_pull = opened()
    assert checked_pull.say(WAIVE) == 0
    assert checked_pull.run_check() == 0
    del github.roles["maintainer"]
    github.roles |= {"maintainer": role} if role else {}
    assert still_fails(checked_pull)


def test_the_role_is_asked_for_by_the_base_policy_of_now(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened("waivers: {permission: admin}\n")
    command = github.comment(7, WAIVE, "maintainer")
    echo(github, forged(checked_pull, command, _true_place()))
    assert still_fails(checked_pull)
    github.roles["maintainer"] = "admin"
    assert checked_pull.run_check() == 0


@pytest.mark.parametrize("status", [403, 500])
def test_a_role_that_cannot_be_read_waives_nothing_and_hides_nothing(
    opened: Open, github: FakeGithub, status: int
) -> None:
    checked_pull = opened()
    assert checked_pull.say(WAIVE) == 0
    github.faults.append(Fault("GET", "/collaborators/", status=status, times=9, message="no"))
    assert still_fails(checked_pull)
    assert checked_pull.result()["verdict"] == "fail"


def test_a_role_is_asked_for_once_a_person(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    for number in range(3):
        command = github.comment(7, f"/gatekeeper waive sentiment: {number}", "stranger")
        echo(github, forged(checked_pull, command, _true_place(), reason=str(number)))
    github.requests.clear()
    assert still_fails(checked_pull)
    assert len([r for r in github.requests if "/collaborators/" in r]) == 1


# Edits


def test_a_comment_of_a_maintainer_that_somebody_else_edits(
    opened: Open, github: FakeGithub
) -> None:
    """Who may write to the repository can edit the comments of others; their author stays."""
    checked_pull = opened()
    comment = github.comment(7, "Looks good", "maintainer")
    github.edit(comment, WAIVE)
    for place in (_true_place(), Place("octo/prompts", 7)):
        echo(github, forged(checked_pull, comment, place))
    assert still_fails(checked_pull)


@pytest.mark.parametrize("body", [f"{WAIVE}\nOn second thought.", WAIVE])
def test_who_edits_the_command_takes_the_waiver_back(
    opened: Open, github: FakeGithub, body: str
) -> None:
    checked_pull = opened()
    command = github.comment(7, WAIVE, "maintainer")
    assert checked_pull.again(command) == 0
    assert checked_pull.run_check() == 0
    github.edit(command, body)
    assert still_fails(checked_pull)


def test_a_reaction_is_no_edit(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    command = github.comment(7, WAIVE, "maintainer")
    command.touched = True
    assert checked_pull.again(command) == 0
    assert checked_pull.run_check() == 0


@pytest.mark.long
def test_edits_that_cannot_be_asked_for_waive_nothing(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    command = github.comment(7, WAIVE, "maintainer")
    command.touched = True
    assert checked_pull.again(command) == 0
    github.faults.append(Fault("POST", "/graphql", status=500, times=9))
    assert still_fails(checked_pull)
    # GitHub answers, and knows no such comment.
    real = github._edit_of
    github._edit_of = lambda _: (200, {}, {"data": {"node": None}})  # type: ignore[method-assign]
    github.faults.clear()
    assert still_fails(checked_pull)
    github._edit_of = real  # type: ignore[method-assign]
    assert checked_pull.run_check() == 0


# Keys


@pytest.mark.long
def test_without_keys_the_command_must_be_of_a_time_after_the_checks(
    opened: Open, github: FakeGithub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a job without secrets whose models need none."""
    monkeypatch.setattr("gatekeeper.providers.models.keys.model_access", lambda _: ())
    checked_pull = opened()
    assert checked_pull.say(WAIVE) == 0
    assert "not signed" in checked_pull.reply
    assert checked_pull.run_check() == 0
    # A push of the commit starts a new run: the command was meant for another.
    github.runs.append(FakeRun(43, checked_pull.change.head, created_at=AFTER))
    assert still_fails(checked_pull)


@pytest.mark.parametrize("fault", [None, Fault("GET", "/actions/runs", status=403, times=9)])
def test_without_keys_and_without_a_run_nothing_is_waived(
    opened: Open, github: FakeGithub, monkeypatch: pytest.MonkeyPatch, fault: Fault | None
) -> None:
    monkeypatch.setattr("gatekeeper.providers.models.keys.model_access", lambda _: ())
    checked_pull = opened()
    assert checked_pull.say(WAIVE) == 0
    github.runs.clear()
    if fault:
        github.faults.append(fault)
    assert still_fails(checked_pull)


def test_an_unsigned_record_counts_for_nothing_in_a_job_with_keys(
    opened: Open, github: FakeGithub, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked_pull = opened()
    with monkeypatch.context() as bot:
        bot.setattr("gatekeeper.providers.models.keys.model_access", lambda _: ())
        assert checked_pull.say(WAIVE) == 0
    assert still_fails(checked_pull)
    assert "GATEKEEPER_WAIVER_KEY" in str(checked_pull.result()["notices"])


@pytest.mark.long
def test_one_secret_for_waivers_serves_jobs_with_other_keys(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second stage for forks has keys of an environment, which the bot has not."""
    checked_pull = opened()
    monkeypatch.setenv("GATEKEEPER_WAIVER_KEY", "a secret of this repository")
    assert checked_pull.say(WAIVE, OPENAI_API_KEY="x") == 0
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789abcdef")
    assert checked_pull.run_check() == 0
    monkeypatch.setenv("GATEKEEPER_WAIVER_KEY", "another secret of this repository")
    assert still_fails(checked_pull)


def test_a_secret_that_is_too_short_is_named(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    checked_pull = opened()
    assert checked_pull.say(WAIVE) == 0
    monkeypatch.setenv("GATEKEEPER_WAIVER_KEY", "short")
    assert checked_pull.say(WAIVE) == 0
    assert "GATEKEEPER_WAIVER_KEY" in checked_pull.reply
    assert "short" not in checked_pull.reply
    assert still_fails(checked_pull)


# Forks


def test_a_second_stage_for_forks_believes_no_echo_either(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    github.pulls[7].head_repository = "fork/prompts"
    command = github.comment(7, WAIVE, "maintainer")
    echo(github, forged(checked_pull, command))
    assert checked_pull.act("pull_request_target", checked_pull.change.event(fork=True)) == 1
    assert checked_pull.result()["contracts"][0]["waiver"] is None


def _true_place() -> Place:
    return Place("octo/prompts", 7, waiver_keys({KEY: "sk-0123456789abcdef"}))


def _created(
    comment: FakeComment, kind: str, app: Mapping[str, str] | None = None
) -> dict[str, Any]:
    return {
        "action": "created",
        "repository": {"full_name": "octo/prompts"},
        "issue": {"number": 7, "pull_request": {"url": "x"}},
        "comment": {
            "id": comment.id,
            "body": comment.body,
            "created_at": "2026-01-02T03:05:00Z",
            "user": {"login": comment.author, "type": kind},
            "performed_via_github_app": app,
        },
    }
