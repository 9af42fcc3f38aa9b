"""Commands in comments, from the event to the reply: real git; GitHub and model on 127.0.0.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support.bot_comments import AFTER, BEFORE, Desk
from support.github_objects import FakeRun
from support.github_server import BOT, FakeGithub, Fault
from support.openai_server import OpenAIServer
from support.pull_request import BROKEN, CONTRACT, FEW, FIXTURES, GOOD, HARMLESS, PROMPT

from gatekeeper.action.waivers import Place, waiver_line
from gatekeeper.gate.result import Waiver
from gatekeeper.providers.keys import waiver_keys

WAIVE = "/gatekeeper waive sentiment: the words are meant to be free"
Open = Callable[..., Desk]


@pytest.fixture
def opened(
    github: FakeGithub, model: OpenAIServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Open:
    def make(
        files: Mapping[str, str] | None = None, fixtures: int = FEW, **more: str | bytes
    ) -> Desk:
        files = {PROMPT: BROKEN} if files is None else files
        return Desk.make(tmp_path, github, model, monkeypatch, files, more, fixtures)

    return make


def test_a_waiver_lifts_the_verdict_of_the_commit_and_of_no_other(
    opened: Open, github: FakeGithub
) -> None:
    desk = opened()
    assert desk.run_check() == 1
    assert desk.say(WAIVE) == 0
    assert desk.reactions == ["eyes", "rocket"]
    assert "Waived for" in desk.reply
    assert "the words are meant to be free" in desk.reply
    assert github.runs[0].reruns == ["rerun-failed-jobs"]

    assert desk.run_check() == 0
    (contract,) = desk.result()["contracts"]
    assert contract["verdict"] == "pass"
    assert [r["code"] for r in contract["reasons"]][:2] == ["waived", "regression"]
    assert contract["waiver"]["author"] == "maintainer"
    assert contract["waiver"]["sha"] == desk.change.head
    sticky = desk.own[0]
    assert "Waived by" in sticky
    assert "no contract got significantly worse" not in sticky

    # The same commit's record says nothing of the next one.
    record = next(c for c in github.comments[7] if "gatekeeper-waiver" in c.body)
    waiver = Waiver(**contract["waiver"] | {"contract": "sentiment", "sha": "f" * 40})
    place = Place("octo/prompts", 7, waiver_keys({"OPENAI_API_KEY": "sk-0123456789abcdef"}))
    record.body = waiver_line(waiver, github.comments[7][1].id, place)
    assert desk.run_check() == 1
    assert "no longer counts" in desk.own[0]


def test_who_has_not_the_role_is_refused_and_nothing_else_happens(
    opened: Open, github: FakeGithub, model: OpenAIServer
) -> None:
    desk = opened()
    for author in ("writer", "stranger"):
        assert desk.say(WAIVE, author) == 0
        assert desk.reactions == ["-1"]
        assert "`maintain`" in desk.reply
    assert github.runs[0].reruns == []
    assert model.requests == []
    assert desk.run_check() == 1


def test_the_role_is_that_of_the_base_policy_and_not_of_the_heads(opened: Open) -> None:
    desk = opened({PROMPT: BROKEN, ".github/gatekeeper.yml": "waivers: {permission: read}\n"})
    assert desk.say(WAIVE, "writer") == 0
    assert desk.reactions == ["-1"]


def test_the_base_policy_may_ask_for_less(opened: Open, github: FakeGithub) -> None:
    desk = opened(**{".github/gatekeeper.yml": "waivers: {permission: write}\n"})
    github.roles["custom"] = "reviewers:write"
    assert desk.say(WAIVE, "custom") == 0
    assert "Waived for" in desk.reply


def test_a_base_policy_that_cannot_be_read_asks_for_the_default(opened: Open) -> None:
    desk = opened(**{".github/gatekeeper.yml": "waivers: {permission: nobody}\n"})
    assert desk.say(WAIVE, "writer") == 0
    assert desk.reactions == ["-1"]


def test_accepting_covers_the_regression(opened: Open) -> None:
    desk = opened()
    assert desk.say("/gatekeeper accept") == 0
    assert "Accepted for" in desk.reply
    assert desk.run_check() == 0
    assert "accepted as intended" in desk.own[-1]


def test_what_is_accepted_must_still_meet_its_objectives(opened: Open) -> None:
    contract = CONTRACT.replace("fixed", "adaptive") + "slo: {success_rate: 0.9}\n"
    desk = opened(fixtures=FIXTURES, **{"contracts/sentiment.yaml": contract})
    assert desk.run_check() == 1
    (found,) = desk.result()["contracts"]
    assert found["head"]["samples"] < FIXTURES
    assert desk.say("/gatekeeper accept sentiment") == 0
    assert desk.run_check() == 1
    (found,) = desk.result()["contracts"]
    assert {r["code"] for r in found["reasons"] if r["verdict"] == "fail"} == {"regression", "slo"}
    # The objectives are evaluated on all samples, not on those that it took to see the regression.
    assert found["head"]["samples"] == FIXTURES


def test_a_push_after_the_comment_is_not_waived_unseen(opened: Open, github: FakeGithub) -> None:
    desk = opened()
    github.runs[0].created_at = AFTER
    assert desk.say(WAIVE) == 0
    assert "after your comment" in desk.reply
    github.runs.clear()
    assert desk.say(WAIVE) == 0
    assert "No workflow has run" in desk.reply
    assert desk.run_check() == 1


def test_the_job_run_again_waives_nothing_more(opened: Open, github: FakeGithub) -> None:
    desk = opened()
    comment = github.comment(7, WAIVE, "maintainer")
    assert desk.again(comment) == 0
    told = list(desk.own)
    assert desk.again(comment) == 0
    assert desk.own == told


def test_a_waiver_needs_a_contract_that_the_change_affects(opened: Open) -> None:
    desk = opened({"README.md": "Another product.\n"})
    assert desk.say(WAIVE) == 0
    assert "not affected" in desk.reply
    assert desk.say("/gatekeeper accept") == 0
    assert "No contract is affected" in desk.reply
    assert desk.say("/gatekeeper waive sentimant: x") == 0
    assert "did you mean 'sentiment'" in desk.reply
    assert desk.reactions == ["eyes", "confused"]


@pytest.mark.parametrize("author", ["octocat", BOT])
def test_a_forged_waiver_is_not_believed(opened: Open, github: FakeGithub, author: str) -> None:
    # Any workflow comments as the same account: one that repeats what people write can be had to
    # write this. Nobody's command stands behind it.
    desk = opened()
    waiver = Waiver("sentiment", "waive", "maintainer", desk.change.head, "x", "2026")
    github.comment(7, waiver_line(waiver, 1, Place("octo/prompts", 7)), author)
    assert desk.run_check() == 1
    assert "is ignored" in desk.own[-1]


def test_a_command_that_is_deleted_takes_its_waiver_back(opened: Open, github: FakeGithub) -> None:
    desk = opened()
    assert desk.say(WAIVE) == 0
    assert desk.run_check() == 0
    github.comments[7] = [c for c in github.comments[7] if c.author != "maintainer"]
    assert desk.run_check() == 1


def test_a_reason_cannot_end_the_record_or_forge_another(opened: Open, github: FakeGithub) -> None:
    desk = opened()
    evil = 'x --> <!-- gatekeeper-waiver {"contract":null} --> @octocat <img src=x>'
    assert desk.say(f"/gatekeeper waive sentiment: {evil}") == 0
    body = desk.reply
    assert body.count("<!--") == 2
    assert "<img" not in body
    assert desk.run_check() == 0


def test_rerun_asks_for_the_run_that_the_status_points_to(opened: Open, github: FakeGithub) -> None:
    desk = opened()
    github.runs[0].path = ".github/workflows/other.yml"
    assert desk.run_check() == 1
    assert desk.say("/gatekeeper rerun") == 0
    assert github.runs[0].reruns == ["rerun-failed-jobs"]
    assert "started again" in desk.reply
    assert desk.say("/gatekeeper rerun") == 0
    assert "in progress" in desk.reply
    github.runs[0].conclusion = "success"
    assert desk.say("/gatekeeper rerun") == 0
    assert github.runs[0].reruns[-1] == "rerun"


@pytest.mark.parametrize("command", ["rerun", WAIVE.removeprefix("/gatekeeper "), "accept"])
def test_of_a_forks_workflows_the_one_that_checked_is_run_again(
    opened: Open, github: FakeGithub, command: str
) -> None:
    """The ordinary one is skipped, the first stage checks nothing; the second sets the status."""
    desk = opened()
    github.pulls[7].head_repository = "fork/prompts"
    checked = github.runs[0]
    checked.event, checked.path = "pull_request_target", ".github/workflows/fork-check.yml"
    for number, name, conclusion in ((43, "gate", "skipped"), (44, "fork-validate", "success")):
        path = f".github/workflows/{name}.yml"
        github.runs.append(
            FakeRun(number, desk.change.head, "pull_request", path, BEFORE, conclusion)
        )
    assert desk.act("pull_request_target", desk.change.event(fork=True)) == 1
    assert desk.say(f"/gatekeeper {command}") == 0
    assert [run.reruns for run in github.runs] == [["rerun-failed-jobs"], [], []]


def test_without_the_permission_the_reply_says_what_to_click(
    opened: Open, github: FakeGithub
) -> None:
    desk = opened()
    refused = "Resource not accessible by integration"
    github.faults.append(Fault("POST", "/rerun", status=403, message=refused))
    assert desk.say("/gatekeeper rerun") == 0
    assert "Re-run failed jobs" in desk.reply
    assert "actions: write" in desk.reply
    github.faults.append(Fault("GET", "/actions/runs", status=403, message=refused))
    github.faults.append(Fault("GET", "/statuses", status=403, message=refused))
    assert desk.say("/gatekeeper rerun") == 0
    assert "Re-run failed jobs" in desk.reply
    github.runs[0].event = "push"
    assert desk.say("/gatekeeper rerun") == 0
    assert f"found no run for `{github.pulls[7].head_sha[:10]}`" in desk.reply


def test_one_contract_and_the_whole_suite_are_checked_here_and_now(
    opened: Open, model: OpenAIServer
) -> None:
    desk = opened()
    assert desk.say("/gatekeeper run sentiment") == 0
    assert "Do not merge" in desk.reply
    assert "gatekeeper:gatekeeper" not in desk.reply
    made = len(model.requests)
    assert desk.say("/gatekeeper full") == 0
    assert "| Passed |" in desk.reply
    assert len(model.requests) - made == FEW
    assert "Do not merge" not in desk.reply


def test_a_contract_that_is_not_affected_runs_on_head_alone(
    opened: Open, model: OpenAIServer
) -> None:
    desk = opened({"README.md": "Another product.\n"})
    assert desk.say("/gatekeeper run sentiment") == 0
    assert "| Passed |" in desk.reply
    assert len(model.requests) == FEW
    assert desk.say("/gatekeeper explain sentiment") == 0
    assert "does not affect" in desk.reply


def test_explain_gives_the_evidence_in_words(opened: Open) -> None:
    desk = opened()
    assert desk.say("/gatekeeper explain sentiment") == 0
    for words in (
        "**What changed**",
        "**How sure**",
        "**What could have been detected**",
        "Base said",
    ):
        assert words in desk.reply
    assert "I could not say." in desk.reply


def test_what_is_not_understood_is_helped(opened: Open) -> None:
    desk = opened()
    assert desk.say("/gatekeeper please") == 0
    assert desk.reactions == ["eyes", "confused"]
    assert "/gatekeeper waive NAME: REASON" in desk.reply
    assert desk.say("/gatekeeper rerun\n/gatekeeper full") == 0
    assert "Only the first command" in desk.reply


def test_other_comments_are_none_of_its_business(
    opened: Open, github: FakeGithub, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = opened()
    assert desk.say("What does /gatekeeper do?") == 0
    assert github.requests == []
    assert capsys.readouterr().out == ""


def test_a_closed_pull_request_is_past_evaluation(opened: Open, github: FakeGithub) -> None:
    desk = opened()
    github.pulls[7].state = "closed"
    assert desk.say("/gatekeeper full") == 0
    assert "closed" in desk.reply


def test_a_reply_that_cannot_be_posted_is_in_the_log(
    opened: Open, github: FakeGithub, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = opened({PROMPT: HARMLESS})
    github.read_only = True
    assert desk.say("/gatekeeper explain sentiment") == 3
    log = capsys.readouterr().out
    assert "could not be posted" in log
    assert "What could have been detected" in log


def test_a_fault_of_our_own_is_told(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("gatekeeper.action.bot.check", fault)
    desk = opened()
    assert desk.say("/gatekeeper explain sentiment") == 3
    assert "ZeroDivisionError" in desk.reply


def test_github_out_of_order_is_told_where_it_can_be(opened: Open, github: FakeGithub) -> None:
    desk = opened({PROMPT: GOOD + "\n"})
    github.faults.append(Fault("GET", "/collaborators/", status=500, times=9))
    assert desk.say("/gatekeeper full") == 3
    assert "GitHub has a problem" in desk.reply


def test_the_job_run_again_brings_its_reply_up_to_date(opened: Open, github: FakeGithub) -> None:
    desk = opened({"README.md": "Another product.\n"})
    comment = github.comment(7, "/gatekeeper explain sentiment", "maintainer")
    assert desk.again(comment) == 0
    assert desk.again(comment) == 0
    assert len(desk.own) == 1


def test_without_a_status_the_only_workflow_is_run_again(opened: Open, github: FakeGithub) -> None:
    desk = opened()
    assert desk.say("/gatekeeper rerun", status_context="") == 0
    assert github.runs[0].reruns == ["rerun-failed-jobs"]


def test_a_comment_without_a_time_waives_nothing(opened: Open, github: FakeGithub) -> None:
    desk = opened()
    assert desk.again(github.comment(7, WAIVE, "maintainer"), time="yesterday") == 0
    assert "not a time" in desk.reply
    assert github.runs[0].reruns == []


POLICY = ".github/gatekeeper.yml"
STRICT = "on_weakening: require_waiver\nlimits: {calls: 100}\n"
WAIVE_POLICY = "/gatekeeper waive gatekeeper-policy: the suite has grown"


def test_a_weakened_policy_is_waived_by_a_name_of_its_own(opened: Open) -> None:
    desk = opened({POLICY: STRICT.replace("100", "200")}, **{POLICY: STRICT})
    assert desk.run_check() == 1
    assert WAIVE_POLICY.split(":")[0] in desk.own[0]

    for other in ("/gatekeeper accept gatekeeper-policy", "/gatekeeper accept"):
        desk.say(other)
        assert desk.reactions[-1] == "confused"
        assert desk.run_check() == 1
    assert desk.say(WAIVE_POLICY) == 0
    assert "Waived for" in desk.reply
    assert desk.run_check() == 0
    (found,) = desk.result()["contracts"]
    assert (found["name"], found["verdict"]) == ("gatekeeper-policy", "pass")
    assert found["waiver"]["reason"] == "the suite has grown"
    assert "is ignored" not in desk.own[0]


def test_a_change_that_no_fixture_reaches_can_be_waived(opened: Open) -> None:
    """It needs no call, and its verdict gates all the same."""
    unreached = GOOD.rstrip("\n") + "{% if review == 'none' %}Lie.{% endif %}\n"
    desk = opened({PROMPT: unreached}, **{POLICY: "on_inconclusive: fail\n"})
    assert desk.run_check() == 1
    assert desk.say(WAIVE) == 0
    assert "Waived for" in desk.reply
    assert desk.run_check() == 0


def test_a_policys_waiver_covers_no_contract_and_a_contracts_no_policy(opened: Open) -> None:
    weakened = {PROMPT: BROKEN, POLICY: STRICT.replace("100", "200")}
    desk = opened(weakened, **{POLICY: STRICT})
    assert desk.say(WAIVE_POLICY) == 0
    assert desk.run_check() == 1
    verdicts = {c["name"]: c["verdict"] for c in desk.result()["contracts"]}
    assert verdicts == {"sentiment": "fail", "gatekeeper-policy": "pass"}
    assert desk.say(WAIVE) == 0
    assert desk.run_check() == 0


def test_a_policy_that_is_not_weakened_cannot_be_waived(opened: Open) -> None:
    desk = opened({PROMPT: BROKEN}, **{POLICY: STRICT})
    desk.say(WAIVE_POLICY)
    assert "Waived for" not in desk.reply
    assert desk.reactions[-1] == "confused"
