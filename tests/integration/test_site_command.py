"""`gatekeeper site` in a repository, with a history and kept reports."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.past_runs import line
from support.site_history import name_of, nightly_history, write_repository

from gatekeeper.cli.main import main
from gatekeeper.history.stores.lines import to_lines
from gatekeeper.reports.html.page import page
from gatekeeper.reports.site.frame import page_path


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_repository(tmp_path, 2, 3)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kept(folder: Path, sha: str, started: str, **changes) -> None:
    folder.mkdir(parents=True)
    document = {
        "schema": 1,
        "kind": "run",
        "verdict": "pass",
        "head": {"sha": sha},
        "started": started,
        "contracts": [{"name": name_of(0)}],
        "judge_agreement": [
            {"contract": name_of(0), "check": "polite", "judges": ["a", "b"], "outputs": 30,
             "agreed": 0.9, "kappa": {"value": 0.75, "interval": None}, "repeats": {}},
        ],
    }  # fmt: skip
    (folder / "result.json").write_text(json.dumps(document | changes))
    (folder / "report.html").write_text(page("A run", "<main>The report"))


def test_history_contracts_and_reports_become_pages(repository: Path, capsys) -> None:
    records = nightly_history(2, 5, 3, datetime(2026, 11, 20, 3, tzinfo=UTC))
    (repository / "runs.jsonl").write_bytes(to_lines(records) + b"broken\n")
    run = next(record for record in reversed(records) if record.contract == name_of(0))
    kept(repository / "kept" / "1", run.sha, run.time.isoformat())
    kept(repository / "kept" / "2", "b" * 40, "2026-11-19T00:00:00+00:00", kind="check")
    kept(repository / "kept" / "3", "c" * 40, "2026-11-19T00:00:00+00:00")
    (repository / "kept" / "3" / "report.html").write_text("<script>alert(1)</script>")
    history = str(repository / "runs.jsonl")
    command = ["site", "--history", history, "--reports", "kept", "--out", "out"]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("out/index.html: ")
    first = (repository / "out" / "index.html").read_text("utf-8")
    assert "from runs.jsonl." in first
    assert str(repository) not in first
    assert "runs.jsonl:11: " in captured.err
    assert "kept/3" in captured.err
    reports = list((repository / "out" / "runs").iterdir())
    assert len(reports) == 1
    own = (repository / "out" / page_path(name_of(0))).read_text("utf-8")
    assert f'href="../runs/{reports[0].name}"' in own
    assert "polite" in own
    assert "0.75" in own
    assert reports[0].name in (repository / "out" / "runs.html").read_text("utf-8")
    assert main(command) == 0


def test_a_misspelt_history_or_folder_is_refused(repository: Path) -> None:
    (repository / "runs.jsonl").write_text(line(contract="tag") + "\n")
    assert main(["site", "--history", "run.jsonl"]) == 2
    assert main(["site", "--history", "runs.jsonl", "--reports", "nowhere"]) == 2
    (repository / "site").write_text("mine")
    assert main(["site", "--history", "runs.jsonl", "--out", "site"]) == 2
    assert (repository / "site").read_text() == "mine"


def test_the_folder_of_the_site_is_ignored_by_git(repository: Path) -> None:
    (repository / "runs.jsonl").write_text(line(contract="tag") + "\n")
    assert main(["site", "--history", "runs.jsonl"]) == 0
    assert (repository / ".gatekeeper" / "site" / "index.html").is_file()
    assert (repository / ".gatekeeper" / ".gitignore").read_text() == "*\n"


def test_a_secret_of_the_environment_is_not_published(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abcdefgh12345678")
    text = line(contract="sk-abcdefgh12345678", model="m sk-abcdefgh12345678")
    (repository / "runs.jsonl").write_text(text + "\n")
    assert main(["site", "--history", "runs.jsonl", "--title", "sk-abcdefgh12345678"]) == 0
    for path in (repository / "site").rglob("*"):
        assert "abcdefgh12345678" not in path.name
        if path.is_file():
            assert b"abcdefgh12345678" not in path.read_bytes()
