"""CSV and Parquet, read back by pyarrow, pandas' reader and Python's."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import parquet
from support import results as examples

from gatekeeper.contract.values.trial import CheckResult, Completion, JudgeAnswer, QuestionId
from gatekeeper.errors import UsageError
from gatekeeper.gate.results.result import GateResult, UnderBase
from gatekeeper.reports.formats.csv_parquet import (
    FIXTURES,
    SAMPLES,
    Table,
    csv_rows,
    guarded,
    render_parquet,
)
from gatekeeper.reports.formats.samples import sample_document

FORMULA = re.compile(r"['\"\s]*[=+\-@＝＋－＠]")
GUARDED = re.compile(r"((?:\A|[\t\n;])\s*+)(?:'('*+[=+\-@＝＋－＠]))?")


def restored(cell: str) -> str:
    """Undo what is changed for spreadsheets."""
    spelled = GUARDED.sub(lambda at: at[1] + (at[2] or ""), cell)
    return re.sub(r"⟨U\+([0-9A-F]{4,6})⟩", lambda found: chr(int(found[1], 16)), spelled)


def _sampled(*texts: str | None, **other: object) -> GateResult:
    outcomes = tuple(examples.outcome(text=text, repetition=i) for i, text in enumerate(texts))
    return replace(examples.FAIL, outcomes=outcomes, **other)  # type: ignore[arg-type]


def _csv(table: Table, result: GateResult) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO("".join(csv_rows(table, result)), newline="")))


def _parquet(table: Table, result: GateResult) -> pa.Table:
    return parquet.read_table(io.BytesIO(render_parquet(table, result)))


def test_what_judges_and_users_of_a_sample_cost() -> None:
    asked = QuestionId("openai/gpt-4o", "0", 0)
    priced, unpriced = (Completion("yes", cost_usd=cost) for cost in (0.5, None))
    first, second = _sampled("NN", "VB").outcomes
    answers = (
        JudgeAnswer(asked, priced),
        JudgeAnswer(asked, priced),
        JudgeAnswer(asked, None, "e"),
    )
    first = replace(first, sample=replace(first.sample, judge_answers=answers))
    said = replace(second.sample.completion, users=(JudgeAnswer(asked, unpriced),))  # type: ignore[type-var]
    second = replace(second, sample=replace(second.sample, completion=said))
    one, two = _csv(SAMPLES, replace(examples.FAIL, outcomes=(first, second)))
    assert (one["judge_answers"], one["judge_cost_usd"]) == ("2", "1.0")
    assert (one["user_answers"], one["user_cost_usd"]) == ("0", "")
    assert (two["user_answers"], two["user_cost_usd"]) == ("1", "")


def test_a_row_for_each_sample() -> None:
    first, second = _csv(SAMPLES, _sampled("NN", "a noun"))
    assert (first["contract"], first["fixture"], first["arm"]) == ("speech-tag", "nn-000", "head")
    assert (first["passed"], second["passed"]) == ("true", "false")
    assert (first["failed_checks"], second["failed_checks"]) == ("[]", '["is a tag"]')
    assert first["category"] == "noun"
    assert first["latency_ms"] == "120.5"
    assert first["cost_usd"] == ""
    assert first["started"] == "2026-03-02T10:31:07+00:00"
    assert first["head_sha"] == examples.FAIL.head_sha


def test_every_field_of_samples_jsonl_is_a_column() -> None:
    assert set(sample_document(examples.outcome())) <= set(SAMPLES.columns)


def test_a_call_that_failed_has_no_output_and_an_empty_output_is_one() -> None:
    text = "".join(csv_rows(SAMPLES, _sampled(None, "")))
    table = arrow_csv.read_csv(
        io.BytesIO(text.encode()),
        convert_options=arrow_csv.ConvertOptions(
            strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
    )
    assert table["output"].to_pylist() == [None, ""]
    assert table["error"].to_pylist() == ["429 Too Many Requests", None]


def test_a_row_for_each_fixture_and_who_checked_it() -> None:
    contract = examples.failing_contract()
    theirs = UnderBase(None, examples.arm(1, 1), None, (), (examples.fixture(0, "fixed"),))
    result = examples.result(replace(contract, under_base=theirs), examples.passing_contract())
    rows = _csv(FIXTURES, result)
    assert len(rows) == 40 + 1 + 60
    broke, base = rows[0], rows[40]
    assert (broke["contract_from"], broke["change"], base["contract_from"]) == (
        "head",
        "broke",
        "base",
    )
    assert (broke["base_passed"], broke["head_passed"]) == ("true", "false")
    assert (broke["head_samples_passed"], broke["head_samples"]) == ("1", "5")
    assert json.loads(restored(broke["failures"]))[0]["output"] == "The word “fox” is a noun."
    assert broke["failed_checks"] == '["is a tag"]'


def test_what_is_not_known_is_empty() -> None:
    lost, never = _csv(FIXTURES, examples.ERROR)
    assert (lost["head_passed"], lost["change"], lost["head_samples"]) == ("", "", "")
    assert lost["errors"].count("429 Too Many Requests") == 2
    assert never["base_samples"] == ""


def test_a_category_is_that_of_whose_contract_checked() -> None:
    outcome = examples.outcome()
    trial = replace(outcome.sample.trial, contract_from="base")
    by_base = replace(outcome, sample=replace(outcome.sample, trial=trial))
    mine = replace(examples.fixture(0, "same"), category="old")
    theirs = UnderBase(None, examples.arm(1, 1), None, (), (mine,))
    contract = replace(examples.failing_contract(), under_base=theirs)
    rows = _csv(SAMPLES, replace(examples.result(contract), outcomes=(outcome, by_base)))
    assert [row["category"] for row in rows] == ["noun", "old"]


def test_nothing_sampled_is_a_header() -> None:
    assert list(csv_rows(SAMPLES, examples.QUIET)) == [",".join(SAMPLES.columns) + "\n"]
    assert _parquet(SAMPLES, examples.QUIET).num_rows == 0
    assert _parquet(FIXTURES, examples.QUIET).schema.names == list(FIXTURES.columns)


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1+1",
        "  =1+1",
        "\r=1+1",
        "'=1+1",
        "＝1+1",
        "a\n=1+1",
        "a;=1+1",
        "a\t@x",
        'x"\n"=1+1',
        "\u200b=1+1",
        "\ufeff=1+1",
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_cell_is_a_formula_whatever_separates_cells_and_lines(text: str, separator: str) -> None:
    file = "".join(csv_rows(SAMPLES, _sampled(text)))
    for line in file.split("\n"):
        for cell in line.split(separator):
            assert not re.match(r"\"?[\s\u200b\ufeff]*[=+@＝＋－＠]|\"?\s*-\D", cell), cell
    (row,) = _csv(SAMPLES, _sampled(text))
    assert restored(row["output_raw"]) == text


@given(
    st.text(
        alphabet=st.one_of(st.sampled_from("=+-@'\t\n\r; ⟨U+0⟩\"\u202e\ud800"), st.characters())
    )
)
@example("⟨U+202E⟩")
@example("⟨⟨U+27E8⟩U+")
def test_no_text_is_lost_in_a_cell(text: str) -> None:
    cell = guarded(text)
    assert restored(cell) == text
    assert not FORMULA.match(cell.lstrip("'")) or cell.startswith("'") or cell[0].isspace()
    assert "\r" not in cell
    assert "\u202e" not in cell


@given(
    st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]))), max_size=5)
)
def test_python_and_parquet_read_back_what_was_sampled(texts: list[str | None]) -> None:
    result = _sampled(*texts)
    rows = _csv(SAMPLES, result)
    assert [restored(row["output_raw"]) for row in rows] == [text or "" for text in texts]
    assert _parquet(SAMPLES, result)["output_raw"].to_pylist() == texts


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_come_back_as_they_were(number: float) -> None:
    outcome = examples.outcome()
    completion = replace(outcome.sample.completion, cost_usd=number)  # type: ignore[type-var]
    priced = replace(outcome, sample=replace(outcome.sample, completion=completion))
    result = replace(examples.FAIL, outcomes=(priced,))
    (row,) = _csv(SAMPLES, result)
    assert float(row["cost_usd"]) == number
    assert _parquet(SAMPLES, result)["cost_usd"].to_pylist() == [number]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), None])
def test_what_is_no_number_is_null(number: float | None) -> None:
    contract = examples.failing_contract()
    fixture = replace(contract.fixtures[0], p_value=number)
    result = examples.result(replace(contract, fixtures=(fixture,)))
    assert _csv(FIXTURES, result)[0]["p_value"] == ""
    assert _parquet(FIXTURES, result)["p_value"].to_pylist() == [None]


def test_parquet_has_types() -> None:
    outcome = examples.outcome(text="a noun")
    check_results = (*outcome.check_results, CheckResult("tokens", None, "not reported"))
    result = replace(examples.FAIL, outcomes=(replace(outcome, check_results=check_results),))
    (row,) = _parquet(SAMPLES, result).to_pylist()
    assert row["started"] == datetime(2026, 3, 2, 10, 31, 7, tzinfo=UTC)
    assert row["passed"] is False
    assert row["repetition"] == 0
    assert row["failed_checks"] == ["is a tag"]
    assert row["checks"][1] == {
        "check": "tokens",
        "passed": None,
        "severity": "error",
        "message": "not reported",
        "score": None,
        "weight": None,
        "must_pass": None,
    }
    (failure,) = _parquet(FIXTURES, result).to_pylist()[0]["failures"]
    assert failure["arm"] == "head"


def test_half_a_surrogate_pair_can_be_written() -> None:
    assert _parquet(SAMPLES, _sampled("a\ud800b"))["output"].to_pylist() == ["a?b"]


def test_a_clock_without_a_zone_is_that_of_utc() -> None:
    result = _sampled("NN", started=datetime(2026, 3, 2, 10, 31, 7))  # noqa: DTZ001
    assert _csv(SAMPLES, result)[0]["started"] == "2026-03-02T10:31:07+00:00"


@pytest.mark.parametrize("bomb", ["\n", "'", "\n'", ";", "⟨", " =", "\t;'"])
def test_a_hostile_text_is_restored(bomb: str) -> None:
    text = bomb * 200_000
    assert restored(guarded(text)) == text


def test_without_pyarrow_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'gatekeeper\[parquet\]'") as found:
        render_parquet(SAMPLES, examples.FAIL)
    assert "\n" not in str(found.value)
    assert found.value.exit_code == 2


def test_the_columns_are_documented_in_their_order() -> None:
    page = Path("docs/reports.md").read_text("utf-8")
    for heading, table in (("samples.csv", SAMPLES), ("fixtures.csv", FIXTURES)):
        section = page.split(f"## `{heading}`")[1].split("\n## ")[0]
        named = [
            name
            for cell in re.findall(r"^\| (`.*?`) \|", section, re.M)
            for name in re.findall(r"`(\w+)`", cell)
        ]
        assert named == list(table.columns)
