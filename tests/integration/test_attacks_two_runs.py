"""Two runs in one folder at the same time: neither deletes the answers that the other paid for."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.pull_request import CONTRACT, answer, files

from gatekeeper.cli.main import main
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.reports.redact import redactor
from gatekeeper.runs.answers.files import UNFINISHED, forget_unfinished
from gatekeeper.runs.answers.kept import AnswerLog, Header

FIXTURES = 4
HEADER = Header("p", "0" * 32)


def open_log(path: Path) -> AnswerLog:
    return AnswerLog(path, redactor(()))


@pytest.fixture
def written(tmp_path: Path) -> Iterator[AnswerLog]:
    """The file of a run that goes on."""
    log = open_log(tmp_path / UNFINISHED)
    log.start(HEADER)
    log.note_batch({"a": 1})
    yield log
    log.close()


def test_a_second_run_is_refused_while_the_first_goes_on(written: AnswerLog) -> None:
    content = written.path.read_bytes()
    with pytest.raises(UsageError):
        open_log(written.path).start(HEADER)
    with pytest.raises(UsageError):
        open_log(written.path).resume()
    assert written.path.read_bytes() == content
    written.close()
    second = open_log(written.path)
    second.resume()
    second.note_batch({"b": 2})
    second.close()
    assert (written.fault, second.fault) == (None, None)
    assert written.path.read_bytes().startswith(content)


def test_of_two_runs_that_began_together_the_second_deletes_nothing(written: AnswerLog) -> None:
    second = open_log(written.path)
    with pytest.raises(MeasurementError):
        second.note_batch({"b": 2})  # it had looked before the first one wrote
    forget_unfinished(written.path)
    assert written.path.exists()
    written.close()
    forget_unfinished(written.path)
    assert not written.path.exists()


@pytest.fixture
def suite(git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch) -> Path:
    made = git_repository("suite")
    made.commit("suite", {**files(FIXTURES), "contracts/sentiment.yaml": CONTRACT})
    monkeypatch.chdir(made.path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    return made.path


@pytest.mark.long
@pytest.mark.parametrize("command", ["run", "sample"])
def test_the_answers_of_a_killed_run_outlive_a_second_run(command: str, suite: Path) -> None:
    first_answers, asked = threading.Event(), 0
    lock = threading.Lock()

    def answering(body: Mapping[str, Any]) -> str:
        nonlocal asked
        with lock:
            asked += 1
            late = asked == FIXTURES
        if late:
            first_answers.wait(120)
        return answer(body)

    with OpenAIServer(answering):
        arguments = ["run", "--out", "out"]
        kept = suite / "out" / UNFINISHED
        if command == "sample":
            assert main(["plan", "--shards", "1", "--out", "plan.json"]) == 0
            arguments = ["sample", "--plan", "plan.json", "--shard", "1/1", "--out", "out"]
            kept = suite / "out" / "shard-1-of-1.jsonl"
        with subprocess.Popen([sys.executable, "-m", "gatekeeper", *arguments]) as first:
            try:
                while not (kept.exists() and kept.read_bytes().count(b'"answer"') == FIXTURES - 1):
                    assert first.poll() is None
                    first_answers.wait(0.02)
                content = kept.read_bytes()
                assert main(arguments) == 2
                assert main([*arguments, "--resume"]) == 2
                assert kept.read_bytes() == content
            finally:
                first.kill()
                first_answers.set()
        assert main([*arguments, "--resume"]) == 0
    assert asked == FIXTURES + 1  # the one that was under way is asked again


def test_batches_that_a_commit_brings_are_not_collected(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = GitRepository(suite)
    batch = {"intended": "k", "model": "m", "names": []}
    lines = map(json.dumps, (asdict(HEADER), batch))
    made.commit("batches", {f"out/{UNFINISHED}": "\n".join(lines)})
    assert main(["run", "--out", "out", "--batch", "--resume"]) == 2
    assert UNFINISHED in capsys.readouterr().err
