"""Reports that are asked for, from the command line to a file that its reader takes."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from junitparser import JUnitXml
from prometheus_client.parser import text_string_to_metric_families
from pyarrow import parquet
from support.git_repository import GitRepository
from support.recorded_repository import WORDS, answers, check, write_contract

OTHER = "Please say {{ word }}.\n"


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    """A pull request that breaks every fixture, with what looks like a formula."""
    made = git_repository("words")
    write_contract(made, recorded=answers(OTHER, dict.fromkeys(WORDS, "=no")))
    return made.propose({"prompts/words.txt": OTHER})


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.mark.long
def test_every_format_is_read_by_somebody_else(repository: GitRepository, out: Path) -> None:
    wanted = ("badge", "codequality", "parquet", "prometheus", "sarif")
    formats = [part for name in wanted for part in ("--format", name)]
    assert check(repository, out, *formats) == 1
    with (out / "samples.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["output"] for row in rows if row["arm"] == "head"} == {"'=no"}
    table = parquet.read_table(out / "samples.parquet")
    assert table.num_rows == len(rows) > 0
    fixtures = parquet.read_table(out / "fixtures.parquet")
    assert set(fixtures["change"].to_pylist()) == {"broke"}
    (run,) = json.loads((out / "gatekeeper.sarif").read_text())["runs"]
    found = {(result["ruleId"], result["level"]) for result in run["results"]}
    assert found == {("regression", "error"), ("slo", "error")}
    families = text_string_to_metric_families((out / "metrics.prom").read_text())
    assert "gatekeeper_run_verdict" in {family.name for family in families}
    assert json.loads((out / "badge.json").read_text())["color"] == "red"
    assert JUnitXml.fromfile(str(out / "junit.xml")).failures == len(WORDS)


def test_what_nobody_asked_for_is_not_written(repository: GitRepository, out: Path) -> None:
    assert check(repository, out, "--format", "badge") == 1
    assert (out / "badge.json").exists()
    assert check(repository, out) == 1
    names = {path.name for path in out.iterdir()}
    assert {"samples.csv", "fixtures.csv", "junit.xml"} < names
    assert not names & {"badge.json", "metrics.prom", "gatekeeper.sarif", "samples.parquet"}


def test_a_format_that_cannot_be_written_costs_no_call(
    repository: GitRepository,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert check(repository, out, "--format", "parquet") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pip install 'gatekeeper[parquet]'" in said
    assert not out.exists()


def test_an_unknown_format_names_those_that_there_are(
    repository: GitRepository, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        check(repository, out, "--format", "xlsx")
    assert "choose from" in capsys.readouterr().err
