"""An objective on scores through whole runs: a check that gives one, a model on 127.0.0.1 that
answers more or less like what is expected."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Callable, Iterator

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer
from support.recorded_repository import check, result_of

from gatekeeper import numbers
from gatekeeper.cli.main import main
from gatekeeper.history.stores.file_store import FileHistory
from gatekeeper.reports.formats.read_samples import read_run

CONTRACT = """\
contract: 1
name: titles
prompt: prompt.txt
model: openai/gpt-4o-mini
fixtures: [{file: titles.csv}]
checks:
  - {type: similarity, name: like the title, value: "{{ expected }}", severity: warn}
  - {type: length, min: 1, name: says something}
sampling: {samples: 1, mode: fixed}
slo: {judge_score: 0.9}
"""
TITLES = tuple(f"abcdefghi{number % 10}" for number in range(60))
EXACT, AGAIN, ROUGH, MIXED = "exactly", "precisely", "roughly", "sometimes"
EASY = '  - {type: similarity, name: easy, value: "{{ expected }}", min: 0}\n'
LAX = edited(CONTRACT, "judge_score: 0.9", "judge_score: 0.5")


def answer(body: dict) -> str:
    """The title that is asked for; all but its last four letters; or that of two in five."""
    way, number, title = body["messages"][-1]["content"].split()
    cut = way == ROUGH or (way == MIXED and int(number) % 5 < 2)
    return title[:-4] if cut else title


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer(answer) as found:
        monkeypatch.setenv("OPENAI_API_KEY", "anything")
        yield found


def prompt(way: str) -> dict[str, str]:
    return {"contracts/prompt.txt": f"{way} {{{{ number }}}} {{{{ title }}}}\n"}


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    made = git_repository("titles")
    rows = "".join(f"t{n},{n},{title},{title}\n" for n, title in enumerate(TITLES))
    titles = f"id,number,title,expected\n{rows}"
    made.commit(
        "base",
        {"contracts/titles.yaml": CONTRACT, "contracts/titles.csv": titles, **prompt(EXACT)},
    )
    made.branch("pr")
    return made


@pytest.mark.parametrize(
    ("way", "met", "code", "observed", "told"),
    [
        (AGAIN, True, 0, 1, "met"),
        (ROUGH, False, 1, 0.75, "missed"),
        (MIXED, None, 0, 0.9, "open, the interval includes the target"),
    ],
)
def test_a_score_is_met_missed_or_open(way, met, code, observed, told, repository, tmp_path):
    repository.commit("change", prompt(way))
    out = tmp_path / "out"
    assert check(repository, out, "--format", "prometheus") == code
    (contract,) = result_of(out)["contracts"]
    (slo,) = contract["slo"]
    assert (slo["objective"], slo["met"]) == ("judge_score", met)
    assert slo["observed"] == pytest.approx(observed)
    low, high = slo["interval"]
    assert low <= slo["observed"] <= high
    missed = [r for r in contract["reasons"] if r["code"] == "slo" and r["verdict"] == "fail"]
    assert bool(missed) is (met is False)
    interval = f"{numbers.score(low)} to {numbers.score(high)}"
    line = f"judge score: {observed:g}, wanted ≥ 0.9, 95\u00a0% interval {interval}: {told}"
    page = html.unescape((out / "report.html").read_text("utf-8"))
    assert line in (out / "comment.md").read_text("utf-8")
    assert line in page
    metric = f'objective_met{{contract="titles",objective="judge_score"}} {int(bool(met))}'
    assert (metric in (out / "metrics.prom").read_text("utf-8")) is (met is not None)


def test_every_sample_tells_its_score(repository, tmp_path):
    repository.commit("change", prompt(ROUGH))
    check(repository, tmp_path / "out")
    lines = (tmp_path / "out" / "samples.jsonl").read_text("utf-8").splitlines()
    scores = {
        (sample["arm"], found.get("score"))
        for sample in map(json.loads, lines)
        for found in sample["checks"]
    }
    assert scores == {("base", 1.0), ("head", 0.75), ("base", None), ("head", None)}
    assert "score 0.75" in (tmp_path / "out" / "report.html").read_text("utf-8")
    saved = read_run(tmp_path / "out" / "samples.jsonl")
    assert {(o.sample.trial.arm, o.score) for o in saved.outcomes} == {("base", 1), ("head", 0.75)}


def test_an_answer_without_the_field_scores_nothing_and_is_missed(repository, tmp_path):
    """Not JSON at all is the worst answer there is, and no missing measurement."""
    field = edited(CONTRACT, '"{{ expected }}", severity', '"{{ expected }}", field: a, severity')
    repository.commit("change", {"contracts/titles.yaml": field, **prompt(AGAIN)})
    assert check(repository, tmp_path / "out") == 1
    (contract,) = result_of(tmp_path / "out")["contracts"]
    (slo,) = contract["slo"]
    assert (slo["observed"], slo["met"], slo["unmeasured"]) == (0, False, False)


@pytest.mark.parametrize(
    ("contract", "told"),
    [
        (LAX, "slo.judge_score lowered from 0.9 to 0.5"),
        (
            edited(CONTRACT, "slo: {judge_score: 0.9}\n", ""),
            "slo.judge_score removed; the value was 0.9",
        ),
        (
            edited(CONTRACT, "severity: warn}", "severity: warn, min: 0.1}"),
            "check `like the title`: `min` weakened from 0.8 to 0.1",
        ),
        (
            edited(CONTRACT, "checks:\n", f"checks:\n{EASY}"),
            "check `easy` added; the score of the check counts in `slo.judge_score`, so other "
            "checks count less",
        ),
    ],
    ids=["lowered", "removed", "passes from less", "another score"],
)
def test_a_score_that_asks_less_is_named_and_hides_nothing(contract, told, repository, tmp_path):
    repository.commit("change", {"contracts/titles.yaml": contract, **prompt(ROUGH)})
    assert check(repository, tmp_path / "out") == 1
    (found,) = result_of(tmp_path / "out")["contracts"]
    assert told in found["weakened"]
    assert ("slo", "fail", "base") in {
        (r["code"], r["verdict"], r["contract_from"]) for r in found["reasons"]
    }


def test_a_run_is_remembered_with_its_mean_score(repository, tmp_path, capsys):
    repository.git("checkout", "--quiet", "main")
    repository.commit("merged", prompt(MIXED))
    history = tmp_path / "runs.jsonl"
    where = ["--repo", str(repository.path)]
    past = ["--history", str(history)]
    assert main(["run", *where, "--out", str(tmp_path / "out"), *past]) == 0
    (record,) = FileHistory(history).read().records
    assert record.score == pytest.approx(0.9)
    # A mean counts no events, so that it has no error budget.
    assert record.objectives == {}
    capsys.readouterr()
    assert main(["history", *where, *past, "--format", "csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert float(row["score"]) == pytest.approx(0.9)


def test_a_score_needs_a_check_that_gives_one(repository, tmp_path, capsys):
    without = edited(CONTRACT, "type: similarity", "type: contains")
    repository.commit("change", {"contracts/titles.yaml": without})
    assert check(repository, tmp_path / "out") == 2
    assert "no check that gives a score" in capsys.readouterr().err
