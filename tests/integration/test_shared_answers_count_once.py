"""Fixtures with equal inputs share one call, so that its answer is one event, not one for each."""

from __future__ import annotations

import json
import re

import pytest
from support.edited_text import edited
from support.recorded_repository import GOOD, PROMPT, answers, check, contract_files, result_of

from gatekeeper.cli.main import main
from gatekeeper.history.record import fixture_key

DISTINCT = tuple(f"word{number}" for number in range(10))
COPIES = 8
OTHER = "Please say {{ word }}.\n"
CONTRACT = edited(GOOD, "{success_rate: 0.5}", "{success_rate: 0.8, latency_p95_ms: 1000}")
assert CONTRACT != GOOD


def rows(names: str = "id,word", more: str = "") -> str:
    """Ten inputs; eight more fixtures repeat the first."""
    words = [*DISTINCT, *[DISTINCT[0]] * COPIES]
    return f"{names}\n" + "".join(f"f{i},{word}{more}\n" for i, word in enumerate(words))


def said(prompt: str, wrong: int) -> dict[str, str | list[str]]:
    outputs = (["no" if i < wrong else "ok"] * 3 for i in range(len(DISTINCT)))
    return answers(prompt, dict(zip(DISTINCT, outputs, strict=True)))


def files(contract: str = CONTRACT, fixtures: str = "", wrong: int = 1) -> dict[str, str]:
    recorded = said(PROMPT, wrong) | said(OTHER, 0)
    made = contract_files(contract, DISTINCT, recorded)
    return {**made, "contracts/words.csv": fixtures or rows()}


def recorded_run(made, folder, more=()):
    history = folder / "runs.jsonl"
    where = ["--repo", str(made.path), "--history", str(history)]
    main(["run", *where, "--out", str(folder / "out"), *more])
    return history, json.loads(history.read_text().splitlines()[0])


@pytest.mark.parametrize(
    ("fixtures", "contract"),
    [
        ("", CONTRACT),
        (rows("id,word,category", ",billing"), CONTRACT),
        (rows("id,word,cluster", ",one"), CONTRACT),
        ("", f"{CONTRACT}sampling: {{samples: 3, mode: fixed}}\n"),
    ],
    ids=["copies", "in a category", "in one cluster", "several samples"],
)
def test_a_record_counts_each_answer_once(git_repository, tmp_path, fixtures, contract):
    made = git_repository("words")
    made.write_all(files(contract, fixtures))
    made.commit("base")
    _, record = recorded_run(made, tmp_path)
    samples = 3 if "samples: 3" in contract else 1
    assert (record["samples"], record["failed"]) == (10 * samples, samples)
    assert record["calls"] == 10 * samples
    assert record["objectives"]["success_rate"] == [10 * samples, samples]
    assert record["objectives"]["latency_p95_ms"] == [10 * samples, 0]
    assert all(count == [10 * samples, samples] for count in record["checks"].values())
    assert all(count == [10 * samples, samples] for count in record.get("categories", {}).values())
    assert len(record["fixtures"]) == 10


def test_one_wrong_answer_of_ten_freezes_nothing_and_its_fix_passes(git_repository, tmp_path):
    made = git_repository("words")
    made.write_all(files())
    made.commit("base")
    history, _ = recorded_run(made, tmp_path)
    lines = history.read_text().splitlines()
    day = json.loads(lines[0])
    more = [{**day, "id": f"{day['id']}{n}"} for n in range(9)]
    history.write_text("".join(json.dumps(line) + "\n" for line in [day, *more]))
    made.branch("pr")
    made.commit("fix", {"prompts/words.txt": OTHER})
    code = check(made, tmp_path / "pr", "--history", str(history))
    [contract] = result_of(tmp_path / "pr")["contracts"]
    assert code == 0
    assert {r["code"] for r in contract["reasons"]}.isdisjoint({"budget"})
    [budget] = [b for b in contract["error_budgets"] if b["objective"] == "success_rate"]
    assert (budget["events"], budget["spent"]) == (100, 10)


