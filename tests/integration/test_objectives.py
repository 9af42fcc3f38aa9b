"""Objectives and budgets through a whole check: what a pull request cannot do to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.recorded_repository import GOOD, WORDS, answers, check, result_of, write_contract

from gatekeeper.cli.main import main
from gatekeeper.history.record import Record
from gatekeeper.history.stores.file_store import FileHistory

OTHER = "Please say {{ word }}.\n"
NAMED = edited(GOOD, "{type: regex, pattern: ok}", "{type: regex, pattern: ok, name: says-ok}")
STRICT = edited(NAMED, "slo: {success_rate: 0.5}", "slo: {checks: {says-ok: 0.9}}")
CATEGORY = edited(
    NAMED,
    "slo: {success_rate: 0.5}",
    "slo: {categories: {hard: {success_rate: 0.9}}}",
    "file: words.csv",
    "file: words.jsonl",
)


def rows(category: Callable[[int], str]) -> str:
    return "".join(
        json.dumps({"id": w, "vars": {"word": w}, "category": category(i)}) + "\n"
        for i, w in enumerate(WORDS)
    )


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]):
    def make(contract: str, says: dict[str, str], **files: str) -> GitRepository:
        made = git_repository("words")
        write_contract(made, contract, recorded=answers(OTHER, says))
        made.commit("sound", {name: text for name, text in files.items() if text})
        made.branch("pr")
        return made

    return make


def codes(out: Path) -> list[tuple[str, str, str]]:
    (contract,) = result_of(out)["contracts"]
    return [(r["code"], r["verdict"], r["contract_from"]) for r in contract["reasons"]]


def test_an_objective_that_a_pull_request_lowers_still_checks(repository, tmp_path):
    made = repository(STRICT, {w: "ok" if i % 2 else "no" for i, w in enumerate(WORDS)})
    laxer = edited(STRICT, "says-ok: 0.9", "says-ok: 0.1")
    made.commit("lax", {"contracts/words.yaml": laxer, "prompts/words.txt": OTHER})

    assert check(made, tmp_path / "out") == 1
    (contract,) = result_of(tmp_path / "out")["contracts"]
    assert contract["weakened"] == ["slo.checks.says-ok lowered from 0.9 to 0.1"]
    missed = [slo["objective"] for slo in contract["under_base"]["slo"] if slo["met"] is False]
    assert missed == ["checks.says-ok"]
    assert ("slo", "fail", "base") in codes(tmp_path / "out")


def test_a_fixture_cannot_leave_the_category_that_checks_it(repository, tmp_path):
    hard = {"contracts/words.jsonl": rows(lambda i: "hard")}
    made = repository(CATEGORY, {}, **hard)
    made.commit("moved", {"contracts/words.jsonl": rows(lambda i: "hard" if i else "easy")})

    check(made, tmp_path / "out")
    (contract,) = result_of(tmp_path / "out")["contracts"]
    (weakened,) = contract["weakened"]
    assert weakened.endswith("category changed from hard to easy")
    (objective,) = contract["under_base"]["slo"]
    assert objective["objective"] == "categories.hard.success_rate"


def spent(path: Path, objective: str) -> Path:
    record = Record(
        id="a",
        time=datetime.now(UTC) - timedelta(days=1),
        trigger="schedule",
        sha="0" * 40,
        contract="words",
        model="m",
        version="1",
        samples=10,
        failed=0,
        interval=None,
        calls=10,
        failed_calls=0,
        objectives={objective: (10, 3)},
    )
    nights = [replace(record, id=f"{d}", time=record.time - timedelta(days=d)) for d in range(10)]
    FileHistory(path).append(nights)
    return path


@pytest.mark.parametrize(
    ("policy", "code", "verdict"),
    [("", 1, "fail"), ("error_budget: {exempt: [words]}\n", 0, "pass")],
)
def test_a_spent_budget_of_any_objective_freezes_unless_exempt(
    policy, code, verdict, repository, tmp_path
):
    made = repository(STRICT, dict.fromkeys(WORDS, "ok"), **{".github/gatekeeper.yml": policy})
    made.commit("harmless", {"prompts/words.txt": OTHER})
    history = spent(tmp_path / "runs.jsonl", "checks.says-ok")

    assert check(made, tmp_path / "out", "--history", str(history)) == code
    (contract,) = result_of(tmp_path / "out")["contracts"]
    (budget,) = contract["error_budgets"]
    assert budget == contract["error_budget"]
    assert (budget["objective"], budget["spent"]) == ("checks.says-ok", 30)
    assert budget["projected_burn_rate"][0] == 0
    until = datetime.fromisoformat(budget["frozen_until"])
    assert timedelta(days=19) < until - datetime.now(UTC) < timedelta(days=28)
    (reason,) = [r for r in contract["reasons"] if r["code"] == "budget"]
    assert reason["verdict"] == verdict
    if verdict == "fail":
        assert f"{until:%Y-%m-%d %H:%M} UTC" in reason["text"]
        comment = (tmp_path / "out" / "comment.md").read_text("utf-8")
        assert f"{until:%Y-%m-%d %H:%M}" in comment


def test_a_run_is_remembered_with_what_its_objectives_count(repository, tmp_path):
    made = repository(STRICT, {})
    made.git("checkout", "--quiet", "main")
    history = tmp_path / "runs.jsonl"
    arguments = ["--repo", str(made.path), "--out", str(tmp_path / "out")]
    assert main(["run", *arguments, "--history", str(history)]) == 0
    (record,) = FileHistory(history).read().records
    assert record.objectives["checks.says-ok"] == (record.samples, 0)
