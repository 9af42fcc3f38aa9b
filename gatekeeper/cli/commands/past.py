"""`gatekeeper history`, `budget`, `drift` and `site`: what past runs say."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gatekeeper.checks.packages import use_packages
from gatekeeper.checks.registry import SHAPES
from gatekeeper.cli.arguments import past_of
from gatekeeper.cli.options import HEAD, MANY, Option, options
from gatekeeper.cli.output import print_answer, print_error, print_json, readers_may_leave
from gatekeeper.contract.changes.affected import every_contract
from gatekeeper.contract.changes.groups import narrowed, with_groups
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.contract.syntax.schema_errors import nearest
from gatekeeper.errors import UsageError
from gatekeeper.gate.objectives.error_budgets import contract_budgets
from gatekeeper.git import Repository
from gatekeeper.history.drift import drifts
from gatekeeper.history.judge_drift import judge_drifts
from gatekeeper.history.record import Record, events_of
from gatekeeper.history.stores.lines import to_document, to_lines, without_collection
from gatekeeper.history.stores.open import open_history, require_history
from gatekeeper.reports.described.drift import describe_drifts, drift_document
from gatekeeper.reports.described.error_budgets import budget_document, describe_budgets
from gatekeeper.reports.described.history_table import describe_records, records_csv
from gatekeeper.reports.redact import Redactor, environment_redactor
from gatekeeper.reports.site.contract_history import contract_histories
from gatekeeper.reports.site.folder import write_site
from gatekeeper.reports.site.frame import INDEX, Site
from gatekeeper.reports.site.kept_runs import find_kept_runs
from gatekeeper.reports.terminal.console import print_blocks
from gatekeeper.stats.objectives.objective import parse_window

TRIGGERS = ("push", "schedule", "manual")
FORMATS = ("table", "csv", "json", "jsonl")


def history(arguments: argparse.Namespace) -> int:
    """List, filter and export past runs of the default branch. Calls no model."""
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
    return [
        f"the history has no run of a contract `{name}`; {nearest(name, known)}"
        for name in names
        if known and name not in known
    ]


def _print(records: Sequence[Record], form: str, *, begun: bool) -> None:
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
    for notice in notices:
        print_error(f"gatekeeper: {notice}")


def budget(arguments: argparse.Namespace) -> int:
    """Show what is left of each error budget and when it will be spent. Calls no model."""
    with Repository.open(arguments.repo) as repository:
        revision = repository.revision(arguments.ref)
        policy = load_policy(revision)
        use_packages(policy)
        suite = narrowed(with_groups(every_contract(revision, policy, SHAPES)), arguments.contract)
        past = past_of(arguments, repository, policy).read()
    now = datetime.now(UTC)
    spending = events_of(past.records)
    found = [contract_budgets(c.head, spending, policy, now) for c in suite if c.head]
    document = budget_document(found, past.notices, now)
    print_answer(document, describe_budgets(found, past.notices), as_json=arguments.json)
    return 0


def drift(arguments: argparse.Namespace) -> int:
    """Show which models and judges changed although the prompt did not change. Calls no model.

    The exit code is 1 if a change is certain, else 0.
    """
    with Repository.open(arguments.repo) as repository:
        policy = load_policy(repository.revision("HEAD"))
        past = past_of(arguments, repository, policy).read()
    found = drifts(past.records, arguments.contract)
    judges = judge_drifts(past.records, arguments.contract)
    known = {record.contract for record in past.records}
    unknown = [f"{name}: no run in the history" for name in arguments.contract if name not in known]
    notices = [*past.notices, *unknown]
    document = drift_document(found, notices, judges)
    print_answer(document, describe_drifts(found, notices, judges), as_json=arguments.json)
    drifted = any(judge.status == "drifted" for judge in judges)
    return 1 if drifted or any(contract.change for contract in found) else 0


_BRANCH, _DATABASE = "branch:", "postgresql:"
DEFAULT_OUT = Path(".gatekeeper/site")


def site(arguments: argparse.Namespace) -> int:
    """Write a static site about the history: trends, budgets, costs, drift. Calls no model."""
    with without_collection():
        _write(arguments)
    return 0


def _write(arguments: argparse.Namespace) -> None:
    redact = environment_redactor()
    kept, unused = find_kept_runs(arguments.reports)
    with Repository.open(arguments.repo) as repository:
        revision = repository.revision(arguments.ref)
        policy = load_policy(revision)
        use_packages(policy)
        suite = with_groups(every_contract(revision, policy, SHAPES)).contracts
        past = past_of(arguments, repository, policy).read()
    records = _without_secrets(past.records, redact)
    now = datetime.now(UTC)
    contracts = {redact.text(found.name): found.head for found in suite if found.head}
    notices = (*past.notices, *unused)
    location = arguments.history or policy.history
    source = _shown_source(location)
    written = write_site(
        Site(
            title=arguments.title,
            source=source,
            built=now,
            records=records,
            histories=contract_histories(records, contracts, policy, now),
            kept=kept,
            notices=[notice.replace(location, source) for notice in notices],
            month_usd=policy.limits.month_usd,
        ),
        arguments.out,
    )
    _say(notices)
    with readers_may_leave():
        sys.stdout.write(f"{written[INDEX]}: {len(written):,} files\n")


def _shown_source(location: str) -> str:
    """Return the history's name as a reader may see it: no password, no path of this machine."""
    if location.startswith(_DATABASE):
        return "a PostgreSQL database"
    return location if location.startswith(_BRANCH) else Path(location).name


def _without_secrets(records: tuple[Record, ...], redact: Redactor) -> tuple[Record, ...]:
    """Take secrets out of the names of contracts, which become names of files. The texts of pages
    are redacted when they are written."""
    names = {name: redact.text(name) for name in {record.contract for record in records}}
    if all(name == clean for name, clean in names.items()):
        return records
    return tuple(replace(record, contract=names[record.contract]) for record in records)


OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "history": options(
        """
    @past
    @contract
    --model MODEL   show only runs of this model
    --trigger       show only runs with this trigger
    --since WHEN    the earliest time: a date, a time or an age, such as 2026-11-03, 28d or 12h
    --until WHEN    the latest time, written like --since
    --format        output format (default: table); --import can read jsonl
    --import WHERE  first add the records of this other history to the history of --history
    """,
        trigger={"choices": TRIGGERS},
        format={"choices": FORMATS, "default": "table"},
        **{"import": {"dest": "source"}},
    ),
    "budget": options(
        """
    --ref REF  revision whose objectives apply (default: HEAD)
    @past
    @contract
    @json
    """,
        ref=HEAD,
    ),
    "drift": options("""
    @past
    @contract
    @json
    """),
    "site": options(
        f"""
    @past
    --ref REF      revision whose contracts the site shows (default: HEAD)
    --reports DIR  folder with reports of earlier runs that the site links to; can be repeated
    --out DIR      folder for the site (default: {DEFAULT_OUT})
    --title TITLE  title of the site (default: "Prompt health")
    """,
        ref=HEAD,
        reports=MANY,
        out={"default": DEFAULT_OUT},
        title={"default": "Prompt health"},
    ),
}
