"""The action on a disk that takes nothing: the verdict reaches the pull request all the same."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.bot_comments import CheckedPull
from support.github_server import FakeGithub
from support.pull_request import BROKEN, CONTRACT, HARMLESS, PROMPT

from gatekeeper.action import main as action

Open = Callable[..., CheckedPull]
OUT = ".gatekeeper/out"


@pytest.fixture
def opened(open_pull: Open) -> Open:
    return lambda prompt, files={}: open_pull({PROMPT: prompt, **files})


@pytest.mark.parametrize(
    ("prompt", "code", "verdict", "state"),
    [(HARMLESS, 3, "pass", "error"), (BROKEN, 1, "fail", "failure")],
)
def test_reports_that_cannot_be_written_hide_no_verdict(
    opened: Open,
    github: FakeGithub,
    capsys: pytest.CaptureFixture[str],
    prompt: str,
    code: int,
    verdict: str,
    state: str,
) -> None:
    checked_pull = opened(prompt)
    (checked_pull.change.workspace / OUT / "result.json").mkdir(parents=True)
    assert checked_pull.run_check() == code
    comment = checked_pull.own[0]
    assert ("Do not merge" in comment) == (verdict == "fail")
    assert "The reports could not be written" in comment
    assert "result.json" in comment
    assert github.verdicts[0].state == state
    found = checked_pull.job.outputs
    assert (found["verdict"], found["exit-code"]) == (verdict, str(code))
    assert "result-path" not in found
    log = capsys.readouterr().out
    assert "Traceback" not in log
    assert "::error" in log
    assert [path.name for path in (checked_pull.change.workspace / OUT).iterdir()] == [
        "result.json"
    ]


@pytest.mark.parametrize("place", [".gatekeeper", OUT])
def test_a_file_in_the_place_of_the_folder(opened: Open, place: str) -> None:
    checked_pull = opened(HARMLESS)
    path = checked_pull.change.workspace / place
    path.parent.mkdir(exist_ok=True)
    path.write_text("here first")
    assert checked_pull.run_check() in (2, 3)
    assert "bug in gatekeeper" not in checked_pull.own[0]
    assert path.read_text() == "here first"


@pytest.mark.parametrize(("prompt", "code"), [(HARMLESS, 3), (BROKEN, 1)])
def test_outputs_that_cannot_be_written_are_no_pass(
    opened: Open, tmp_path: Path, capsys: pytest.CaptureFixture[str], prompt: str, code: int
) -> None:
    checked_pull = opened(prompt)
    (tmp_path / "output").mkdir()
    assert checked_pull.run_check() == code
    assert "The outputs could not be written" in capsys.readouterr().out
    assert checked_pull.result()["verdict"] == ("pass" if code == 3 else "fail")
    assert len(checked_pull.own) == 1


def test_a_summary_that_cannot_be_written_is_a_warning(
    opened: Open, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checked_pull = opened(HARMLESS)
    (tmp_path / "summary").mkdir()
    assert checked_pull.run_check() == 0
    assert checked_pull.job.outputs["verdict"] == "pass"
    assert "::warning" in capsys.readouterr().out


def test_a_cache_that_cannot_be_written_is_a_notice(opened: Open) -> None:
    checked_pull = opened(HARMLESS)
    (checked_pull.change.workspace / "cache.jsonl").mkdir()
    assert checked_pull.run_check(cache="cache.jsonl") == 0
    assert any("cache.jsonl" in notice for notice in checked_pull.result()["notices"])


class _Full(io.StringIO):
    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(("prompt", "code"), [(HARMLESS, 0), (BROKEN, 1)])
def test_a_log_that_takes_nothing_hides_no_verdict(
    opened: Open, monkeypatch: pytest.MonkeyPatch, prompt: str, code: int
) -> None:
    checked_pull = opened(prompt)
    with monkeypatch.context() as full:
        full.setattr(sys, "stdout", _Full())
        assert checked_pull.run_check() == code
    assert ("Do not merge" in checked_pull.own[0]) == bool(code)


def test_an_error_leaves_no_result_of_an_earlier_run(opened: Open) -> None:
    checked_pull = opened(HARMLESS, {"contracts/sentiment.yaml": CONTRACT + "strange: 1\n"})
    out = checked_pull.change.workspace / OUT
    out.mkdir(parents=True)
    (out / "result.json").write_text("{}")
    assert checked_pull.run_check() == 2
    assert sorted(path.name for path in out.iterdir()) == ["comment.md"]


def test_a_fault_of_the_machine_is_told_as_one(
    opened: Open, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fault(*_: object) -> None:
        raise OSError(28, "No space left on device", "/some/file")

    monkeypatch.setattr(action, "result_of", fault)
    checked_pull = opened(HARMLESS)
    assert checked_pull.run_check() == 3
    assert "/some/file: cannot be written" in checked_pull.own[0]
    assert "Traceback" not in capsys.readouterr().out
