"""The format of a record: strict about what it says, patient with who wrote it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited
from support.past_runs import STARTED, line, record

from gatekeeper.gate.results.result import Waiver
from gatekeeper.history.record import ModeRecord, Record
from gatekeeper.history.stores import lines
from gatekeeper.history.stores.lines import read_past, record_schema, to_lines, to_record
from gatekeeper.stats.interval import ConfidenceInterval

PUBLISHED = json.loads((Path(__file__).parents[3] / "docs" / "record.v1.json").read_text("utf-8"))
WHOLE = record(
    prompt_digest="p" * 64,
    contract_digest="c" * 64,
    fingerprints=("m-1", "m-2"),
    objectives={"success_rate": (20, 2)},
    checks={"says ok": (20, 2)},
    categories={"hard": (3, 0)},
    fixtures={"0" * 12: (1, 0)},
    repaired=1,
    latency_ms={"p50": 200.0, "p95": 300.5},
    prompt_tokens=16,
    completion_tokens=4,
    cost_usd=0.25,
    waiver=Waiver(None, "accept", "octocat", "b" * 40, "meant", "2026-11-03T09:00:00Z"),
    mode=ModeRecord("auto", "assist", "it takes no schema", "text", "a" * 64),
)


def past(*content: str | bytes) -> lines.Past:
    joined = b"\n".join(c.encode() if isinstance(c, str) else c for c in content)
    return read_past([("h.jsonl", joined)])


def test_the_published_schema_is_up_to_date() -> None:
    assert record_schema() == PUBLISHED, "run `make schema`"


@pytest.mark.parametrize("made", [record(), WHOLE, record(interval=None, time=STARTED)])
def test_what_is_written_is_read_and_as_published(made: Record) -> None:
    written = to_lines([made])
    jsonschema.validate(json.loads(written), PUBLISHED)
    assert to_record(written) == made
    assert written.isascii()


names = st.text(min_size=1, max_size=20).filter(
    lambda t: t.encode("utf-8", "replace") == t.encode("utf-8", "surrogatepass")
)
counts = st.builds(lambda a, b: (a + b, a), st.integers(0, 10**6), st.integers(0, 10**6))


@given(
    contract=names,
    model=names,
    time=st.datetimes(timezones=st.just(UTC)),
    checks=st.dictionaries(names, counts, max_size=3),
    cost_usd=st.none() | st.floats(0, 1e6),
    interval=st.none()
    | st.lists(st.floats(0, 1), min_size=2, max_size=2).map(
        lambda bounds: ConfidenceInterval(*sorted(bounds))
    ),
)
def test_every_record_survives(**fields: Any) -> None:
    made = record("x", **fields)
    written = to_lines([made])
    assert written.count(b"\n") == 1
    assert to_record(written) == made
    jsonschema.validate(json.loads(written), PUBLISHED)


def test_what_is_no_text_is_replaced() -> None:
    (read,) = past(to_lines([record(contract="naïve 🎈 \ud800")])).records
    assert read.contract == "naïve 🎈 ?"


BAD = [
    (b"not json", "JSON"),
    (b'{"schema": 1', "is incomplete"),
    (b"\xff\xfe\x00", "JSON"),
    (b"[1, 2]", "object"),
    (b"{}", "schema"),
    (b"[" * 100_000, "JSON"),
    (b"1" * 5000, "JSON"),
    (line(schema=2), "newer version of gatekeeper"),
    (line(schema=0), "schema"),
    (line(schema=True), "schema"),
    (line(schema="1"), "schema"),
    (line(id=""), "id"),
    (line(contract=""), "contract"),
    (line(contract=None), "contract"),
    (line(trigger="pull_request"), "trigger"),
    (line(samples=1.5), "samples"),
    (line(samples=True), "samples"),
    (line(samples="5"), "samples"),
    (line(samples=10**9 + 1), "samples"),
    (line(samples=-1, failed=-2), "samples"),
    (line(failed=None), "failed"),
    (line(failed=6), "failed"),
    (line(failed_calls=6), "failed_calls"),
    (line(time="yesterday"), "time"),
    (line(time=5), "time"),
    (line(time="2025-06-01T12:00:00"), "time zone"),
    (line(time="0001-01-01T00:00:00+09:00"), "out of range"),
    (line(interval=[0.1, 0.2]), "interval"),
    (line(interval={"low": 0.9, "high": 0.1}), "interval"),
    (line(interval={"low": 0.9, "high": 0.1}).replace("0.9", "NaN"), "interval"),
    (line(interval={"low": 0.0, "high": 2.0}), "interval"),
    (line(cost_usd=-1), "cost_usd"),
    (edited(line(cost_usd=1), '"cost_usd": 1', '"cost_usd": 1e999'), "cost_usd"),
    (edited(line(cost_usd=1), '"cost_usd": 1', '"cost_usd": NaN'), "cost_usd"),
    (line(checks={"a": [1, 2]}), "checks.a"),
    (line(checks={"a": [1]}), "checks.a"),
    (line(checks={"a": {"events": -1, "failed": -1}}), "checks.a"),
    (line(latency_ms={"p50": "fast"}), "latency_ms.p50"),
    (line(waiver={"kind": "forgive"}), "waiver"),
    (line(model="x" * lines.LARGEST_LINE), "too many for a record"),
]


@pytest.mark.parametrize(("bad", "said"), BAD, ids=range(len(BAD)))
def test_a_bad_line_is_named_and_left_out(bad: str | bytes, said: str) -> None:
    found = past(line(samples=7), bad, line(samples=8))
    assert [read.samples for read in found.records] == [7, 8]
    (notice,) = found.notices
    assert notice.startswith("h.jsonl:2: ")
    assert said in notice
    assert len(notice) < 300


def test_many_bad_lines_are_counted_rather_than_listed() -> None:
    read = past(*(f"junk {i}" for i in range(50)))
    notices = read.notices
    assert len(notices) == lines.MOST_NOTICES + 1
    assert "40 more" in notices[-1]


def test_line_ends_blank_lines_and_a_byte_order_mark_do_not_matter() -> None:
    found = past("\ufeff" + line(samples=7) + "\r", "\r", "  ", line(samples=8) + "\r")
    assert [read.samples for read in found.records] == [7, 8]
    assert found.notices == ()


def test_a_record_that_is_there_twice_counts_once_and_the_oldest_comes_first() -> None:
    later = (STARTED + timedelta(days=1)).isoformat()
    files = [("a", line(id="1", time=later).encode()), ("b", line(id="2").encode())]
    found = read_past([*files, ("c", f"{line(id='1', time=later)}\n{line(id='3')}".encode())])
    assert [read.id for read in found.records] == ["2", "3", "1"]
    assert found.notices == ()


def test_what_no_clock_explains_is_named_and_left_out() -> None:
    now = datetime.now(UTC)
    soon, late = (now + timedelta(hours=hours) for hours in (23, 25))
    found = past(
        line(time=soon.isoformat()),
        line(time=late.isoformat()),
        line(time="9999-12-31T23:59:59-23:59"),
    )
    assert [read.time for read in found.records] == [soon]
    assert [n.split(": ")[0] for n in found.notices] == ["h.jsonl:2", "h.jsonl:3"]
    assert "is in the future" in found.notices[0]


def test_times_of_all_zones_are_in_one_order() -> None:
    tokyo = timezone(timedelta(hours=9))
    first, second = STARTED, STARTED + timedelta(hours=1)
    found = past(line(time=second.isoformat()), line(time=first.astimezone(tokyo).isoformat()))
    assert [read.time for read in found.records] == [first, second]


def test_unknown_fields_of_this_version_do_not_matter() -> None:
    found = past(line(extra={"a": 1}))
    assert len(found.records) == 1
    assert found.notices == ()


@given(st.lists(st.binary(max_size=200), max_size=4))
def test_nothing_breaks_the_reader(content: list[bytes]) -> None:
    found = past(*content)
    assert all(isinstance(read, Record) for read in found.records)


KEYS = sorted(json.loads(line()))
values = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 10), st.floats(), st.text(max_size=3),
    st.lists(st.integers(0, 3), max_size=3),
    st.dictionaries(st.sampled_from(["low", "high", "a"]), st.integers(-1, 2), max_size=3),
)  # fmt: skip


@given(st.dictionaries(st.sampled_from([*KEYS, "checks", "cost_usd", "repaired"]), values))
def test_what_is_read_is_as_published(changes: dict[str, Any]) -> None:
    """The reader may refuse more: numbers that contradict each other."""
    document = json.loads(line(**changes))
    for read in past(line(**changes)).records:
        jsonschema.validate(document, PUBLISHED)
        assert to_record(to_lines([read])) == read
