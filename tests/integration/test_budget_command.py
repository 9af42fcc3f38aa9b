"""`gatekeeper budget`, from a history file to the terminal and to JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.git_repository import GitRepository
from support.recorded_repository import GOOD, write_contract

from gatekeeper.cli.main import main
from gatekeeper.history.record import Record
from gatekeeper.history.stores.file_store import FileHistory

OWN = "slo: {success_rate: 0.5}\n"
SLO = "slo: {success_rate: 0.9, latency_p95_ms: 500, cost_per_call_usd: 1}\n"


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    made = git_repository("words")
    write_contract(made, GOOD.replace(OWN, SLO))
    made.commit("sound")
    return made


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Ten days of runs, the last five bad."""
    path, now = tmp_path / "runs.jsonl", datetime.now(UTC)
    FileHistory(path).append(
        [record(now - timedelta(days=d), 60 if d < 5 else 1) for d in range(10)]
    )
    return path


def record(time: datetime, failed: int) -> Record:
    return Record(
        id=time.isoformat(),
        time=time,
        trigger="schedule",
        sha="0" * 40,
        contract="words",
        model="m",
        version="1",
        samples=100,
        failed=failed,
        interval=None,
        calls=100,
        failed_calls=0,
        objectives={"latency_p95_ms": (100, 2)},
    )


def budget(repository: GitRepository, *arguments: object) -> int:
    return main(["budget", "--repo", str(repository.path), *map(str, arguments)])


def test_json_holds_everything(repository, history, capsys):
    assert budget(repository, "--history", history, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    (contract,) = found["contracts"]
    assert (contract["name"], contract["frozen"], contract["exempt"]) == ("words", True, False)
    rate, latency = contract["error_budgets"]
    assert (rate["objective"], rate["events"], rate["spent"]) == ("success_rate", 1000, 305)
    assert (rate["budget"], rate["left"]) == (100.0, -205.0)
    assert list(rate["burn_rate"]) == ["1d", "7d", "28d"]
    assert rate["burning"] == ["7d", "28d"]
    assert datetime.fromisoformat(rate["frozen_until"]) > datetime.now(UTC) + timedelta(days=20)
    assert (latency["spent"], latency["left"], latency["frozen_until"]) == (20, 30.0, None)


def test_the_table_names_what_is_frozen(repository, history, capsys):
    assert budget(repository, "--history", history) == 0
    shown = capsys.readouterr().out
    rate = next(line for line in shown.splitlines() if "success rate" in line)
    assert {"words", "28d", "1,000", "305", "−205"} <= set(rate.split())
    assert "4.31 ⚠️" in rate
    assert "UTC" in rate
    assert "latency p95" in shown
    assert "cost per call" not in shown
    assert "words is frozen" in shown


def test_without_a_run_nothing_is_known(repository, capsys):
    assert budget(repository, "--history", "branch:gatekeeper-data") == 0
    shown = capsys.readouterr().out
    assert "no history" in shown
    assert "frozen:" not in shown


def test_what_the_policy_exempts_is_not_frozen(repository, history, capsys):
    policy = "error_budget: {exempt: [words]}\n"
    repository.commit("exempt", {".github/gatekeeper.yml": policy})
    assert budget(repository, "--history", history) == 0
    shown = capsys.readouterr().out
    assert "exempt" in shown
    assert "is frozen" not in shown


def test_a_policy_that_does_not_freeze(repository, history, capsys):
    repository.commit("thaw", {".github/gatekeeper.yml": "error_budget: {freeze: false}\n"})
    assert budget(repository, "--history", history) == 0
    assert "the policy has no freeze" in capsys.readouterr().out


def test_an_unknown_contract_and_no_history_are_told(repository, history, capsys):
    assert budget(repository, "--history", history, "--contract", "wrods") == 2
    assert "did you mean 'words'" in capsys.readouterr().err
    repository.commit("off", {".github/gatekeeper.yml": "history: false\n"})
    assert budget(repository) == 2
    assert "--history" in capsys.readouterr().err


def test_a_contract_without_a_budget(git_repository, history, capsys):
    made = git_repository("plain")
    write_contract(made, GOOD.replace(OWN, "slo: {cost_per_call_usd: 1}\n"))
    made.commit("sound")
    assert budget(made, "--history", history) == 0
    assert "No contract has an objective" in capsys.readouterr().out


def test_a_damaged_line_is_told_and_never_fatal(repository, history, capsys):
    history.write_text(history.read_text("utf-8") + "not json\n", "utf-8")
    assert budget(repository, "--history", history) == 0
    assert "runs.jsonl" in capsys.readouterr().out
