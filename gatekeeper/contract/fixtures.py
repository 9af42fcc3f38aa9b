"""Converts fixture files (.jsonl .json .yaml .yml .csv) and inline rows to Fixtures."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gatekeeper.contract.definition import CheckSpec, Fixture, Position, SimulatedUser
from gatekeeper.contract.digests import canonical, digest
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath, parse_json, parse_yaml
from gatekeeper.errors import ContractError, Problem

SUFFIXES = (".jsonl", ".json", ".yaml", ".yml", ".csv")
_OWN_KEYS = (
    "id",
    "vars",
    "expected",
    "category",
    "checks",
    "metadata",
    "must_pass",
    "cluster",
    "turns",
    "user",
)
_JSON_CELLS = ("vars", "checks", "metadata", "must_pass", "turns")

ReadChecks = Callable[[Document, KeyPath, Any, list[Problem]], tuple[CheckSpec, ...]]


@dataclass(frozen=True, slots=True)
class Row:
    """One row as data, with its position in the document."""

    document: Document
    key: KeyPath
    data: Any


MOST_TURNS = 20
"""The most messages of the user after the prompt's; each is a call to the model."""
_OF_USERS = ("goal", "persona", "max_turns")
"""The keys that a fixture's `user` may have. The contract sets all others."""
_LONGEST_GOAL = 10_000
_START = 28
"""The most characters of a fixture's text in an id that is made for it."""
_LONGEST_LOOK = 500
MOST_PROBLEMS = 100
"""The most problems of one file that are reported. Each becomes an annotation."""


def read_rows(text: str, path: str, most: int | None = None) -> list[Row]:
    """Return the rows of a fixture file; at most one more than `most`, if that is given.

    Raises ContractError; a file without rows is an error.
    """
    enough = None if most is None else most + 1
    lower = path.lower()
    if not lower.endswith(SUFFIXES):
        fix = f"use a file of the type {', '.join(SUFFIXES)}"
        what = "gatekeeper cannot read fixtures from a file of this type"
        raise ContractError([Problem(path, what, fix)])
    if lower.endswith(".jsonl"):
        rows = _jsonl_rows(text, path, enough)
    elif lower.endswith(".csv"):
        rows = list(itertools.islice(_csv_rows(text, path), enough))
    elif not text.strip():
        rows = []
    else:
        rows = _list_rows(
            parse_json(text, path) if lower.endswith(".json") else parse_yaml(text, path)
        )
    if not rows:
        what, fix = "the file has no fixture", "add at least one fixture"
        raise ContractError([Problem(path, what, fix, 1)])
    return rows


def own_checks(row: Row) -> int:
    """Return the number of checks that the row itself has."""
    checks = row.data.get("checks") if isinstance(row.data, dict) else None
    return len(checks) if isinstance(checks, list) else 0


def fixture_from(row: Row, read_checks: ReadChecks, problems: list[Problem]) -> Fixture | None:
    """Return the row as a fixture; every mistake is added to `problems`.

    The id is empty if the row has none: `identified` makes one from the content.
    """
    document, key, data = row.document, row.key, row.data
    if not isinstance(data, dict) or not data:
        what = "the row is empty" if data in ({}, None) else "the row is not a mapping"
        fix = "write the row like `{vars: {text: …}, expected: …}`"
        problems.append(document.problem(key, what, fix))
        return None
    before = len(problems)
    variables = _variables(row, problems)
    metadata = data.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        what, fix = "`metadata` is not a mapping", "write `{key: value}`"
        problems.append(document.problem((*key, "metadata"), what, fix))
    must_pass = data.get("must_pass")
    if not isinstance(must_pass, bool | None):
        what = "`must_pass` must be true or false"
        fix = "write `must_pass: true`, or remove `must_pass`"
        problems.append(document.problem((*key, "must_pass"), what, fix))
    checks = (
        read_checks(document, (*key, "checks"), data["checks"], problems)
        if data.get("checks")
        else ()
    )
    fixture = Fixture(
        id=_label(row, "id", problems) or "",
        vars=variables,
        expected=data.get("expected"),
        category=_label(row, "category", problems),
        checks=checks,
        metadata=metadata if isinstance(metadata, dict) else {},
        must_pass=must_pass is True,
        position=document.position(key),
        cluster=_label(row, "cluster", problems),
        turns=_turns(row, problems),
        user=_user(row, problems),
    )
    return fixture if len(problems) == before else None


def _user(row: Row, problems: list[Problem]) -> SimulatedUser | None:
    """Return what the row sets of its simulated user."""
    written = row.data.get("user")
    if "vars" not in row.data and not _sets_user(written):
        return None
    return _own_user(row.document, (*row.key, "user"), written, problems)


