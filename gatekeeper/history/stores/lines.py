"""Reads and writes records as lines of JSON, and reports invalid lines.

The format is docs/record.v1.json. Lines are ASCII, so that no name can confuse a terminal.
"""

from __future__ import annotations

import contextlib
import gc
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from gatekeeper.history.lineage import follow_renames
from gatekeeper.history.record import Record
from gatekeeper.history.stores.store import Past
from gatekeeper.stats.objectives.error_budget import CLOCK_SKEW

SCHEMA = 1
_OWN_START = f'{{"schema":{SCHEMA},'.encode()
"""How `to_lines` begins a line. One that begins so need not be parsed twice."""
LARGEST_LINE = 4 * 2**20
LARGEST_FILE = 64 * 2**20
"""The most bytes of a history file; a larger one is no history, or needs another store."""

MOST_NOTICES = 10
"""The most faults that are listed. The others are only counted, so that a file of another
kind does not fill the report."""


@dataclass(frozen=True, slots=True)
class _Versioned:
    schema: int | None = None


@cache
def _record() -> TypeAdapter[Record]:
    return TypeAdapter(Record)


@cache
def _versioned() -> TypeAdapter[_Versioned]:
    return TypeAdapter(_Versioned)


def record_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a line."""
    schema = _record().json_schema()
    properties = {"schema": {"const": SCHEMA, "title": "Schema"}, **schema["properties"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "properties": properties,
        "required": ["schema", *schema["required"]],
    }


def to_document(record: Record) -> dict[str, Any]:
    """Return the record as JSON-ready values, without unknown ones."""
    known: dict[str, Any] = _record().dump_python(record, mode="json", exclude_defaults=True)
    return {"schema": SCHEMA, **known}


def to_lines(records: Iterable[Record]) -> bytes:
    """Return one line for each record."""
    return b"".join(_line(to_document(record)) for record in records)


def to_record(line: bytes) -> Record:
    """Return the record of a line. Raises ValueError that says what is wrong with it."""
    if len(line) > LARGEST_LINE:
        raise ValueError(f"the line has {len(line):,} bytes, too many for a record")
    try:
        if not line.startswith(_OWN_START):
            _require_schema(line)
        return _record().validate_json(line, strict=True)
    except ValidationError as error:
        raise ValueError(_explained(error)) from None


def _require_schema(line: bytes) -> None:
    """Raise ValueError unless the line names a schema that this version reads."""
    schema = _versioned().validate_json(line, strict=True).schema
    if schema is None or schema < 1:
        raise ValueError("schema: must be a whole number of one or more")
    if schema > SCHEMA:
        raise ValueError(
            f"schema {schema}: a newer version of gatekeeper wrote this record; this version "
            f"reads schemas up to {SCHEMA}"
        )


def read_past(files: Iterable[tuple[str, bytes]], faults: Iterable[str] = ()) -> Past:
    """Return the records of all files, each with its name for notices; `faults` are those of the
    store itself. A record that exists twice, as after a merge of two copies, counts once. One that
    is further in the future than a fast clock explains is left out."""
    with without_collection():
        return _read_past(files, list(faults))


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Pause the search for circular garbage. Records have none, and looking through a year of them
    again and again takes a third of the time that reading takes."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _read_past(files: Iterable[tuple[str, bytes]], wrong: list[str]) -> Past:
    latest = datetime.now(UTC) + CLOCK_SKEW
    found: dict[str, Record] = {}
    for name, content in files:
        for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                record = to_record(line.strip())
                if record.time > latest:
                    raise ValueError(f"time: {record.time.isoformat()} is in the future")
            except ValueError as error:
                wrong.append(f"{name}:{number}: {error}; this record is left out of the history")
            else:
                found.setdefault(record.id, record)
    # Those of one moment in an order that does not depend on the store.
    oldest_first = sorted(found.values(), key=lambda r: (r.time, r.contract, r.id))
    return Past(follow_renames(oldest_first), tuple(_shortened(wrong)))


def _line(document: dict[str, Any]) -> bytes:
    try:
        text = json.dumps(document, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair is no text that could be read again
        document = json.loads(text.encode("utf-8", "replace"))
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def _explained(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return "the line is not a JSON record, or is incomplete"
    place = ".".join(str(part) for part in first["loc"])
    said = first["msg"].removeprefix("Value error, ")
    return f"{place}: {said}" if place else said


def _shortened(wrong: list[str]) -> Iterable[str]:
    yield from wrong[:MOST_NOTICES]
    if len(wrong) > MOST_NOTICES:
        yield f"{len(wrong) - MOST_NOTICES} more records are left out of the history"
