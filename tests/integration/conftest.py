"""What several integration tests start from: a model on 127.0.0.1, and the ways into the gate."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from support.action_job import Job
from support.batch_fixtures import anthropic_batches, batch_provider, openai_batches
from support.bot_comments import CheckedPull
from support.checked import check_of
from support.generate_fixtures import generate, repository
from support.github_server import FakeGithub
from support.openai_server import OpenAIServer
from support.propose_fixtures import pull, writer
from support.pull_request import answer
from support.ways_in import run_gate, run_gate_each_way

from gatekeeper.author.recording import servers
from gatekeeper.gate.results.result import GateResult
from gatekeeper.providers.models.retirement import find_retirement
from gatekeeper.reports import write
from gatekeeper.reports.formats.result_json import encode, result_document

__all__ = [
    "anthropic_batches",
    "batch_provider",
    "check_of",
    "generate",
    "model",
    "openai_batches",
    "pull",
    "repository",
    "run_gate",
    "run_gate_each_way",
    "writer",
]


# What a module says that reads other reports than result.json and comment.md, or all files.
_READS_REPORTS = re.compile(
    r"report\.html|junit|\.csv|samples\.jsonl|summary\.md|iterdir|glob\(|st_size|write_reports"
    r"|\bsamples\(|\"diff\"|\"label\""
)


def _compact(result: GateResult, **more: Any) -> str:
    return encode(result_document(result, **more))


def _nothing(_: GateResult, **__: Any) -> str:
    return ""


_FEW: Mapping[str, Any] = {
    name: _compact if name == "result.json" else render if name == "comment.md" else _nothing
    for name, render in write._FORMATS.items()
}


@cache
def _reads_reports(module: Path) -> bool:
    return bool(_READS_REPORTS.search(module.read_text("utf-8")))


@pytest.fixture(autouse=True)
def few_reports(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports that no test of the module reads are empty; they take a quarter of the time of a
    check. What goes through the action has all of them: a hostile text comes into each report."""
    way = getattr(request.node, "callspec", None) and request.node.callspec.params.get("run_gate")
    if way in (None, "check") and not _reads_reports(request.node.path):
        monkeypatch.setattr(write, "_FORMATS", _FEW)


@pytest.fixture(autouse=True, scope="session")
def outside_of_pull_requests() -> Iterator[None]:
    """No test is refused because the suite tests a pull request, whatever system runs it."""
    with pytest.MonkeyPatch.context() as patch:
        for name in servers._OF_CHANGES:
            patch.delenv(name, raising=False)
        yield


@pytest.fixture
def job(
    github: FakeGithub, model: OpenAIServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Job:
    """Runs the action for a pull request, which asks `model`."""
    return Job(github, monkeypatch, tmp_path)


@pytest.fixture
def open_pull(job: Job) -> Callable[..., CheckedPull]:
    """Opens the pull request that changes files, with more files at base (`CheckedPull.make`)."""
    return partial(CheckedPull.make, job)


@pytest.fixture
def retires_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], date]:
    """Sets today so many days before the end of a model, and returns its last day."""

    def move(name: str, days: int) -> date:
        ends = find_retirement(name)
        assert ends
        day = ends.day - timedelta(days)
        monkeypatch.setattr("gatekeeper.providers.models.retirement.today", lambda: day)
        return ends.day

    return move


@pytest.fixture
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer(answer) as server:
        yield server
