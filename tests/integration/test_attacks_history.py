"""A pull request that brings past runs of its own, through the action: they are not believed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.bot_comments import Desk
from support.github_server import FakeGithub
from support.openai_server import OpenAIServer
from support.past_runs import line
from support.pull_request import CONTRACT, HARMLESS, PROMPT

pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

Judge = Callable[..., int]
WITH_OBJECTIVE = CONTRACT + "slo: {success_rate: 0.9, window: 28d}\n"


def a_run(failed: int) -> str:
    time = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    counts = {"samples": 1000, "failed": failed, "calls": 1000}
    return line(time=time, contract="sentiment", **counts) + "\n"


@pytest.fixture
def judge(
    github: FakeGithub, model: OpenAIServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Judge:
    """What a pull request ends with whose base and head have these files."""

    def run(before: dict[str, str], files: dict[str, str], **inputs: str) -> int:
        more: dict[str, str | bytes] = {"contracts/sentiment.yaml": WITH_OBJECTIVE, **before}
        return Desk.make(tmp_path, github, model, monkeypatch, files, more).judge(**inputs)

    return run


def test_the_budget_of_a_history_in_the_repository_freezes(judge: Judge) -> None:
    """The tests below could not fail if such a history was never read."""
    assert judge({"runs.jsonl": a_run(900)}, {PROMPT: HARMLESS}, history="runs.jsonl") == 1


@pytest.mark.parametrize("before", [{"past/runs.jsonl": a_run(900)}, {}], ids=["changed", "added"])
def test_a_pull_request_does_not_write_its_own_past(
    before: dict[str, str], judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {PROMPT: HARMLESS, "past/runs.jsonl": a_run(0)}
    assert judge(before, files, history="past/runs.jsonl") == 2
    assert "the change brings past/runs.jsonl itself" in capsys.readouterr().out


def test_a_change_to_the_past_alone_is_for_people_to_judge(judge: Judge) -> None:
    """Else a file that should never have been committed could not be taken out again."""
    assert judge({"runs.jsonl": a_run(900)}, {"runs.jsonl": a_run(0)}, history="runs.jsonl") == 0


def test_a_location_of_another_kind_is_no_file_of_the_repository(judge: Judge) -> None:
    assert judge({}, {PROMPT: HARMLESS, "off": "Not a history."}, history="off") == 0
