"""Describes past runs, for a terminal and as CSV for spreadsheets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC

from gatekeeper import numbers
from gatekeeper.history.costs import price_of
from gatekeeper.history.record import Record
from gatekeeper.reports.document import Block, Paragraph, Quote, Table, Words, columns
from gatekeeper.reports.formats.csv_parquet import Kind, Row, csv_lines

_COLUMNS: Mapping[str, Kind] = {
    "id": "text",
    "time": "time",
    "trigger": "text",
    "sha": "text",
    "contract": "text",
    "model": "text",
    "version": "text",
    "samples": "whole",
    "failed": "whole",
    "success_rate": "number",
    "interval_low": "number",
    "interval_high": "number",
    "calls": "whole",
    "failed_calls": "whole",
    "repaired": "whole",
    "latency_p50_ms": "number",
    "latency_p95_ms": "number",
    "prompt_tokens": "whole",
    "completion_tokens": "whole",
    "cost_usd": "number",
    "score": "number",
    "prompt_digest": "text",
    "contract_digest": "text",
    "fingerprints": "texts",
    "waived_by": "text",
    "verdict": "text",
}

_NO_RUN_YET = (
    "There is no history yet. The action adds a run to the history after each push to the default "
    "branch and in each scheduled workflow. `gatekeeper run --history WHERE` also adds a run."
)


def records_csv(records: Sequence[Record]) -> str:
    """Return one CSV row per record; JSON also has the counts by check and by fixture."""
    return "".join(csv_lines(_COLUMNS, map(_row, records)))


def describe_records(records: Sequence[Record], *, begun: bool = True) -> Iterator[Block]:
    """Describe each record in a row, the newest first. `begun` says that the history has a run."""
    if not records:
        yield Paragraph("The history has no such run." if begun else _NO_RUN_YET)
        return
    right = ("passed", "interval", "p95", "cost")
    left = ("time", "contract", "trigger", "commit", "model")
    titles = columns(*left, right=right, last=["waived by"])
    yield Table(titles, [_cells(record) for record in reversed(records)])


def _cells(record: Record) -> list[Words]:
    passed = record.samples - record.failed
    return [
        numbers.moment(record.time),
        Quote(record.contract),
        record.trigger,
        Quote(record.sha[:10]),
        Quote(record.model, 40),
        f"{numbers.percent(record.success_rate)} ({passed:,}/{record.samples:,})",
        numbers.percent_interval(record.interval),
        numbers.milliseconds(record.latency_ms.get("p95")),
        numbers.dollars(price_of(record)),
        Quote(f"@{record.waiver.author}") if record.waiver else "",
    ]


def _row(record: Record) -> Row:
    interval = record.interval
    return {
        **{name: getattr(record, name, None) for name in _COLUMNS},
        "time": record.time.astimezone(UTC),
        "interval_low": interval.low if interval else None,
        "interval_high": interval.high if interval else None,
        "latency_p50_ms": record.latency_ms.get("p50"),
        "latency_p95_ms": record.latency_ms.get("p95"),
        "fingerprints": list(record.fingerprints),
        "waived_by": record.waiver.author if record.waiver else None,
    }
