"""`gatekeeper selftest`: from the nights of a history, or from new samples."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.nightly_records import nights
from support.plain_spaces import spaced
from support.recorded_repository import (
    GOOD,
    PROMPT,
    RECORDING,
    WORDS,
    answers,
    check,
    recording,
    write_contract,
)

from gatekeeper.cli.main import main
from gatekeeper.git import Repository
from gatekeeper.history.record import fixture_key
from gatekeeper.history.stores.file_store import FileHistory
from gatekeeper.history.stores.open import open_history


@pytest.fixture
def selftest_of(git_repository: Any) -> Any:
    """Run the command on a repository whose recording has so many samples of each word."""

    def run(recorded: int, *options: str, contract: str = GOOD) -> int:
        made = git_repository("words")
        says = dict.fromkeys(WORDS, ["ok"] * recorded)
        write_contract(made, contract, recorded=answers(PROMPT, says))
        made.commit("sound")
        return main(["selftest", "--repo", str(made.path), "--runs", "4", *options])

    return run


def past(tmp_path: Path, count: int, failed: int = 0) -> str:
    """A history of nights with one sample of every word, of which the first nights failed."""
    file = tmp_path / "runs.jsonl"
    every = [
        replace(night, fixtures={fixture_key(w): (1, int(n < failed)) for w in WORDS})
        for n, night in enumerate(nights(count, fixtures=len(WORDS), rate=1.0))
    ]
    FileHistory(file).append(every)
    return str(file)


def test_the_nights_of_the_history_are_enough(selftest_of, tmp_path, capsys) -> None:
    assert selftest_of(1, "--history", past(tmp_path, 6)) == 0
    out = spaced(capsys.readouterr().out)
    assert "words, from the nights in the history:" in out
    assert "harmless change: blocked 0 of 4 times (0 % – 49 %)" in out
    assert "1 of 6 broken: found in 100 %" in out
    assert "5 points spread over all inputs: found in" in out


def test_without_a_history_new_samples_are_taken(selftest_of, capsys) -> None:
    assert selftest_of(4, "--json") == 0
    found = json.loads(capsys.readouterr().out)["words"]
    assert found["fixtures"] == 6
    assert found["counts"]["harmless"] == [4, 0]
    assert found["counts"]["broken_1"] == [4, 4]


def test_a_recording_replaces_the_model_and_the_history(selftest_of, tmp_path, capsys) -> None:
    file = tmp_path / "other.jsonl"
    lines = recording(answers(PROMPT, dict.fromkeys(WORDS, ["no"] * 4))).splitlines()
    named = [json.dumps(json.loads(line) | {"model": f"recorded/{RECORDING}"}) for line in lines]
    file.write_text("\n".join(named), "utf-8")
    assert selftest_of(4, "--json", "--replay", str(file)) == 0
    # Nothing passes in the recording, so nothing can break.
    assert "broken_1" not in json.loads(capsys.readouterr().out)["words"]["counts"]


def test_the_same_samples_give_the_same_figures(selftest_of, tmp_path, capsys) -> None:
    history = past(tmp_path, 8, failed=3)
    shown = []
    for _ in range(2):
        selftest_of(1, "--history", history)
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]


def test_too_few_samples_are_no_measurement(selftest_of, tmp_path, capsys) -> None:
    assert selftest_of(1, "--history", past(tmp_path, 2)) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    error = spaced(captured.err)
    assert "words: cannot be measured: 1.0 samples of each fixture do not tell" in error


def test_a_history_without_this_contract_is_no_history_of_it(selftest_of, tmp_path, capsys) -> None:
    file = tmp_path / "runs.jsonl"
    FileHistory(file).append(nights(9, contract="others"))
    assert selftest_of(5, "--history", str(file)) == 0
    assert "words, from new samples:" in capsys.readouterr().out


@pytest.mark.parametrize("runs", ["0", "-1", "many", "1e3"])
def test_a_wrong_number_of_runs_is_refused(runs, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["selftest", "--runs", runs])
    assert ended.value.code == 2
    assert "--runs" in capsys.readouterr().err


def test_a_missing_history_file_is_refused(selftest_of, tmp_path, capsys) -> None:
    assert selftest_of(4, "--history", str(tmp_path / "none.jsonl")) == 2
    assert "none.jsonl" in capsys.readouterr().err


@pytest.fixture
def words_repository(git_repository: Any) -> Any:
    """A repository with a recording, and a pull request that changes the prompt's answers."""
    made = git_repository("words")
    changed = "Please say {{ word }}.\n"
    says = dict.fromkeys(WORDS, "ok")
    both = answers(PROMPT, says) | answers(changed, says)
    write_contract(made, GOOD, recorded=both)
    made.commit("sound")
    made.branch("pr")
    made.switch("pr")
    made.commit("change", {"prompts/words.txt": changed})
    made.switch("main")
    return made


