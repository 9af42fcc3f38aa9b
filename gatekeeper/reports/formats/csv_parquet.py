"""Samples and fixtures as tables: CSV for spreadsheets and shells, Parquet for data frames.

Both hold the same columns in the same order. Parquet keeps every text as it is. CSV is also
opened in spreadsheets and read as text, so two things are changed there, and can be undone:

- A character that is invisible, reorders text or ends a line only in some programs is written as
  `⟨U+202E⟩`, and a `⟨` before `U+` is `⟨U+27E8⟩`.
- If a spreadsheet would begin a cell with `=`, `+`, `-` or `@`, and so read a formula, an
  apostrophe goes before it; where such apostrophes are there already, one more. A cell begins
  at the start of a text, and for spreadsheets set to other separators at each new line, tab
  and semicolon: OWASP, CSV Injection, https://owasp.org/www-community/attacks/CSV_Injection

A text is always in quotes and what is not known never is: `""` is an empty text, and nothing at
all is null. Numbers have the digits it takes to get the same number back.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gatekeeper.contract.values.trial import Arm, ContractFrom, JudgeAnswer, Outcome
from gatekeeper.errors import UsageError
from gatekeeper.gate.results.parts import FixtureFailure, FixtureResult, Tally
from gatekeeper.gate.results.result import ContractResult, GateResult
from gatekeeper.reports.escape import xml_text
from gatekeeper.reports.formats.samples import sample_document

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal[
    "text",
    "texts",
    "whole",
    "number",
    "yes_no",
    "time",
    "checks",
    "failures",
    "tool_calls",
    "repair_ledger",
]
Row = Mapping[str, Any]

_NO_PYARROW = (
    "the format `parquet` needs pyarrow; run `pip install 'gatekeeper[parquet]'`, or use "
    "`samples.csv` and `fixtures.csv`, which hold the same tables (the action's image does "
    "not contain pyarrow)"
)

# Most cells: nothing in them is invisible, ends a line or begins a formula.
_HARMLESS = re.compile(r"(?![ =+@'-])[ !#-:<-~]*")
_FORMULA = re.compile(r"((?:\A|[\t\n;])\s*+)('*+[=+\-@＝＋－＠])?")
_JSON = json.JSONEncoder(ensure_ascii=False)


class Table(NamedTuple):
    """A table of a run: its columns by name, in order, and how its rows are made."""

    columns: Mapping[str, Kind]
    rows: Callable[[GateResult], Iterator[Row]]


def csv_rows(table: Table, result: GateResult) -> Iterator[str]:
    """Yield the header and the rows of RFC 4180, each with a line feed at its end."""
    return csv_lines(table.columns, table.rows(result))


def csv_lines(columns: Mapping[str, Kind], rows: Iterable[Row]) -> Iterator[str]:
    """Yield the header and the rows of any table, in the form described above."""
    yield ",".join(columns) + "\n"
    named = list(columns.items())
    for row in rows:
        cells = [
            _cell(value, kind) if (value := row[name]) is not None else "" for name, kind in named
        ]
        yield ",".join(cells) + "\n"


def render_parquet(table: Table, result: GateResult) -> bytes:
    """Render the table as a Parquet file. Half a surrogate pair, which UTF-8 cannot hold, is `?`.

    Raises UsageError without pyarrow.
    """
    require_parquet()
    import pyarrow as pa
    from pyarrow import parquet

    types = _arrow_types()
    schema = pa.schema([(name, types[kind]) for name, kind in table.columns.items()])
    rows = [_encodable(dict(row)) for row in table.rows(result)]
    file = BytesIO()
    parquet.write_table(pa.Table.from_pylist(rows, schema), file, compression="zstd")
    return file.getvalue()


def require_parquet() -> None:
    """Raise UsageError if Parquet cannot be written."""
    from importlib.util import find_spec

    if find_spec("pyarrow") is None:
        raise UsageError(_NO_PYARROW)


def guarded(text: str) -> str:
    """Return the text for a cell of the CSV, without the quotes around it."""
    if _HARMLESS.fullmatch(text):
        return text
    spelled = text.replace("⟨U+", "⟨U+27E8⟩U+").replace("\r", "⟨U+000D⟩")
    return _FORMULA.sub(lambda at: f"{at[1]}'{at[2]}" if at[2] else at[0], xml_text(spelled))


def _sample_rows(result: GateResult) -> Iterator[Row]:
    categories = {
        (contract.name, contract_from, fixture.id): fixture.category
        for contract in result.contracts
        for contract_from, fixture in _fixtures(contract)
    }
    run = _run(result)
    for outcome in result.outcomes:
        trial, completion = outcome.sample.trial, outcome.sample.completion
        yield {
            **run,
            "reasoning_tokens": None,
            "tool_calls": [],
            "repair_ledger": [],
            **sample_document(outcome),
            **_asked("judge", outcome.sample.judge_answers),
            **_asked("user", completion.users if completion else ()),
            "category": categories.get((trial.contract, trial.contract_from, trial.fixture)),
            "passed": outcome.passed,
            "pass_score": outcome.pass_score,
            "failed_checks": _failed_checks(outcome),
        }


def _asked(role: str, answers: Sequence[JudgeAnswer]) -> Row:
    """Return how many answers of judges or of a simulated user the sample rests on, and what these
    cost; an answer that several samples share counts for each."""
    costs = [answer.completion.cost_usd for answer in answers if answer.completion]
    known = [cost for cost in costs if cost is not None]
    cost = math.fsum(known) if known and len(known) == len(costs) else None
    return {f"{role}_answers": len(costs), f"{role}_cost_usd": cost}


def _failed_checks(outcome: Outcome) -> list[str]:
    return [j.check for j in outcome.check_results if j.passed is False and j.severity == "error"]


def _fixture_rows(result: GateResult) -> Iterator[Row]:
    for contract in result.contracts:
        for contract_from, fixture in _fixtures(contract):
            yield _fixture(result, contract.name, contract_from, fixture)


def _fixtures(contract: ContractResult) -> Iterator[tuple[ContractFrom, FixtureResult]]:
    """Yield each fixture, and whose contract evaluated it."""
    yield from (("head", fixture) for fixture in contract.fixtures)
    before = contract.under_base
    if before:
        yield from ((before.contract_from, fixture) for fixture in before.fixtures)


def _fixture(
    result: GateResult, contract: str, contract_from: ContractFrom, fixture: FixtureResult
) -> Row:
    return {
        **_run(result),
        "contract": contract,
        "contract_from": contract_from,
        "fixture": fixture.id,
        **{name: getattr(fixture, name, None) for name in list(FIXTURES.columns)[5:]},
        **_tally("base", fixture.base),
        **_tally("head", fixture.head),
        "failed_checks": list(dict.fromkeys(f.check for f in fixture.failures_on("head"))),
        "failures": list(map(_failure, fixture.failures)),
        "warnings": list(map(_failure, fixture.warnings)),
        "errors": list(fixture.errors),
    }


def _run(result: GateResult) -> Row:
    """Return the fields that distinguish the rows of several runs."""
    started = result.started if result.started.tzinfo else result.started.replace(tzinfo=UTC)
    return {"started": started.astimezone(UTC), "head_sha": result.head_sha}


def _failure(failure: FixtureFailure) -> Row:
    return {name: getattr(failure, name) for name in ("arm", "check", "message", "output")}


def _tally(arm: Arm, tally: Tally | None) -> Row:
    return {
        f"{arm}_samples": tally.samples if tally else None,
        f"{arm}_samples_passed": tally.passed if tally else None,
    }


SAMPLES = Table(
    {
        "started": "time",
        "head_sha": "text",
        "contract": "text",
        "contract_from": "text",
        "fixture": "text",
        "category": "text",
        "arm": "text",
        "repetition": "whole",
        "model": "text",
        "fingerprint": "text",
        "seed": "whole",
        "passed": "yes_no",
        "failed_checks": "texts",
        "output": "text",
        "output_raw": "text",
        "tool_calls": "tool_calls",
        "output_length": "whole",
        "output_sha256": "text",
        "repairs": "texts",
        "repair_ledger": "repair_ledger",
        "pass_score": "number",
        "checks": "checks",
        "latency_ms": "number",
        "ttft_ms": "number",
        "prompt_tokens": "whole",
        "completion_tokens": "whole",
        "reasoning_tokens": "whole",
        "cost_usd": "number",
        "judge_answers": "whole",
        "judge_cost_usd": "number",
        "user_answers": "whole",
        "user_cost_usd": "number",
        "finish_reason": "text",
        "error": "text",
        "shared": "yes_no",
        "request": "text",
        "prompt_digest": "text",
    },
    _sample_rows,
)

FIXTURES = Table(
    {
        "started": "time",
        "head_sha": "text",
        "contract": "text",
        "contract_from": "text",
        "fixture": "text",
        "category": "text",
        "change": "text",
        "base_passed": "yes_no",
        "head_passed": "yes_no",
        "base_samples": "whole",
        "base_samples_passed": "whole",
        "head_samples": "whole",
        "head_samples_passed": "whole",
        "p_value": "number",
        "failed_checks": "texts",
        "failures": "failures",
        "warnings": "failures",
        "errors": "texts",
        "base_output": "text",
        "head_output": "text",
        "duplicate_of": "text",
        "cluster": "text",
    },
    _fixture_rows,
)


def _cell(value: Any, kind: Kind) -> str:
    if value is None:
        return ""
    if kind == "text" and isinstance(value, str) and _HARMLESS.fullmatch(value):
        return f'"{value}"'
    if isinstance(value, float) and not math.isfinite(value):
        return ""
    if kind == "yes_no":
        return "true" if value else "false"
    if kind in ("whole", "number"):
        return repr(value)
    if isinstance(value, datetime):
        return value.isoformat()
    text = value if isinstance(value, str) else _JSON.encode(value)
    return '"' + guarded(text).replace('"', '""') + '"'


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {key: _encodable(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _arrow_types() -> dict[Kind, pa.DataType]:
    import pyarrow as pa

    text = pa.string()

    def records(fields: Iterable[tuple[str, pa.DataType]]) -> pa.DataType:
        return pa.list_(pa.struct(list(fields)))

    return {
        "text": text,
        "texts": pa.list_(text),
        "whole": pa.int64(),
        "number": pa.float64(),
        "yes_no": pa.bool_(),
        "time": pa.timestamp("us", "UTC"),
        "checks": records(
            [
                ("check", text),
                ("passed", pa.bool_()),
                ("severity", text),
                ("message", text),
                ("score", pa.float64()),
                ("weight", pa.float64()),
                ("must_pass", pa.bool_()),
            ]
        ),
        "tool_calls": records((name, text) for name in ("name", "arguments", "id")),
        "repair_ledger": records((name, text) for name in ("step", "before", "after", "meaning")),
        "failures": records((name, text) for name in ("arm", "check", "message", "output")),
    }
