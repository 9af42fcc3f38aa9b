"""Models that are gone: the name of a provider that closed, and a server that answers 410."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest
from support import openai_server as faults
from support.bot_comments import CheckedPull
from support.edited_text import edited
from support.github_server import FakeGithub
from support.message_servers import Webhook
from support.openai_server import OpenAIServer
from support.pull_request import BROKEN, CONTRACT, HARMLESS, PROMPT

from gatekeeper.cli.main import main

pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

Open = Callable[..., CheckedPull]
FILE = "contracts/sentiment.yaml"


def model_is(name: str, contract: str = CONTRACT) -> str:
    return edited(contract, "openai/gpt-4o-mini", name)


def test_a_gate_whose_provider_is_gone_is_red_and_says_so(
    open_pull: Open, model: OpenAIServer
) -> None:
    model._answer = lambda _: faults.gone()
    pull = open_pull({PROMPT: HARMLESS})
    assert pull.run_check() == 3
    [comment] = pull.own
    assert "HTTP 410" in comment
    assert "the model or its provider is gone" in comment


@pytest.mark.parametrize(
    ("before", "head", "exit_code", "said"),
    [
        ("github/openai/gpt-4o-mini", {FILE: CONTRACT}, 0, "GitHub Models closed on 2026-07-30"),
        ("opnai/gpt-4o-mini", {FILE: CONTRACT}, 0, "there is no provider `opnai`"),
        ("meta/x", {FILE: CONTRACT, PROMPT: BROKEN}, 1, "which closed on 2026-07-30"),
        ("github/openai/gpt-4o", {PROMPT: HARMLESS}, 2, "`openai/gpt-4o`"),
        ("github/openai/gpt-4o", {FILE: model_is("github/x")}, 2, "GitHub Models closed"),
    ],
)
def test_a_pull_request_can_leave_a_model_that_cannot_be_called(
    before: str,
    head: dict[str, str],
    exit_code: int,
    said: str,
    open_pull: Open,
) -> None:
    allowed = {".github/gatekeeper.yml": "models: [openai/*, opnai/*, github/*, meta/*]\n"}
    base = {FILE: model_is(before), **allowed}
    pull = open_pull(head, base)
    assert pull.run_check() == exit_code
    [comment] = pull.own
    assert said in comment
    if exit_code == 0:
        assert "Base is not compared" in comment
        assert pull.result()["verdict"] == "inconclusive"


LOOSER = edited(
    CONTRACT, '{type: equals, value: "{{ expected }}"}', "{type: not_contains, value: x}"
)
FEWER = edited(CONTRACT, "{temperature: 0}", "{temperature: 0}\nslo: {success_rate: 0.2}")
REQUIRED = "models: [openai/*]\non_weakening: require_waiver\n"


@pytest.mark.parametrize(
    ("head", "policy", "exit_code", "verdict", "said"),
    [
        ({FILE: CONTRACT, PROMPT: HARMLESS}, "", 0, "pass", "are tested with the model of this"),
        ({FILE: LOOSER, PROMPT: BROKEN}, "", 1, "fail", "base contract also applies"),
        ({FILE: FEWER, PROMPT: BROKEN}, "", 1, "fail", "fixtures broke"),
        ({FILE: LOOSER}, "", 0, "inconclusive", "base contract also applies"),
        ({FILE: LOOSER}, REQUIRED, 1, "fail", "requires a maintainer's waiver"),
    ],
)
def test_another_model_does_not_hide_a_worse_prompt_or_looser_checks(
    head: dict[str, str],
    policy: str,
    exit_code: int,
    verdict: str,
    said: str,
    open_pull: Open,
) -> None:
    base = {FILE: model_is("github/openai/gpt-4o-mini")}
    base[".github/gatekeeper.yml"] = policy or "models: [openai/*]\n"
    pull = open_pull(head, base)
    assert pull.run_check() == exit_code
    [comment] = pull.own
    assert said in comment
    assert "GitHub Models closed on 2026-07-30" in comment
    assert pull.result()["verdict"] == verdict


SNAPSHOT = "openai/gpt-4o-mini-2024-07-18"


@pytest.mark.parametrize(("left", "level"), [(48, "warning"), (200, "note")])
def test_the_end_of_a_model_is_in_the_comment_and_in_validate(
    left: int,
    level: str,
    open_pull: Open,
    retires_in: Callable[[str, int], date],
    capsys: pytest.CaptureFixture[str],
) -> None:
    day = retires_in(SNAPSHOT, left)
    base = {FILE: model_is(SNAPSHOT)}
    pull = open_pull({PROMPT: HARMLESS}, base)
    assert pull.run_check() == 0
    [comment] = pull.own
    end = f"`{SNAPSHOT}` retires on {day} (in {left} days)"
    assert (end in comment) == (level == "warning")
    capsys.readouterr()
    assert main(["validate", "--repo", str(pull.change.workspace)]) == 0
    place = f"{level}: {FILE}:5:8: {'model: ' * (level == 'warning')}"
    assert f"{place}{end}" in capsys.readouterr().out


def test_the_third_night_without_a_measurement_is_told_once(
    open_pull: Open, model: OpenAIServer, github: FakeGithub
) -> None:
    pull = open_pull({PROMPT: HARMLESS})
    github.refs["heads/main"] = pull.change.merge
    history = pull.change.workspace / "history.jsonl"
    answers = model._answer
    with Webhook() as chat:
        told = f"json://127.0.0.1:{chat.port}/0123456789abcdefghij"

        def night(ago: float, exit_code: int) -> list[str]:
            """One night, `ago` days after the last that was measured."""
            [found] = [json.loads(text) for text in history.read_text().splitlines()]
            found["time"] = (datetime.now(UTC) - timedelta(ago)).isoformat()
            history.write_text(json.dumps(found) + "\n")
            assert pull.act("schedule", {}, history=history.name, notify=told) == exit_code
            return [issue.state for issue in github.issues]

        assert pull.act("schedule", {}, history=history.name, notify=told) == 0
        assert github.issues == chat.received == []
        model._answer = lambda _: faults.gone()
        assert night(1, 3) == night(2, 3) == []
        assert night(3, 3) == night(4, 3) == ["open"]
        # A missing key ends the run before it has a result.
        pull.job.variables["OPENAI_API_KEY"] = ""
        assert night(5, 2) == ["open"]
        pull.job.variables.clear()
        [message], [issue] = chat.received, github.issues
        assert issue.title == "Nightly runs cannot measure: sentiment"
        assert "no API key" in issue.body
        model._answer = answers
        assert pull.act("schedule", {}, history=history.name, notify=told) == 0
        assert len(chat.received) == 1
    assert "nightly runs cannot measure" in message["title"]
    assert "sentiment: nightly runs could not measure it since" in message["message"]
    assert (issue.title, issue.state) == ("Nightly runs cannot measure: over", "closed")


def test_a_nightly_run_opens_one_issue_about_a_model_that_retires(
    open_pull: Open, github: FakeGithub, retires_in: Callable[[str, int], date]
) -> None:
    base = {FILE: model_is(SNAPSHOT)}
    pull = open_pull({PROMPT: HARMLESS}, base)
    for left, opened in ((91, 0), (90, 1), (31, 1), (29, 2)):
        day = retires_in(SNAPSHOT, left)
        assert pull.act("schedule", {}, history="history.jsonl") == 0
        assert len(github.issues) == opened
    assert [issue.state for issue in github.issues] == ["closed", "open"]
    assert github.issues[1].title == f"Model retires on {day}: {SNAPSHOT}"
    assert "Last checked by [this run](http" in github.issues[1].body