def _sets_user(written: Any) -> bool:
    """Return whether `user` of a row without `vars` sets a simulated user, and is no variable."""
    return isinstance(written, dict) and bool(written) and set(written) <= set(_OF_USERS)


def _own_user(
    document: Document, key: KeyPath, written: Any, problems: list[Problem]
) -> SimulatedUser | None:
    """Return what a fixture sets of its user; every mistake is added to `problems`."""
    if written is None:
        return None
    if not isinstance(written, dict) or not written or set(written) - set(_OF_USERS):
        what = "a fixture's `user` must be a mapping with `goal`, `persona` or `max_turns`"
        fix = "write `{goal: …}`; only the contract's `user` can set the model"
        problems.append(document.problem(key, what, fix))
        return None
    for name in ("goal", "persona"):
        value = written.get(name, "x")
        if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_GOAL:
            what = f"`{name}` must be a text of at most {_LONGEST_GOAL:,} characters"
            problems.append(document.problem((*key, name), what, "write a sentence"))
            return None
    turns = written.get("max_turns", 0)
    if isinstance(turns, bool) or not isinstance(turns, int) or not 0 <= turns <= MOST_TURNS:
        what = f"`max_turns` must be a whole number from 1 to {MOST_TURNS}"
        problems.append(document.problem((*key, "max_turns"), what, "write a number such as 5"))
        return None
    return SimulatedUser("", written.get("goal", ""), turns, written.get("persona", ""))


def _turns(row: Row, problems: list[Problem]) -> tuple[str, ...]:
    written = row.data.get("turns")
    if written is None:
        return ()
    sound = isinstance(written, list) and all(isinstance(t, str) and t.strip() for t in written)
    if not sound:
        what, fix = "`turns` must be a list of texts", 'write `["And tomorrow?", "Thank you."]`'
        problems.append(row.document.problem((*row.key, "turns"), what, fix))
        return ()
    if len(written) > MOST_TURNS:
        what = f"the fixture has {len(written):,} turns, but the limit is {MOST_TURNS}"
        problems.append(row.document.problem((*row.key, "turns"), what, "write fewer turns"))
    return tuple(written)


def identified(fixtures: list[Fixture], problems: list[Problem]) -> tuple[Fixture, ...]:
    """Give every fixture its own id.

    If an id is written twice, the error names both places; rows without an id and with equal values
    are numbered.
    """
    seen: dict[str, Fixture] = {}
    for fixture in fixtures:
        first = seen.setdefault(fixture.id, fixture) if fixture.id else fixture
        if first is not fixture:
            problems.append(_twice(fixture, first))
    taken = set(seen)
    numbers: Counter[str] = Counter()
    result = []
    for fixture in fixtures:
        if fixture.id:
            result.append(fixture)
            continue
        made = stem = _made_id(fixture)
        # The last number is remembered: each of many equal rows would try all those before it.
        while made in taken:
            numbers[stem] = max(numbers[stem], 1) + 1
            made = f"{stem}-{numbers[stem]}"
        taken.add(made)
        result.append(replace(fixture, id=made))
    return tuple(result)


def _made_id(fixture: Fixture) -> str:
    """Make an id from the values alone, whatever the names and the order of the variables: if a
    variable is renamed in the prompt and the fixtures, each fixture keeps its partner. It begins
    like the longest text among the values, so that people recognise the fixture."""
    values = [sorted(map(canonical, fixture.vars.values())), fixture.expected]
    turns = [list(fixture.turns)] if fixture.turns else []
    goal = [fixture.user.goal] if fixture.user else []
    made = digest([*values, *turns, *goal])[:10]
    start = _start_of_text(fixture)
    return f"{start} ({made})" if start else f"f-{made}"


def _start_of_text(fixture: Fixture) -> str:
    """Return the first words of the longest text among the values; empty if there is none."""
    texts = sorted(value for value in fixture.vars.values() if isinstance(value, str))
    longest = max(texts, key=len, default="")[:_LONGEST_LOOK]
    shown = "".join(c if c.isprintable() else " " for c in longest)
    words = " ".join(shown.split())
    if len(words) <= _START:
        return words
    cut = words[: _START + 1].rpartition(" ")[0] or words[:_START]
    return f"{cut}…"


def _twice(fixture: Fixture, first: Fixture) -> Problem:
    here, there = fixture.position or Position("?"), first.position or Position("?")
    what = f"another fixture already has the id `{fixture.id}`, at {there.path}:{there.line}"
    return Problem(here.path, what, "give each fixture its own id", here.line, here.column, "id")