def test_the_tables_count_it_once(git_repository, tmp_path):
    made = git_repository("words")
    made.write_all(files())
    made.commit("base")
    recorded_run(made, tmp_path)
    [contract] = result_of(tmp_path / "out")["contracts"]
    head = contract["head"]
    assert (head["passed"], head["samples"]) == (9, 10)
    assert (head["fixtures_passed"], head["fixtures"]) == (9, 10)
    [rate] = [found for found in contract["slo"] if found["objective"] == "success_rate"]
    assert rate["observed"] == pytest.approx(0.9)


def test_an_answer_fails_if_it_fails_one_of_the_fixtures_that_share_it(git_repository, tmp_path):
    """The copies of an input may expect something else."""
    contract = edited(GOOD, "{type: regex, pattern: ok}", "{type: equals, value: '{{ expected }}'}")
    assert contract != GOOD
    made = git_repository("words")
    made.write_all(files(contract, rows("id,word,expected", ",ok") + "other,word1,no\n", wrong=0))
    made.commit("base")
    _, record = recorded_run(made, tmp_path)
    assert (record["samples"], record["failed"]) == (10, 1)


def test_every_report_and_the_site_count_it_once(git_repository, tmp_path, capsys):
    """One of ten answers is wrong; counted for each of its fixtures, nine of eighteen would be."""
    made = git_repository("words")
    contract = edited(CONTRACT, "success_rate: 0.8", "success_rate: 0.7")
    assert contract != CONTRACT
    made.write_all(files(contract))
    made.commit("base")
    history, _ = recorded_run(made, tmp_path, ["--format", "prometheus"])
    shown = [capsys.readouterr().out]
    where = ["--repo", str(made.path), "--history", str(history)]
    main(["budget", *where])
    main(["site", *where, "--out", str(tmp_path / "site")])
    shown.append(capsys.readouterr().out)
    pages = [*(tmp_path / "site").rglob("*.html"), *(tmp_path / "out").glob("*.md")]
    shown += [page.read_text("utf-8") for page in pages]
    assert len(pages) > 2
    assert "(9/10)" in shown[0]
    assert "words: 1 of 10 inputs fails" in shown[0]
    table = shown[0].partition("FAILURES BY CHECK")[2].splitlines()
    assert table[1].split()[-2:] == ["fixtures", "failures"]
    assert table[2].split()[-2:] == ["1", "1"]
    for text in shown:
        assert not re.search(r"\b9 of 18\b|\b9/18\b", text)


@pytest.mark.parametrize(("tolerance", "code"), [(0.85, 0), (0.95, 1)])
def test_a_tolerance_counts_each_input_once(git_repository, tmp_path, tolerance, code):
    """Nine of ten inputs pass; of the fixtures, only half would."""
    made = git_repository("words")
    contract = edited(GOOD, "slo: {success_rate: 0.5}\n", f"gate: {{tolerance: {tolerance}}}\n")
    assert contract != GOOD
    made.write_all(files(contract))
    made.commit("base")
    where = ["--repo", str(made.path), "--out", str(tmp_path / "out")]
    assert main(["run", *where]) == code
    [found] = result_of(tmp_path / "out")["contracts"]
    assert (found["head"]["fixtures_passed"], found["head"]["fixtures"]) == (9, 10)
    if code:
        assert "9 of 10 fixtures pass, but the contract requires 95" in found["reasons"][0]["text"]


def test_copies_of_an_input_are_one_fixture_for_drift(git_repository, tmp_path):
    made = git_repository("words")
    made.write_all(files())
    made.commit("base")
    _, record = recorded_run(made, tmp_path)
    assert set(record["fixtures"]) == {fixture_key(f"f{i}") for i in range(10)}
    assert record["fixtures"][fixture_key("f0")] == [1, 1]
