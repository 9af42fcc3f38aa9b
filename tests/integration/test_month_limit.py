"""The limit of the month, through the action and the terminal: a GitHub and a model on 127.0.0.1, a
history in a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support import webhook_payloads as payloads
from support.bot_comments import CheckedPull
from support.github_server import FakeGithub
from support.message_servers import Webhook
from support.openai_server import OpenAIServer
from support.past_runs import line
from support.pull_request import HARMLESS, PROMPT

from gatekeeper.cli.main import main

pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

HISTORY = "history.jsonl"
POLICY = ".github/gatekeeper.yml"


def past(checked_pull: CheckedPull, cost_usd: float | None, **fields: object) -> None:
    """A month in which one run cost so much."""
    path = checked_pull.change.workspace / HISTORY
    time = datetime.now(UTC).isoformat()  # of this month on its first second, too
    path.write_text(line(time=time, cost_usd=cost_usd, **fields) + "\n")


@pytest.fixture
def checked_pull(open_pull: Callable[..., CheckedPull], github: FakeGithub) -> CheckedPull:
    policy = {POLICY: "limits: {month_usd: 10}\nmodels: [openai/*]\n"}
    made = open_pull({PROMPT: HARMLESS}, policy)
    github.refs["heads/main"] = made.change.merge
    return made


def summary(checked_pull: CheckedPull) -> str:
    return (checked_pull.folder / "summary").read_text().replace("\u00a0", " ")


def test_at_the_limit_full_suites_are_refused_before_any_call(
    checked_pull: CheckedPull, model: OpenAIServer
) -> None:
    past(checked_pull, 10.0)
    for name in ("schedule", "workflow_dispatch"):
        assert checked_pull.act(name, payloads.dispatch(), history=HISTORY) == 2
        said = summary(checked_pull)
        assert "10.00 USD were spent this month" in said
        assert "raise limits.month_usd in .github/gatekeeper.yml" in said
    assert model.requests == []


def test_pull_requests_and_pushes_are_never_held_back(
    checked_pull: CheckedPull, model: OpenAIServer
) -> None:
    past(checked_pull, 1000.0)
    assert checked_pull.run_check(history=HISTORY) == 0
    checked = len(model.requests)
    push = payloads.push(before=checked_pull.change.base, after=checked_pull.change.merge)
    assert checked_pull.act("push", push, history=HISTORY) == 0
    assert len(model.requests) > checked > 0


def test_the_bot_s_full_suite_is_held_back_and_its_rerun_is_not(
    checked_pull: CheckedPull, github: FakeGithub, model: OpenAIServer
) -> None:
    past(checked_pull, 10.0)
    assert checked_pull.run_check(history=HISTORY) == 0
    before = len(model.requests)
    checked_pull.say("/gatekeeper full", history=HISTORY)
    assert len(model.requests) == before
    assert "limits.month_usd" in github.comments[7][-1].body


@pytest.mark.long
def test_a_threshold_is_told_once_when_it_is_crossed(checked_pull: CheckedPull) -> None:
    past(checked_pull, 7.9999999)
    with Webhook() as chat:
        told = f"json://127.0.0.1:{chat.port}/0123456789abcdefghij"
        for number in range(2):
            assert checked_pull.act("schedule", {}, history=HISTORY, notify=told) == 0
            assert len(chat.received) == 1, number
        (message,) = chat.received
    assert "the spending limit of the month is nearly reached" in message["title"]
    assert "limits.month_usd: 8.00 USD were spent this month" in message["message"]


def test_a_dispatched_run_crosses_the_limit_too(checked_pull: CheckedPull) -> None:
    past(checked_pull, 9.9999999)
    with Webhook() as chat:
        told = f"json://127.0.0.1:{chat.port}/0123456789abcdefghij"
        dispatch = payloads.dispatch()
        assert checked_pull.act("workflow_dispatch", dispatch, history=HISTORY, notify=told) == 0
        (message,) = chat.received
        assert "full suites do not start until" in message["message"]
        assert checked_pull.act("schedule", {}, history=HISTORY, notify=told) == 2
        assert len(chat.received) == 1


def test_an_unknown_price_is_said(checked_pull: CheckedPull) -> None:
    past(checked_pull, None)
    assert checked_pull.act("schedule", {}, history=HISTORY) == 0
    assert "The cost of 1 record of this month is not known" in summary(checked_pull)


def test_a_history_that_cannot_be_read_holds_back(
    checked_pull: CheckedPull, model: OpenAIServer
) -> None:
    (checked_pull.change.workspace / "runs.sqlite").write_text("no database")
    assert checked_pull.act("schedule", {}, history="runs.sqlite") == 3
    assert "does not know what was spent this month" in summary(checked_pull)
    assert model.requests == []


def test_without_a_history_a_run_is_not_limited_and_says_so(checked_pull: CheckedPull) -> None:
    assert checked_pull.act("schedule", {}, history="off") == 0
    assert "limits.month_usd has no effect on this run" in summary(checked_pull)


def test_the_terminal_refuses_too(
    checked_pull: CheckedPull,
    model: OpenAIServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    past(checked_pull, 12.5)
    history = str(checked_pull.change.workspace / HISTORY)
    arguments = [
        "run",
        "--repo",
        str(checked_pull.change.workspace),
        "--ref",
        checked_pull.change.merge,
    ]
    out = ["--out", str(tmp_path / "out")]
    assert main([*arguments, *out, "--history", history]) == 2
    assert "12.50 USD were spent this month" in capsys.readouterr().err.replace("\u00a0", " ")
    assert model.requests == []
    assert json.loads(Path(history).read_text().splitlines()[0])["cost_usd"] == 12.5
