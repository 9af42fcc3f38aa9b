"""A contract that is renamed, moved or both keeps its error budget and the rest of its past."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest
from support.edited_text import edited
from support.recorded_repository import GOOD, RECORDING, answers, check, contract_files, result_of

from gatekeeper.cli.main import main

WORDS = tuple(f"word{number}" for number in range(12))
OTHER = "Please say {{ word }}.\n"
CONTRACT = edited(
    GOOD,
    "{success_rate: 0.5}",
    "{success_rate: 0.8}",
    "pattern: ok}",
    "pattern: ok, name: says-ok}",
)
PATH, PROMPT_FILE = "contracts/words.yaml", "prompts/words.txt"
TERMS = edited(CONTRACT, "name: words", "name: terms")
MOVED = edited(TERMS, "../prompts/words.txt", "../prompts/terms.txt")
assert len({CONTRACT, TERMS, MOVED}) == 3

RENAMES = {
    "the name": [{PATH: TERMS}],
    "the file as well": [{PATH: None, "contracts/terms.yaml": TERMS}],
    "first the name, then the file": [{PATH: TERMS}, {PATH: None, "contracts/terms.yaml": TERMS}],
    "the prompt as well": [
        {PATH: MOVED, PROMPT_FILE: None, "prompts/terms.txt": "Say {{ word }}.\n"}
    ],
    "everything, one after the other": [
        {PATH: edited(CONTRACT, "name: words", "name: phrases")},
        {PATH: None, "contracts/terms.yaml": TERMS},
        {
            "contracts/terms.yaml": MOVED,
            PROMPT_FILE: None,
            "prompts/terms.txt": "Say {{ word }}.\n",
        },
    ],
    "another file of the same prompt": [
        {PATH: None, "contracts/other.yaml": json.dumps(json.loads(json.dumps({
            "contract": 1,
            "name": "terms",
            "prompt": "../prompts/words.txt",
            "model": f"recorded/{RECORDING}",
            "fixtures": [{"file": "words.csv"}],
            "checks": [{"type": "regex", "pattern": "ok", "name": "says-ok"}],
            "slo": {"success_rate": 0.8},
        })))}
    ],
}  # fmt: skip


@pytest.fixture
def failing(git_repository, tmp_path):
    """A repository whose contract `words` fails nine times in ten, and its history."""
    made = git_repository("words")
    recorded = {w: "no" if i else "ok" for i, w in enumerate(WORDS)}
    said = answers("Say {{ word }}.\n", recorded) | answers(OTHER, recorded)
    made.write_all(contract_files(CONTRACT, WORDS, said))
    made.commit("base")
    made.history = tmp_path / "runs.jsonl"
    run(made, tmp_path)
    return made


def run(made, folder, *more):
    where = ["--repo", str(made.path), "--history", str(made.history)]
    return main(["run", *where, "--out", str(folder / "out"), *more])


def write(made, files):
    for path, text in files.items():
        if text is None:
            made.delete(path)
        else:
            made.write(path, text)


def add_nights_before(history):
    """Repeat the run of the history on each of the seven nights before."""
    known = json.loads(history.read_text("utf-8"))
    latest = datetime.fromisoformat(known["time"])
    nights = [
        {**known, "id": f"{days}", "time": (latest - timedelta(days=days)).isoformat()}
        for days in range(1, 8)
    ]
    history.write_text("".join(json.dumps(each) + "\n" for each in [*nights, known]), "utf-8")


def merge_all(made, steps):
    for step in steps:
        write(made, step)
        made.commit("merged")


@pytest.mark.parametrize("steps", RENAMES.values(), ids=RENAMES.keys())
@pytest.mark.parametrize("measured", [False, True], ids=["before a run", "after a run"])
def test_the_budget_is_not_shed(failing, tmp_path, steps, measured):
    add_nights_before(failing.history)
    merge_all(failing, steps)
    if measured:
        run(failing, tmp_path)
    failing.branch("pr")
    prompt = "prompts/terms.txt" if (failing.path / "prompts/terms.txt").exists() else PROMPT_FILE
    failing.commit("change", {prompt: OTHER})
    assert check(failing, tmp_path / "pr", "--history", str(failing.history)) == 1
    [contract] = result_of(tmp_path / "pr")["contracts"]
    assert contract["name"] == "terms"
    assert "budget" in {reason["code"] for reason in contract["reasons"]}
    assert contract["error_budgets"][0]["events"] == 12 * (8 + measured)


def test_the_history_says_what_it_was_called(failing, tmp_path):
    merge_all(failing, RENAMES["the file as well"])
    run(failing, tmp_path)
    run(failing, tmp_path)
    records = [json.loads(line) for line in failing.history.read_text().splitlines()]
    assert [record["contract"] for record in records] == ["words", "terms", "terms"]
    assert [record.get("was") for record in records] == [None, "words", None]


def test_drift_and_budgets_go_on_in_every_command(failing, tmp_path, capsys):
    merge_all(failing, RENAMES["the file as well"])
    run(failing, tmp_path)
    capsys.readouterr()
    where = ["--repo", str(failing.path), "--history", str(failing.history)]
    assert main(["budget", *where, "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["contracts"]
    assert found["error_budgets"][0]["events"] == 24


def test_checks_that_were_lowered_before_the_rename_stay_named(failing, tmp_path):
    lowered = edited(TERMS, "name: says-ok}", "name: says-ok, severity: warn}")
    lowered = edited(lowered, "checks:\n", "checks:\n  - {type: length, min: 1}\n")
    assert "severity: warn" in lowered
    merge_all(failing, [{PATH: lowered}])
    failing.branch("pr")
    failing.commit("change", {PROMPT_FILE: OTHER})
    check(failing, tmp_path / "pr", "--history", str(failing.history))
    [contract] = result_of(tmp_path / "pr")["contracts"]
    assert any("`says-ok` was lowered" in warning for warning in contract["warnings"])


def test_a_new_contract_does_not_get_the_past_of_another(failing, tmp_path):
    """The old one is still there, or nothing connects them."""
    more = edited(TERMS, "../prompts/words.txt", "../prompts/new.txt")
    merge_all(failing, [{"contracts/terms.yaml": more, "prompts/new.txt": "Say {{ word }}!\n"}])
    failing.branch("pr")
    failing.commit("change", {"prompts/new.txt": OTHER})
    check(failing, tmp_path / "pr", "--history", str(failing.history))
    [contract] = result_of(tmp_path / "pr")["contracts"]
    assert contract["error_budgets"][0]["events"] == 0