def night_of(repository: Any, history: Path, out: Path) -> None:
    main(["run", "--repo", str(repository.path), "--history", str(history), "--out", str(out)])


@pytest.mark.long
def test_nights_measure_the_gate_and_reports_say_it(words_repository, tmp_path, capsys) -> None:
    history, out = tmp_path / "runs.jsonl", tmp_path / "out"
    store = FileHistory(history)
    for number in range(1, 6):
        night_of(words_repository, history, out)
        latest = store.read().records[-1]
        counted = max(0, number - 3) * 10  # four samples of each word are the fewest
        assert latest.selftest.get("harmless", (0, 0)) == (counted, 0)
    assert latest.selftest["broken_1"] == (20, 20)
    code = check(words_repository, out, "--history", str(history))
    comment = spaced((out / "comment.md").read_text("utf-8"))
    assert code in (0, 1)
    assert "1 of 6 broken in 100 %" in comment
    assert "harmless changes were blocked 0 of 20 times (0 % – 16.1 %)" in comment
    site = ["site", "--repo", str(words_repository.path), "--history", str(history)]
    assert main([*site, "--out", str(tmp_path / "site")]) == 0
    pages = "".join(p.read_text("utf-8") for p in (tmp_path / "site").rglob("*.html"))
    assert "How often the gate errs on this suite" in pages
    words_repository.write(".github/gatekeeper.yml", "history: runs.jsonl\n")
    words_repository.write("runs.jsonl", history.read_text("utf-8"))
    capsys.readouterr()
    assert main(["validate", "--repo", str(words_repository.path)]) == 0
    said = spaced(capsys.readouterr().out)
    measured = "words.yaml: on this suite, this is found: 1 of 6 broken in 100 %"
    assert measured in said
    records = store.read().records
    for location in ("runs.sqlite", "branch:gatekeeper-data"):
        with Repository.open(words_repository.path) as repository:
            open_history(location, repository, words_repository.path).append(records)
        words_repository.write(".github/gatekeeper.yml", f"history: {location}\n")
        assert main(["validate", "--repo", str(words_repository.path)]) == 0
        assert measured in spaced(capsys.readouterr().out)


def test_a_branch_is_read_as_it_was_fetched(words_repository, tmp_path, capsys) -> None:
    history, clone = tmp_path / "runs.jsonl", tmp_path / "clone"
    for _ in range(4):
        night_of(words_repository, history, tmp_path / "out")
    run = partial(subprocess.run, check=True, cwd=words_repository.path, capture_output=True)
    run(["git", "clone", "--quiet", ".", str(clone)])
    with Repository.open(words_repository.path) as repository:
        store = open_history("branch:gatekeeper-data", repository)
        store.append(FileHistory(history).read().records)
    validate = ["validate", "--repo", str(clone)]
    assert main(validate) == 0
    assert "on this suite" not in capsys.readouterr().out
    run(["git", "fetch", "--quiet"], cwd=clone)
    run(["git", "branch", "-D", "gatekeeper-data"])  # what the remote has now is not asked
    assert main(validate) == 0
    assert "on this suite, this is found" in spaced(capsys.readouterr().out)


def test_a_check_without_measured_nights_says_nothing(words_repository, tmp_path) -> None:
    history, out = tmp_path / "runs.jsonl", tmp_path / "out"
    night_of(words_repository, history, out)
    check(words_repository, out, "--history", str(history))
    assert "on this suite" not in (out / "comment.md").read_text("utf-8")
