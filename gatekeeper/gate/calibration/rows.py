"""Reads the rows of a CSV or JSON Lines file of labels or decisions."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gatekeeper.errors import UsageError

MOST_BYTES = 100_000_000
_LONGEST_FIELD = 20_000_000


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One row: its place for messages, and its values as text. Empty values are left out."""

    place: str
    values: Mapping[str, str]

    def required(self, name: str) -> str:
        """Return the value of the column. Raises UsageError if the row has none."""
        if name not in self.values:
            raise UsageError(f"{self.place}: no `{name}`; {ADVICE}")
        return self.values[name]


ADVICE = "docs/judges-trust.md describes the columns"


def read_rows(path: Path) -> list[LabelRow]:
    """Return the rows of the file, by its suffix: `.csv`, else JSON Lines.

    Raises UsageError that names the file, the line and the mistake.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path}: is larger than {MOST_BYTES:,} bytes; split the file")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from None
    rows = list(_csv_rows(path, text) if path.suffix.lower() == ".csv" else _json_rows(path, text))
    if not rows:
        raise UsageError(f"{path}: the file has no rows; {ADVICE}")
    return rows


def _csv_rows(path: Path, text: str) -> Iterator[LabelRow]:
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        reader = csv.DictReader(text.splitlines(keepends=True), strict=True)
        for row in reader:
            place = f"{path}:{reader.line_num}"
            if None in row:
                raise UsageError(
                    f"{place}: this line has more values than the first line has column names"
                )
            yield LabelRow(place, {k: v for k, v in row.items() if v not in (None, "")})
    except csv.Error as error:
        raise UsageError(f"{path}: not CSV ({error})") from None
    finally:
        csv.field_size_limit(before)


def _json_rows(path: Path, text: str) -> Iterator[LabelRow]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{place}: not JSON ({error})") from None
        if not isinstance(row, dict):
            raise UsageError(f"{place}: not a JSON object")
        yield LabelRow(place, {k: _as_text(v) for k, v in row.items() if v is not None})


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def columns(rows: Sequence[LabelRow]) -> set[str]:
    """Return the names that any row has a value for."""
    return {name for row in rows for name in row.values}
