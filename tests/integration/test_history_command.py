"""`gatekeeper history`, and `run` and `check` with each kind of history: real repositories."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest
from support.git_repository import GitRepository
from support.past_runs import record
from support.proposals import OTHER, PROMPT_FILE, Proposal, all_say
from support.recorded_repository import GOOD, check, result_of

from gatekeeper.cli.commands.past import TRIGGERS
from gatekeeper.cli.main import main
from gatekeeper.gate.results.result import Waiver
from gatekeeper.git import Repository
from gatekeeper.history.record import Trigger
from gatekeeper.history.stores.lines import to_lines
from gatekeeper.history.stores.open import open_history

NOVEMBER = datetime(2026, 11, 3, 10, 15, tzinfo=UTC)
WAIVER = Waiver(None, "waive", "octocat", "b" * 40, "", "2026-11-03T09:00:00Z")
RECORDS = [
    record("1", time=NOVEMBER - timedelta(days=2), contract="cite"),
    record("2", time=NOVEMBER - timedelta(days=1), trigger="schedule", latency_ms={"p95": 312.0}),
    record("3", time=NOVEMBER, model="m\u202e|=1", contract="=cmd", cost_usd=0.5, waiver=WAIVER),
]


@pytest.fixture
def made(git_repository: Callable[..., GitRepository]) -> GitRepository:
    reworded = Proposal("r", "", {PROMPT_FILE: OTHER}, contract=GOOD, recorded=all_say("ok"))
    return reworded.propose(git_repository)


@pytest.fixture
def past(tmp_path: Path) -> str:
    path = tmp_path / "past.jsonl"
    path.write_bytes(to_lines(RECORDS) + b"junk\n")
    return str(path)


Ask = Callable[..., tuple[str, str]]


@pytest.fixture
def ask(made: GitRepository, capsys: pytest.CaptureFixture[str]) -> Ask:
    def run(*arguments: str) -> tuple[str, str]:
        assert main(["history", "--repo", str(made.path), *arguments]) == 0
        found = capsys.readouterr()
        return found.out, found.err

    return run


def ids(text: str) -> list[str]:
    return [json.loads(line)["id"] for line in text.splitlines()]


def test_the_newest_run_comes_first_and_notices_go_elsewhere(ask: Ask, past: str) -> None:
    out, err = ask("--history", past)
    lines = out.splitlines()
    assert [line.split()[2] for line in lines[1:]] == ["UTC"] * 3
    assert [line[:10] for line in lines[1:]] == ["2026-11-03", "2026-11-02", "2026-11-01"]
    assert "90\xa0% (18/20)" in lines[1]
    assert "@octocat" in lines[1]
    assert "312 ms" in lines[2]
    assert "\u202e" not in out
    assert "past.jsonl:4" in err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["1", "2", "3"]),
        (["--contract", "cite"], ["1"]),
        (["--contract", "cite", "--contract", "tag"], ["1", "2"]),
        (["--model", "openai/gpt-4o-mini"], ["1", "2"]),
        (["--trigger", "schedule"], ["2"]),
        (["--since", "2026-11-02"], ["2", "3"]),
        (["--since", "2026-11-03T10:15+00:00"], ["3"]),
        (["--until", "2026-11-02"], ["1", "2"]),
        (["--until", "2026-11-02T10:00"], ["1"]),
        (["--since", "2026-11-02", "--until", "2026-11-02"], ["2"]),
        (["--since", "90000d"], ["1", "2", "3"]),
    ],
)
def test_what_is_asked_for(ask: Ask, past: str, arguments: list[str], expected: list[str]) -> None:
    out, _ = ask("--history", past, "--format", "jsonl", *arguments)
    assert ids(out) == expected


@pytest.mark.parametrize("when", ["yesterday", "2026-13-01", "0d", "9999-12-31"])
def test_what_is_no_time_is_named(
    made: GitRepository, past: str, capsys: pytest.CaptureFixture[str], when: str
) -> None:
    arguments = ["history", "--repo", str(made.path), "--history", past, "--until", when]
    assert main(arguments) == 2
    assert "--until" in capsys.readouterr().err


def test_nothing_found_is_said(ask: Ask, past: str) -> None:
    assert "The history has no such run" in ask("--history", past, "--contract", "gone")[0]


def test_a_contract_that_no_run_has_is_named_with_the_nearest(ask: Ask, past: str) -> None:
    out, err = ask("--history", past, "--contract", "ctie")
    assert "The history has no such run" in out
    assert "did you mean `cite`?" in err
    assert "did you mean" not in ask("--history", past, "--contract", "cite")[1]


def test_json_is_one_document(ask: Ask, past: str) -> None:
    found = json.loads(ask("--history", past, "--format", "json")[0])
    assert [each["id"] for each in found] == ["1", "2", "3"]
    assert found[2]["waiver"]["author"] == "octocat"


def test_csv_runs_no_formula_and_knows_what_is_not_known(ask: Ask, past: str) -> None:
    first, _, last = csv.DictReader(io.StringIO(ask("--history", past, "--format", "csv")[0]))
    assert (first["samples"], first["failed"], first["success_rate"]) == ("20", "2", "0.9")
    assert (first["cost_usd"], last["cost_usd"]) == ("", "0.5")
    assert last["contract"] == "'=cmd"
    assert last["waived_by"] == "octocat"


@pytest.mark.long
def test_what_was_exported_can_be_imported_once(ask: Ask, past: str, tmp_path: Path) -> None:
    target = str(tmp_path / "team.sqlite")
    out, err = ask("--history", target, "--import", past, "--format", "jsonl")
    assert ids(out) == ["1", "2", "3"]
    assert "3 of 3 records were new" in err
    again = tmp_path / "again.jsonl"
    again.write_text(out)
    _, err = ask("--history", target, "--import", str(again))
    assert "0 of 3 records were new" in err


@pytest.mark.parametrize("command", ["drift", "history", "budget"])
@pytest.mark.parametrize("name", ["rnus.jsonl", "rnus.sqlite"])
def test_a_history_that_does_not_exist_is_no_empty_one(
    made: GitRepository,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    command: str,
    name: str,
) -> None:
    """A nightly job with a misspelt name must not look healthy."""
    missing = tmp_path / name
    assert main([command, "--repo", str(made.path), "--history", str(missing)]) == 2
    assert "the file does not exist" in capsys.readouterr().err
    assert not missing.exists()


def test_an_import_from_a_file_that_does_not_exist_writes_nothing(
    made: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, missing = tmp_path / "team.jsonl", tmp_path / "rnus.jsonl"
    import_ = ["--history", str(target), "--import", str(missing)]
    assert main(["history", "--repo", str(made.path), *import_]) == 2
    assert "--import" in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.parametrize("command", ["drift", "history", "budget"])
def test_a_branch_that_the_first_night_makes_may_be_missing(
    made: GitRepository, command: str
) -> None:
    for where in ([], ["--history", "branch:first-night"]):
        assert main([command, "--repo", str(made.path), *where]) == 0


def test_the_policy_says_where_it_is(
    made: GitRepository, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask()[0].startswith("There is no history yet")
    with Repository.open(made.path) as repository:
        open_history("branch:elsewhere", repository).append(RECORDS)
    made.commit("policy", {".github/gatekeeper.yml": "history: branch:elsewhere\n"})
    assert ids(ask("--format", "jsonl")[0]) == ["1", "2", "3"]
    made.commit("off", {".github/gatekeeper.yml": "history: off\n"})
    assert main(["history", "--repo", str(made.path)]) == 2
    assert "--history" in capsys.readouterr().err


@pytest.mark.parametrize(
    "location", ["runs.txt", "runs", "mysql://x/y", "http://u:hunter2@x/y.jsonl", "x:y.jsonl2"]
)
def test_what_is_no_history_is_refused_before_any_call(
    made: GitRepository, capsys: pytest.CaptureFixture[str], tmp_path: Path, location: str
) -> None:
    run = ["run", "--repo", str(made.path), "--out", str(tmp_path / "out")]
    assert main([*run, "--history", location]) == 2
    said = capsys.readouterr().err
    assert "branch:NAME, NAME.jsonl" in said
    assert "hunter2" not in said


@pytest.mark.parametrize("suffix", ["jsonl", "sqlite"])
@pytest.mark.parametrize("command", ["run", "history"])
def test_a_history_with_a_name_that_is_too_long_is_refused(
    made: GitRepository, capsys: pytest.CaptureFixture[str], command: str, suffix: str
) -> None:
    location = f"{'r' * 300}.{suffix}"
    assert main([command, "--repo", str(made.path), "--history", location]) == 2
    assert "the name is too long; give a shorter name" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["past.jsonl", "past.sqlite", "past.db", "branch:past"])
def test_what_run_remembers_check_counts(
    made: GitRepository, tmp_path: Path, ask: Ask, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    location = kind if ":" in kind else str(tmp_path / kind)
    made.switch("main")
    run = ["run", "--repo", str(made.path), "--out", str(tmp_path / "run")]
    assert main([*run, "--history", location]) in (0, 1)
    begun = (
        [] if ":" in location else [f"The history {location} begins with this run: 1 record added."]
    )
    assert result_of(tmp_path / "run")["notices"] == begun
    assert main([*run, "--history", location]) in (0, 1)
    assert result_of(tmp_path / "run")["notices"] == []
    capsys.readouterr()
    (first, second) = map(
        json.loads, ask("--history", location, "--format", "jsonl")[0].splitlines()
    )
    assert first["id"] != second["id"]
    assert (first["samples"], first["trigger"]) == (40, "manual")
    assert first["contract_digest"] == second["contract_digest"]
    check(made, tmp_path / "out", "--history", location)
    (contract,) = result_of(tmp_path / "out")["contracts"]
    assert contract["error_budget"]["events"] == 80
    assert result_of(tmp_path / "out")["notices"] == []


def test_a_run_that_is_kept_reports_the_budget_that_is_left_after_it(
    made: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made.switch("main")
    history = ["--history", str(tmp_path / "past.jsonl")]
    run = ["run", "--repo", str(made.path), "--out", str(tmp_path / "run"), *history]
    for events in (40, 80):
        assert main(run) in (0, 1)
        (contract,) = result_of(tmp_path / "run")["contracts"]
        (shown,) = contract["error_budgets"]
        assert shown == contract["error_budget"]
        assert (shown["events"], shown["projected_burn_rate"]) == (events, None)
        capsys.readouterr()
        assert main(["budget", "--repo", str(made.path), *history, "--json"]) == 0
        (later,) = json.loads(capsys.readouterr().out)["contracts"][0]["error_budgets"]
        same = ("objective", "events", "budget", "spent", "left", "state")
        assert [shown[key] for key in same] == [later[key] for key in same]


def test_a_run_without_a_history_does_not_say_what_merging_would_burn(
    made: GitRepository, tmp_path: Path
) -> None:
    main(["run", "--repo", str(made.path), "--ref", "main", "--out", str(tmp_path / "run")])
    (contract,) = result_of(tmp_path / "run")["contracts"]
    assert contract["error_budget"]["projected_burn_rate"] is None


def test_a_history_that_takes_nothing_changes_no_verdict(
    made: GitRepository, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = ["run", "--repo", str(made.path), "--ref", "main", "--out", str(tmp_path / "out")]
    assert main(run) == 0
    made.git("remote", "add", "origin", str(tmp_path / "nowhere"))
    assert main([*run, "--history", "branch:past"]) == 0
    notices = result_of(tmp_path / "out")["notices"]
    assert sum("missing in the history" in notice for notice in notices) == 1


def test_what_can_begin_a_run() -> None:
    assert set(TRIGGERS) == set(get_args(Trigger))
