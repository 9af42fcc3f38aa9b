"""A pull request that may not spend: its check finds mistakes, names the price and fails."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.bot_comments import CheckedPull
from support.github_server import FakeGithub, Fault
from support.openai_server import OpenAIServer
from support.pull_request import BROKEN, FEW, HARMLESS, PROMPT

Open = Callable[..., CheckedPull]


def test_a_draft_is_forecast_and_not_tested(
    open_pull: Open, github: FakeGithub, model: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    pull = open_pull({PROMPT: HARMLESS}, draft=True)
    # A green job would count as the required check once the pull request is ready.
    assert pull.run_check({"draft": True}) == 3
    assert model.requests == []
    (comment,) = github.comments[7]
    for said in ("Not tested yet", "is a draft", "ready_for_review", "What a test takes", "USD"):
        assert said in comment.body
    (status,) = github.statuses
    assert (status.sha, status.state) == (pull.change.head, "pending")
    assert "Not tested yet. A test takes expected" in (status.description or "")
    assert (pull.job.outputs["verdict"], pull.job.outputs["exit-code"]) == ("error", "3")
    assert "::error title=Not tested yet::The pull request is a draft" in capsys.readouterr().out
    written = (pull.change.workspace / pull.job.outputs["comment-file"]).read_text()
    assert "What a test takes" in written

    # It becomes ready. The job that is run again gets the event of the draft.
    github.pull_request(7, pull.change.head)
    assert pull.run_check({"draft": True}) == 0
    assert len(model.requests) == 2 * FEW
    assert "May merge" in github.comments[7][0].body
    assert [s.state for s in github.verdicts] == ["success"]


def test_a_draft_is_tested_if_the_workflow_says_so(open_pull: Open, github: FakeGithub) -> None:
    pull = open_pull({PROMPT: BROKEN}, draft=True)
    assert pull.run_check({"draft": True}, on="draft") == 1
    assert github.statuses[-1].state == "failure"


@pytest.mark.parametrize("labels", [(), ("prompt",), ("prompts-2",)])
def test_a_pull_request_without_the_label_is_held(
    open_pull: Open, github: FakeGithub, model: OpenAIServer, labels: tuple[str, ...]
) -> None:
    pull = open_pull({PROMPT: BROKEN}, labels=labels)
    # What the event says may be hours old.
    assert pull.run_check({"labels": [{"name": "prompts"}]}, label="prompts") == 3
    assert model.requests == []
    assert "does not have the label `prompts`" in github.comments[7][0].body
    assert "`labeled`" in github.comments[7][0].body
    assert github.statuses[-1].state == "pending"


def test_the_label_releases_the_run(open_pull: Open, github: FakeGithub) -> None:
    pull = open_pull({PROMPT: BROKEN}, labels=("bug", "Test-Prompts"))
    assert pull.run_check(label="test-prompts") == 1


def test_a_draft_with_the_label_is_still_a_draft(
    open_pull: Open, github: FakeGithub, model: OpenAIServer
) -> None:
    pull = open_pull({PROMPT: BROKEN}, labels=("prompts",), draft=True)
    assert pull.run_check({"draft": True}, label="prompts") == 3
    assert model.requests == []
    assert "does not have the label" not in github.comments[7][0].body


def test_a_check_that_costs_nothing_is_not_held(open_pull: Open, github: FakeGithub) -> None:
    pull = open_pull({"README.md": "Another product.\n"}, draft=True)
    assert pull.run_check({"draft": True}, label="prompts") == 0
    assert github.comments[7] == []
    assert github.statuses[-1].state == "success"


def test_a_mistake_is_found_in_a_draft(open_pull: Open, github: FakeGithub) -> None:
    pull = open_pull({"contracts/sentiment.yaml": "contract: 1\nnmae: x\n"}, draft=True)
    assert pull.run_check({"draft": True}) == 2
    assert "contracts/sentiment.yaml:2" in github.comments[7][0].body


def test_nobody_spends_if_github_does_not_say_who_may(
    open_pull: Open, github: FakeGithub, model: OpenAIServer
) -> None:
    pull = open_pull({PROMPT: HARMLESS}, labels=("prompts",))
    github.faults.append(Fault("GET", r"/pulls/7$", status=404, times=1))
    assert pull.run_check(label="prompts") == 3
    assert model.requests == []
    assert github.statuses[-1].state == "error"


def test_a_word_that_is_no_choice_is_named(
    open_pull: Open, capsys: pytest.CaptureFixture[str]
) -> None:
    assert open_pull({PROMPT: HARMLESS}).run_check(on="review") == 2
    assert "input on: 'review' is not valid; use one of draft, ready" in capsys.readouterr().out
