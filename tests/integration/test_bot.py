"""Commands in comments, from the event to the reply: real git; GitHub and model on 127.0.0.1."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from support.bot_comments import AFTER, BEFORE, CheckedPull
from support.edited_text import edited
from support.github_objects import FakeRun
from support.github_server import BOT, FakeGithub, Fault
from support.openai_server import OpenAIServer
from support.pull_request import BROKEN, CONTRACT, FEW, FIXTURES, GOOD, HARMLESS, PROMPT

from gatekeeper.action.waivers import Place, waiver_line
from gatekeeper.gate.results.result import Waiver
from gatekeeper.providers.models.keys import waiver_keys

WAIVE = "/gatekeeper waive sentiment: the words are meant to be free"
Open = Callable[..., CheckedPull]


@pytest.fixture
def opened(open_pull: Open) -> Open:
    def make(
        files: Mapping[str, str] | None = None, fixtures: int = FEW, **more: str | bytes
    ) -> CheckedPull:
        files = {PROMPT: BROKEN} if files is None else files
        return open_pull(files, more, fixtures)

    return make


@pytest.mark.long
def test_a_waiver_lifts_the_verdict_of_the_commit_and_of_no_other(
    opened: Open, github: FakeGithub
) -> None:
    checked_pull = opened()
    assert checked_pull.run_check() == 1
    assert checked_pull.say(WAIVE) == 0
    assert checked_pull.reactions == ["eyes", "rocket"]
    assert "Waived for" in checked_pull.reply
    assert "the words are meant to be free" in checked_pull.reply
    assert github.runs[0].reruns == ["rerun-failed-jobs"]

    assert checked_pull.run_check() == 0
    (contract,) = checked_pull.result()["contracts"]
    assert contract["verdict"] == "pass"
    assert [r["code"] for r in contract["reasons"]][:2] == ["waived", "regression"]
    assert contract["waiver"]["author"] == "maintainer"
    assert contract["waiver"]["sha"] == checked_pull.change.head
    sticky = checked_pull.own[0]
    assert "Waived by" in sticky
    assert "no contract got significantly worse" not in sticky

    # The same commit's record says nothing of the next one.
    record = next(c for c in github.comments[7] if "gatekeeper-waiver" in c.body)
    waiver = Waiver(**contract["waiver"] | {"contract": "sentiment", "sha": "f" * 40})
    place = Place("octo/prompts", 7, waiver_keys({"OPENAI_API_KEY": "sk-0123456789abcdef"}))
    record.body = waiver_line(waiver, github.comments[7][1].id, place)
    assert checked_pull.run_check() == 1
    assert "no longer has an effect" in checked_pull.own[0]


def test_who_has_not_the_role_is_refused_and_nothing_else_happens(
    opened: Open, github: FakeGithub, model: OpenAIServer
) -> None:
    checked_pull = opened()
    for author in ("writer", "stranger"):
        assert checked_pull.say(WAIVE, author) == 0
        assert checked_pull.reactions == ["-1"]
        assert "`maintain`" in checked_pull.reply
    assert github.runs[0].reruns == []
    assert model.requests == []
    assert checked_pull.run_check() == 1


def test_the_role_is_that_of_the_base_policy_and_not_of_the_heads(opened: Open) -> None:
    checked_pull = opened(
        {PROMPT: BROKEN, ".github/gatekeeper.yml": "waivers: {permission: read}\n"}
    )
    assert checked_pull.say(WAIVE, "writer") == 0
    assert checked_pull.reactions == ["-1"]


def test_the_base_policy_may_ask_for_less(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened(**{".github/gatekeeper.yml": "waivers: {permission: write}\n"})
    github.roles["custom"] = "reviewers:write"
    assert checked_pull.say(WAIVE, "custom") == 0
    assert "Waived for" in checked_pull.reply


def test_a_base_policy_that_cannot_be_read_asks_for_the_default(opened: Open) -> None:
    checked_pull = opened(**{".github/gatekeeper.yml": "waivers: {permission: nobody}\n"})
    assert checked_pull.say(WAIVE, "writer") == 0
    assert checked_pull.reactions == ["-1"]


def test_accepting_covers_the_regression(opened: Open) -> None:
    checked_pull = opened()
    assert checked_pull.say("/gatekeeper accept") == 0
    assert "Accepted for" in checked_pull.reply
    assert checked_pull.run_check() == 0
    assert "Regression accepted by" in checked_pull.own[-1]


@pytest.mark.long
def test_what_is_accepted_must_still_meet_its_objectives(opened: Open) -> None:
    contract = edited(CONTRACT, "fixed", "adaptive") + "slo: {success_rate: 0.9}\n"
    checked_pull = opened(fixtures=FIXTURES, **{"contracts/sentiment.yaml": contract})
    assert checked_pull.run_check() == 1
    (found,) = checked_pull.result()["contracts"]
    assert found["head"]["samples"] < FIXTURES
    assert checked_pull.say("/gatekeeper accept sentiment") == 0
    assert checked_pull.run_check() == 1
    (found,) = checked_pull.result()["contracts"]
    assert {r["code"] for r in found["reasons"] if r["verdict"] == "fail"} == {"regression", "slo"}
    # The objectives are evaluated on all samples, not on those that it took to see the regression.
    assert found["head"]["samples"] == FIXTURES


def test_a_push_after_the_comment_is_not_waived_unseen(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    github.runs[0].created_at = AFTER
    assert checked_pull.say(WAIVE) == 0
    assert "after your comment" in checked_pull.reply
    github.runs.clear()
    assert checked_pull.say(WAIVE) == 0
    assert "No workflow has run" in checked_pull.reply
    assert checked_pull.run_check() == 1


def test_the_job_run_again_waives_nothing_more(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    comment = github.comment(7, WAIVE, "maintainer")
    assert checked_pull.again(comment) == 0
    told = list(checked_pull.own)
    assert checked_pull.again(comment) == 0
    assert checked_pull.own == told


def test_a_waiver_needs_a_contract_that_the_change_affects(opened: Open) -> None:
    checked_pull = opened({"README.md": "Another product.\n"})
    assert checked_pull.say(WAIVE) == 0
    assert "not affected" in checked_pull.reply
    assert checked_pull.say("/gatekeeper accept") == 0
    assert "No contract is affected" in checked_pull.reply
    assert checked_pull.say("/gatekeeper waive sentimant: x") == 0
    assert "did you mean 'sentiment'" in checked_pull.reply
    assert checked_pull.reactions == ["eyes", "confused"]


@pytest.mark.parametrize("author", ["octocat", BOT])
def test_a_forged_waiver_is_not_believed(opened: Open, github: FakeGithub, author: str) -> None:
    # Any workflow comments as the same account: one that repeats what people write can be had to
    # write this. Nobody's command stands behind it.
    checked_pull = opened()
    waiver = Waiver("sentiment", "waive", "maintainer", checked_pull.change.head, "x", "2026")
    github.comment(7, waiver_line(waiver, 1, Place("octo/prompts", 7)), author)
    assert checked_pull.run_check() == 1
    assert "is ignored" in checked_pull.own[-1]


def test_a_command_that_is_deleted_takes_its_waiver_back(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    assert checked_pull.say(WAIVE) == 0
    assert checked_pull.run_check() == 0
    github.comments[7] = [c for c in github.comments[7] if c.author != "maintainer"]
    assert checked_pull.run_check() == 1


def test_a_reason_cannot_end_the_record_or_forge_another(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    evil = 'x --> <!-- gatekeeper-waiver {"contract":null} --> @octocat <img src=x>'
    assert checked_pull.say(f"/gatekeeper waive sentiment: {evil}") == 0
    body = checked_pull.reply
    assert body.count("<!--") == 2
    assert "<img" not in body
    assert checked_pull.run_check() == 0


def test_rerun_asks_for_the_run_that_the_status_points_to(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    github.runs[0].path = ".github/workflows/other.yml"
    assert checked_pull.run_check() == 1
    assert checked_pull.say("/gatekeeper rerun") == 0
    assert github.runs[0].reruns == ["rerun-failed-jobs"]
    assert "started again" in checked_pull.reply
    assert checked_pull.say("/gatekeeper rerun") == 0
    assert "in progress" in checked_pull.reply
    github.runs[0].conclusion = "success"
    assert checked_pull.say("/gatekeeper rerun") == 0
    assert github.runs[0].reruns[-1] == "rerun"


@pytest.mark.parametrize("command", ["rerun", WAIVE.removeprefix("/gatekeeper "), "accept"])
def test_of_a_forks_workflows_the_one_that_checked_is_run_again(
    opened: Open, github: FakeGithub, command: str
) -> None:
    """The ordinary one is skipped, the first stage checks nothing; the second sets the status."""
    checked_pull = opened()
    github.pulls[7].head_repository = "fork/prompts"
    checked = github.runs[0]
    checked.event, checked.path = "pull_request_target", ".github/workflows/fork-check.yml"
    for number, name, conclusion in ((43, "gate", "skipped"), (44, "fork-validate", "success")):
        path = f".github/workflows/{name}.yml"
        github.runs.append(
            FakeRun(number, checked_pull.change.head, "pull_request", path, BEFORE, conclusion)
        )
    assert checked_pull.act("pull_request_target", checked_pull.change.event(fork=True)) == 1
    assert checked_pull.say(f"/gatekeeper {command}") == 0
    assert [run.reruns for run in github.runs] == [["rerun-failed-jobs"], [], []]


def test_without_the_permission_the_reply_says_what_to_click(
    opened: Open, github: FakeGithub
) -> None:
    checked_pull = opened()
    refused = "Resource not accessible by integration"
    github.faults.append(Fault("POST", "/rerun", status=403, message=refused))
    assert checked_pull.say("/gatekeeper rerun") == 0
    assert "Re-run failed jobs" in checked_pull.reply
    assert "actions: write" in checked_pull.reply
    github.faults.append(Fault("GET", "/actions/runs", status=403, message=refused))
    github.faults.append(Fault("GET", "/statuses", status=403, message=refused))
    assert checked_pull.say("/gatekeeper rerun") == 0
    assert "Re-run failed jobs" in checked_pull.reply
    github.runs[0].event = "push"
    assert checked_pull.say("/gatekeeper rerun") == 0
    assert f"could not tell which workflow run of `{github.pulls[7].head_sha[:10]}`" in (
        checked_pull.reply
    )


def test_one_contract_and_the_whole_suite_are_checked_here_and_now(
    opened: Open, model: OpenAIServer
) -> None:
    checked_pull = opened()
    assert checked_pull.say("/gatekeeper run sentiment") == 0
    assert "Do not merge" in checked_pull.reply
    assert "gatekeeper:gatekeeper" not in checked_pull.reply
    made = len(model.requests)
    assert checked_pull.say("/gatekeeper full") == 0
    assert "| Passed |" in checked_pull.reply
    assert len(model.requests) - made == FEW
    assert "Do not merge" not in checked_pull.reply


def test_a_contract_that_is_not_affected_runs_on_head_alone(
    opened: Open, model: OpenAIServer
) -> None:
    checked_pull = opened({"README.md": "Another product.\n"})
    assert checked_pull.say("/gatekeeper run sentiment") == 0
    assert "| Passed |" in checked_pull.reply
    assert len(model.requests) == FEW
    assert checked_pull.say("/gatekeeper explain sentiment") == 0
    assert "does not affect" in checked_pull.reply


def test_explain_gives_the_evidence_in_words(opened: Open) -> None:
    checked_pull = opened()
    assert checked_pull.say("/gatekeeper explain sentiment") == 0
    for words in (
        "**What changed**",
        "**Significance**",
        "**What could have been detected**",
        "Base said",
    ):
        assert words in checked_pull.reply
    assert "I could not say." in checked_pull.reply


def test_what_is_not_understood_is_helped(opened: Open) -> None:
    checked_pull = opened()
    assert checked_pull.say("/gatekeeper please") == 0
    assert checked_pull.reactions == ["eyes", "confused"]
    assert "/gatekeeper waive NAME: REASON" in checked_pull.reply
    assert checked_pull.say("/gatekeeper rerun\n/gatekeeper full") == 0
    assert "Only the first command" in checked_pull.reply


def test_other_comments_are_none_of_its_business(
    opened: Open, github: FakeGithub, capsys: pytest.CaptureFixture[str]
) -> None:
    checked_pull = opened()
    assert checked_pull.say("What does /gatekeeper do?") == 0
    assert github.requests == []
    assert capsys.readouterr().out == ""


def test_a_closed_pull_request_is_past_evaluation(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    github.pulls[7].state = "closed"
    assert checked_pull.say("/gatekeeper full") == 0
    assert "closed" in checked_pull.reply


def test_a_reply_that_cannot_be_posted_is_in_the_log(
    opened: Open, github: FakeGithub, capsys: pytest.CaptureFixture[str]
) -> None:
    checked_pull = opened({PROMPT: HARMLESS})
    github.read_only = True
    assert checked_pull.say("/gatekeeper explain sentiment") == 3
    log = capsys.readouterr().out
    assert "could not be posted" in log
    assert "What could have been detected" in log


def test_a_fault_of_our_own_is_told(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("gatekeeper.action.bot.check", fault)
    checked_pull = opened()
    assert checked_pull.say("/gatekeeper explain sentiment") == 3
    assert "ZeroDivisionError" in checked_pull.reply


def test_github_out_of_order_is_told_where_it_can_be(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened({PROMPT: GOOD + "\n"})
    github.faults.append(Fault("GET", "/collaborators/", status=500, times=9))
    assert checked_pull.say("/gatekeeper full") == 3
    assert "GitHub has a problem" in checked_pull.reply


def test_the_job_run_again_brings_its_reply_up_to_date(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened({"README.md": "Another product.\n"})
    comment = github.comment(7, "/gatekeeper explain sentiment", "maintainer")
    assert checked_pull.again(comment) == 0
    assert checked_pull.again(comment) == 0
    assert len(checked_pull.own) == 1


def test_without_a_status_the_only_workflow_is_run_again(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    assert checked_pull.say("/gatekeeper rerun", status_context="") == 0
    assert github.runs[0].reruns == ["rerun-failed-jobs"]


def test_a_comment_without_a_time_waives_nothing(opened: Open, github: FakeGithub) -> None:
    checked_pull = opened()
    assert checked_pull.again(github.comment(7, WAIVE, "maintainer"), time="yesterday") == 0
    assert "not a time" in checked_pull.reply
    assert github.runs[0].reruns == []


POLICY = ".github/gatekeeper.yml"
STRICT = "on_weakening: require_waiver\nlimits: {calls: 100}\n"
WAIVE_POLICY = "/gatekeeper waive gatekeeper-policy: the suite has grown"


def test_a_weakened_policy_is_waived_by_a_name_of_its_own(opened: Open) -> None:
    checked_pull = opened({POLICY: STRICT.replace("100", "200")}, **{POLICY: STRICT})
    assert checked_pull.run_check() == 1
    assert WAIVE_POLICY.split(":")[0] in checked_pull.own[0]

    for other in ("/gatekeeper accept gatekeeper-policy", "/gatekeeper accept"):
        checked_pull.say(other)
        assert checked_pull.reactions[-1] == "confused"
        assert checked_pull.run_check() == 1
    assert checked_pull.say(WAIVE_POLICY) == 0
    assert "Waived for" in checked_pull.reply
    assert checked_pull.run_check() == 0
    (found,) = checked_pull.result()["contracts"]
    assert (found["name"], found["verdict"]) == ("gatekeeper-policy", "pass")
    assert found["waiver"]["reason"] == "the suite has grown"
    assert "is ignored" not in checked_pull.own[0]


def test_a_change_that_no_fixture_reaches_can_be_waived(opened: Open) -> None:
    """It needs no call, and its verdict gates all the same."""
    unreached = GOOD.rstrip("\n") + "{% if review == 'none' %}Lie.{% endif %}\n"
    checked_pull = opened({PROMPT: unreached}, **{POLICY: "on_inconclusive: fail\n"})
    assert checked_pull.run_check() == 1
    assert checked_pull.say(WAIVE) == 0
    assert "Waived for" in checked_pull.reply
    assert checked_pull.run_check() == 0


@pytest.mark.long
def test_a_policys_waiver_covers_no_contract_and_a_contracts_no_policy(opened: Open) -> None:
    weakened = {PROMPT: BROKEN, POLICY: STRICT.replace("100", "200")}
    checked_pull = opened(weakened, **{POLICY: STRICT})
    assert checked_pull.say(WAIVE_POLICY) == 0
    assert checked_pull.run_check() == 1
    verdicts = {c["name"]: c["verdict"] for c in checked_pull.result()["contracts"]}
    assert verdicts == {"sentiment": "fail", "gatekeeper-policy": "pass"}
    assert checked_pull.say(WAIVE) == 0
    assert checked_pull.run_check() == 0


def test_a_policy_that_is_not_weakened_cannot_be_waived(opened: Open) -> None:
    checked_pull = opened({PROMPT: BROKEN}, **{POLICY: STRICT})
    checked_pull.say(WAIVE_POLICY)
    assert "Waived for" not in checked_pull.reply
    assert checked_pull.reactions[-1] == "confused"
