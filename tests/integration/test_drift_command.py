"""`gatekeeper drift` on a history that is really there."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from support.nightly_records import nights
from support.recorded_repository import GOOD, PROMPT, WORDS, answers, result_of, write_contract

from gatekeeper.cli.main import main
from gatekeeper.history.stores.file_store import FileHistory


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


def test_a_run_that_is_kept_names_the_drift(git_repository, tmp_path):
    """The prompt did not change, so the run says since when the model answers worse."""
    made = git_repository("words")
    write_contract(made, GOOD, recorded=answers(PROMPT, dict.fromkeys(WORDS, "no")))
    made.commit("sound")
    history, out = tmp_path / "runs.jsonl", tmp_path / "out"
    run = ["run", "--repo", str(made.path), "--history", str(history), "--out", str(out)]
    main(run)
    assert not any("answers worse" in notice for notice in result_of(out)["notices"])

    (tonight,) = FileHistory(history).read().records
    good = {fixture: (events, 0) for fixture, (events, _) in tonight.fixtures.items()}
    before = [
        replace(
            tonight,
            id=f"{days}",
            time=tonight.time - timedelta(days=days),
            fixtures=good if days > 11 else tonight.fixtures,
        )
        for days in range(1, 50)
    ]
    FileHistory(history).append(before)
    main(run)
    [notice] = result_of(out)["notices"]
    assert notice.startswith("words: ")
    assert "answers worse since" in notice
    assert "although the prompt did not change" in notice
    assert "Improve the prompt" not in (out / "summary.md").read_text("utf-8")
