"""`gatekeeper history`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence, Set
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from gatekeeper.cli.arguments import add_contract, add_past, past_of
from gatekeeper.cli.output import print_error, print_json, readers_may_leave
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository

if TYPE_CHECKING:
    from gatekeeper.history.record import Record

TRIGGERS = ("push", "schedule", "manual")
FORMATS = ("table", "csv", "json", "jsonl")


def add(parser: argparse.ArgumentParser) -> None:
    add_past(parser)
    add_contract(parser)
    parser.add_argument("--model", help="show only runs of this model")
    parser.add_argument("--trigger", choices=TRIGGERS, help="show only runs with this trigger")
    parser.add_argument(
        "--since",
        metavar="WHEN",
        help="the earliest time: a date, a time or an age, such as 2026-11-03, 28d or 12h",
    )
    parser.add_argument("--until", metavar="WHEN", help="the latest time, written like --since")
    parser.add_argument(
        "--format",
        choices=FORMATS,
        default="table",
        help="output format (default: table); --import can read jsonl",
    )
    parser.add_argument(
        "--import",
        dest="source",
        metavar="WHERE",
        help="first add the records of this other history to the history of --history",
    )


def history(arguments: argparse.Namespace) -> int:
    """List, filter and export past runs of the default branch. Calls no model."""
    from gatekeeper.history.open import open_history, require_history
    from gatekeeper.reports.redact import environment_redactor

    redact = environment_redactor()
    now = datetime.now(UTC)
    since = _moment("--since", arguments.since, now)
    until = _moment("--until", arguments.until, now, end=True)
    with Repository.open(arguments.repo) as repository:
        store = past_of(arguments, repository, load_policy(repository.revision("HEAD")))
        if arguments.source:
            origin = open_history(arguments.source, repository)
            require_history(arguments.source, "--import")
            source = redact.value(origin.read())
            added = store.append(source.records)
            _say([*source.notices, f"{added} of {len(source.records)} records were new"])
        past = redact.value(store.read())
    _say(past.notices)
    _say(_unknown_names(arguments.contract, {record.contract for record in past.records}))
    found = [
        record
        for record in past.records
        if record.contract in (arguments.contract or [record.contract])
        and record.model == (arguments.model or record.model)
        and record.trigger == (arguments.trigger or record.trigger)
        and (since is None or record.time >= since)
        and (until is None or record.time < until)
    ]
    with readers_may_leave():
        _print(found, arguments.format, begun=bool(past.records))
    return 0


def _unknown_names(names: Sequence[str], known: Set[str]) -> list[str]:
    """Return a notice for each name without a run: a contract may have none yet, so it is no
    error."""
    from gatekeeper.contract.syntax.schema_errors import nearest

    return [
        f"the history has no run of a contract `{name}`; {nearest(name, known)}"
        for name in names
        if known and name not in known
    ]


def _print(records: Sequence[Record], form: str, *, begun: bool) -> None:
    from gatekeeper.history.lines import to_document, to_lines
    from gatekeeper.reports.described.history_table import describe_records, records_csv
    from gatekeeper.reports.terminal.console import print_blocks

    if form == "table":
        print_blocks(describe_records(records, begun=begun))
    elif form == "csv":
        sys.stdout.write(records_csv(records))
    elif form == "jsonl":
        sys.stdout.write(to_lines(records).decode())
    else:
        print_json([to_document(record) for record in records])


def _moment(option: str, text: str | None, now: datetime, *, end: bool = False) -> datetime | None:
    """Read the time that an option gives; the default time zone is UTC.

    A day stands for its start, or with `end` for the start of the next day. Raises UsageError.
    """
    if text is None:
        return None
    from gatekeeper.stats.objectives.objective import parse_window

    try:
        return now - parse_window(text)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is None:
            found = found.replace(tzinfo=UTC)
        return found + timedelta(days=1) if end and len(text) == len("2026-11-03") else found
    except (ValueError, OverflowError):
        raise UsageError(
            f"{option}: {text!r} is not a date, a time or an age; write it like 2026-11-03, "
            "2026-11-03T10:15 or 28d"
        ) from None


def _say(notices: Sequence[str]) -> None:
    from gatekeeper.reports.escape import log_text

    for notice in notices:
        print_error(f"gatekeeper: {log_text(notice)}")
