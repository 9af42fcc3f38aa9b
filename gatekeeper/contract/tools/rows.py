"""Reads the rows of `tool_results`: which call of a tool gets which answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from gatekeeper.contract.meaning.schemas import contract_schema
from gatekeeper.contract.syntax.schema_errors import schema_problems
from gatekeeper.contract.syntax.yaml_positions import Row
from gatekeeper.contract.tools.answers import faults_in
from gatekeeper.contract.values.tools import ToolAnswer, ToolRow, read_condition
from gatekeeper.errors import Problem

MOST_ROWS = 2_000
"""The most rows of a contract, and of a fixture."""


def rows_of(parts: Sequence[Row], problems: list[Problem]) -> tuple[ToolRow, ...]:
    """Return the rows of a contract or a fixture. A mistake is added to `problems`."""
    if len(parts) > MOST_ROWS:
        what = f"there are more than {MOST_ROWS:,} rows of `tool_results`"
        problems.append(
            parts[MOST_ROWS].document.problem(parts[MOST_ROWS].key, what, "keep fewer rows")
        )
        return ()
    made, places = [], []
    for part in parts:
        data = _without_empty_cells(part)
        found = schema_problems(part.document, _row_schema(), data, part.key)
        if not found and "error" in data and "returns" in data:
            what, fix = "a row has both `returns` and `error`", "keep one of them"
            found = [part.document.problem(part.key, what, fix)]
        problems += found
        if not found:
            made.append(_row(data))
            places.append(part)
    for at, what in faults_in(made):
        place = places[at]
        fix = f"correct this row of `{made[at].tool}`"
        problems.append(place.document.problem(place.key, what, fix))
    return tuple(made)


def _without_empty_cells(part: Row) -> Any:
    """Return a row without the empty cells of a CSV file. Of those, `returns` is an empty answer
    unless the row has an `error`."""
    if not isinstance(part.data, dict) or not part.document.path.lower().endswith(".csv"):
        return part.data
    data = {name: cell for name, cell in part.data.items() if cell != "" or name == "returns"}
    if "error" in data and data.get("returns") == "":
        del data["returns"]
    return data


@cache
def _row_schema() -> Mapping[str, Any]:
    defs = contract_schema()["$defs"]
    return {"$ref": "#/$defs/tool_row", "$defs": defs}


def _row(data: Mapping[str, Any]) -> ToolRow:
    answers = tuple(map(_answer, (data, *data.get("then", ()))))
    return ToolRow(data["tool"], answers, read_condition(data.get("when", {})))


def _answer(data: Mapping[str, Any]) -> ToolAnswer:
    sets, delay = tuple(data.get("sets", ())), float(data.get("delay_ms", 0))
    if "error" in data:
        return ToolAnswer(data["error"], is_error=True, delay_ms=delay, sets=sets)
    return ToolAnswer(data.get("returns"), delay_ms=delay, sets=sets)
