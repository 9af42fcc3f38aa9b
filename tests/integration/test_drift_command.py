"""`gatekeeper drift` on a history that is really there."""

from __future__ import annotations

import json

import pytest
from support.nightly_records import nights

from gatekeeper.cli.main import main
from gatekeeper.history.file_store import FileHistory


@pytest.fixture
def history(tmp_path):
    file = tmp_path / "runs.jsonl"
    FileHistory(file).append(nights(20) + nights(12, rate=0.4, start=20))
    return file


def test_a_drift_ends_in_exit_code_1(history, git_repository, capsys):
    made = git_repository("drift")
    made.commit("first", {"README.md": "a\n"})
    command = ["drift", "--repo", str(made.path), "--history", str(history)]
    assert main(command) == 1
    assert "answers worse" in capsys.readouterr().out
    assert main([*command, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["contracts"][0]["status"] == "drifted"
    assert main([*command, "--contract", "others"]) == 0
    assert "others: no run in the history" in capsys.readouterr().out


def test_a_history_that_is_switched_off_is_explained(git_repository, capsys):
    made = git_repository("off")
    made.commit("first", {".github/gatekeeper.yml": 'history: "off"\n'})
    code = main(["drift", "--repo", str(made.path)])
    error = capsys.readouterr().err
    assert code == 2, error
    assert "--history" in error
