"""One history, and every place that tells what is left of it: the same numbers everywhere."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.edited_text import edited
from support.git_repository import GitRepository
from support.recorded_repository import GOOD, WORDS, answers, check, result_of, write_contract

from gatekeeper import numbers
from gatekeeper.cli.main import main
from gatekeeper.contract.values.objectives import label_of
from gatekeeper.history.record import Record
from gatekeeper.history.stores.file_store import FileHistory

OTHER = "Please say {{ word }}.\n"
SLO = (
    "{success_rate: 0.9, checks: {says-ok: {target: 0.95, window: 7d}}, "
    "latency_p95_ms: 500, repair_rate: 0.02, cost_per_call_usd: 1}"
)
CONTRACT = edited(GOOD, "pattern: ok}", "pattern: ok, name: says-ok}", "{success_rate: 0.5}", SLO)
TOLD = ("events", "budget", "spent", "left", "burn_rate", "burning", "window", "frozen_until")


def record(days: float, failed: int, slow: int) -> Record:
    time = datetime.now(UTC) - timedelta(days=days)
    return Record(
        id=f"{days}",
        time=time,
        trigger="schedule",
        sha="0" * 40,
        contract="words",
        model="m",
        version="1",
        samples=200,
        failed=failed,
        interval=None,
        calls=200,
        failed_calls=0,
        objectives={
            "latency_p95_ms": (200, slow),
            "checks.says-ok": (200, failed // 2),
            "repair_rate": (200, 1),
        },
    )


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Runs of five weeks, of which one has left every window; the last of them slow."""
    path = tmp_path / "runs.jsonl"
    days = (34.5, 20.5, 18.5, 16.5, 14.5, 12.5, 10.5, 6.5, 5.5, 4.5, 3.5, 2.5, 1.5, 0.5)
    FileHistory(path).append(
        [record(days, 7 + i, 30 if days < 7 else 4) for i, days in enumerate(days)]
    )
    return path


@pytest.fixture
def out(git_repository: Callable[..., GitRepository], history: Path, tmp_path: Path) -> Path:
    made = git_repository("words")
    write_contract(made, CONTRACT, recorded=answers(OTHER, dict.fromkeys(WORDS, "ok")))
    made.propose({"prompts/words.txt": OTHER})
    more = ["--history", str(history), "--format", "prometheus"]
    assert check(made, tmp_path / "out", *more) == 1
    return tmp_path / "out"


@pytest.fixture
def budgets(
    out: Path, history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Mapping[str, dict[str, Any]]:
    """What `gatekeeper budget` says, by objective."""
    capsys.readouterr()
    where = ["--repo", str(tmp_path / "words"), "--history", str(history)]
    assert main(["budget", *where, "--json"]) == 0
    (contract,) = json.loads(capsys.readouterr().out)["contracts"]
    return {found["objective"]: found for found in contract["error_budgets"]}


def test_the_result_has_them(budgets, out):
    (contract,) = result_of(out)["contracts"]
    told = {found["objective"]: found for found in contract["error_budgets"]}
    assert list(told) == list(budgets)
    assert set(told) == {"success_rate", "checks.says-ok", "latency_p95_ms", "repair_rate"}
    for name, found in told.items():
        assert {key: found[key] for key in TOLD} == {key: budgets[name][key] for key in TOLD}
    least = min(budgets.values(), key=lambda found: found["left"] / found["budget"])
    assert contract["error_budget"]["objective"] == least["objective"] == "latency_p95_ms"
    assert least["left"] < 0


def test_prometheus_has_them(budgets, out):
    text = (out / "metrics.prom").read_text("utf-8")
    found = {
        (sample.name.removeprefix("gatekeeper_contract_"), *sorted(sample.labels.items())): value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        for value in [sample.value]
    }
    for name, budget in budgets.items():
        labels = (("contract", "words"), ("objective", name))
        assert found["error_budget_events", *labels] == budget["budget"]
        assert found["error_budget_left_events", *labels] == budget["left"]
        for window, rate in budget["burn_rate"].items():
            assert found["burn_rate", *labels, ("window", window)] == rate


def test_the_page_ends_its_charts_with_them(budgets, out):
    page = (out / "report.html").read_text("utf-8")
    charts = re.findall(r'<figure class="chart[^"]*">.*?</figure>', page, re.DOTALL)
    now = {}
    for chart in charts:
        if title := re.search(r"<b>Error budget left: ([^<]+)</b>", chart):
            *_, last = re.findall(r"<tr>(.*?)</tr>", chart)
            cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", last)
            now[html.unescape(title[1])] = cells
    ranked = sorted(budgets.values(), key=lambda found: found["left"] / found["budget"])
    assert list(now) == [label_of(found["objective"]) for found in ranked[:3]]
    for found in ranked[:3]:
        assert now[label_of(found["objective"])] == ["now", *shown(found)]
    other = f"{label_of(ranked[3]['objective'])} {shown(ranked[3])[0]}."
    assert f"Left of the error budgets that are not drawn: {other}" in html.unescape(page)


def shown(found: Mapping[str, Any]) -> list[str]:
    share = numbers.percent(found["left"] / found["budget"])
    return [share, numbers.number(found["left"]), numbers.number(found["budget"])]


def test_the_comment_has_the_most_pressing(budgets, out):
    comment = (out / "comment.md").read_text("utf-8")
    titles, _, row = [line for line in comment.splitlines() if line.startswith("|")][:3]
    cells = dict(zip(titles.split(" | "), row.split(" | "), strict=True))
    pressing = budgets["latency_p95_ms"]
    share, left, whole = shown(pressing)
    assert cells["Budget left"] == share
    told = f"{left} of {whole} allowed failures left after {pressing['events']:,} samples"
    assert told in comment


def test_the_terminal_has_them(budgets, history, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    where = ["--repo", str(tmp_path / "words"), "--history", str(history)]
    assert main(["budget", *where]) == 0
    lines = "".join(capsys.readouterr()).splitlines()
    for name, found in budgets.items():
        (line,) = [line for line in lines if f" {label_of(name)} " in line]
        _, left, whole = shown(found)
        rest = line.partition(f" {label_of(name)} ")[2].split()
        assert rest[:5] == [
            found["window"], f"{found['events']:,}", whole, f"{found['spent']:,.0f}", left,
        ]  # fmt: skip