def _variables(row: Row, problems: list[Problem]) -> dict[str, Any]:
    data = row.data
    if "vars" not in data:
        own = set(_OWN_KEYS)
        if not _sets_user(data.get("user")):
            own.discard("user")
        return {name: value for name, value in data.items() if name not in own}
    for name in data:
        if name not in _OWN_KEYS:
            what = f"a fixture with `vars` cannot have the key `{name}`"
            fix = f"move `{name}` into `vars` or `metadata`"
            problems.append(row.document.problem((*row.key, name), what, fix, at_key=True))
    if isinstance(data["vars"], dict):
        return dict(data["vars"])
    problems.append(
        row.document.problem((*row.key, "vars"), "`vars` is not a mapping", "write `{name: value}`")
    )
    return {}


def _label(row: Row, name: str, problems: list[Problem]) -> str | None:
    value = row.data.get(name)
    if value is None or (isinstance(value, str) and not value):
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and len(value) <= 200 and value.isprintable() and value.strip():
        return value
    what = f"`{name}` must be one line of at most 200 characters"
    problems.append(row.document.problem((*row.key, name), what, "write a word or a number"))
    return None


def _list_rows(document: Document) -> list[Row]:
    if not isinstance(document.data, list):
        what, fix = "the file is not a list of fixtures", "write each fixture as one item of a list"
        raise ContractError([document.problem((), what, fix)])
    return [Row(document, (index,), item) for index, item in enumerate(document.data)]


def _jsonl_rows(text: str, path: str, enough: int | None) -> list[Row]:
    rows: list[Row] = []
    problems: list[Problem] = []
    # Not splitlines: JSON text may hold U+2028, which is no line end of the file.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        if len(rows) == enough or len(problems) >= MOST_PROBLEMS:
            break
        try:
            document = _line_document(line, path, number)
            rows.append(Row(document, (), document.data))
        except ContractError as error:
            problems.extend(error.problems)
    if problems:
        raise ContractError(problems)
    return rows


def _line_document(line: str, path: str, number: int) -> Document:
    """Parse the line: by the standard parser, which is many times as fast, and by gatekeeper's own
    parser if the standard one fails or is not strict enough."""
    try:
        if "\\ud" not in line.lower():
            data = _STANDARD.decode(line)
            return Document(path, data, {(): (number, 1)})
    except (ValueError, RecursionError):
        pass
    return parse_json(line, path, number)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a key written twice")
    return data


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


# Made once: json.loads makes a decoder at each call, which takes as long as reading a short line.
_STANDARD = json.JSONDecoder(object_pairs_hook=_object, parse_float=_finite, parse_constant=_finite)


# A blank after a comma of the first line, outside of quotes.
_BLANK_IN_HEADER = re.compile(r'(?:[^"\n]|"[^"\n]*")*?, ')


def csv_lines(text: str, path: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line and the cells of each row that is not empty. Blanks after commas count
    unless the header has some, as in PromptPex's files. Raises ContractError."""
    blanks = _BLANK_IN_HEADER.match(text) is not None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=blanks)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fix = "correct the row; inside a cell in double quotes, write each double quote twice"
            raise ContractError([Problem(path, f"not CSV: {error}", fix, line)]) from None
        if cells:
            yield line, cells


def _csv_rows(text: str, path: str) -> Iterator[Row]:
    # Documents of CSV have one place, the line, as a spreadsheet shows no columns of text.
    header: list[str] | None = None
    for line, cells in csv_lines(text, path):
        if header is None:
            header = _header(cells, path, line)
        else:
            yield _csv_row(header, cells, path, line)


def _header(cells: list[str], path: str, line: int) -> list[str]:
    names = [cell.strip() for cell in cells]
    if "" in names or len(set(names)) != len(names):
        what = "a column has no name, or two columns have the same name"
        raise ContractError([Problem(path, what, "give each column its own name", line)])
    return names


def _csv_row(header: list[str], cells: list[str], path: str, line: int) -> Row:
    if len(cells) != len(header):
        what = f"the header has {len(header)} columns, but this row has {len(cells)}"
        fix = "if a cell contains a comma or a line break, put the cell in double quotes"
        raise ContractError([Problem(path, what, fix, line)])
    data: dict[str, Any] = {}
    for name, cell in zip(header, cells, strict=True):
        if name not in _JSON_CELLS:
            data[name] = cell
        elif cell.strip():
            # Spreadsheets write TRUE.
            text = cell.lower() if name == "must_pass" else cell
            data[name] = parse_json(text, path, line).data
    return Row(Document(path, data, {(): (line, 1)}), (), data)
