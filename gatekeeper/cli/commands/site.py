"""`gatekeeper site`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.cli.arguments import add_past, past_of
from gatekeeper.cli.output import print_error, readers_may_leave
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.git import Repository

if TYPE_CHECKING:
    from gatekeeper.history.record import Record
    from gatekeeper.reports.redact import Redactor

_BRANCH, _DATABASE = "branch:", "postgresql:"
DEFAULT_OUT = Path(".gatekeeper/site")


def add(parser: argparse.ArgumentParser) -> None:
    add_past(parser)
    parser.add_argument(
        "--ref", default="HEAD", help="revision whose contracts the site shows (default: HEAD)"
    )
    parser.add_argument(
        "--reports",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help=("folder with reports of earlier runs that the site links to; can be repeated"),
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=DEFAULT_OUT,
        metavar="DIR",
        help=f"folder for the site (default: {DEFAULT_OUT})",
    )
    parser.add_argument(
        "--title", default="Prompt health", help='title of the site (default: "Prompt health")'
    )


def site(arguments: argparse.Namespace) -> int:
    """Write a static site about the history: trends, budgets, costs, drift. Calls no model."""
    from gatekeeper.history.lines import without_collection

    with without_collection():
        _write(arguments)
    return 0


def _write(arguments: argparse.Namespace) -> None:
    from gatekeeper.checks.packages import use_packages
    from gatekeeper.checks.registry import SHAPES
    from gatekeeper.contract.changes.affected import every_contract
    from gatekeeper.contract.changes.groups import with_groups
    from gatekeeper.reports.escape import log_text
    from gatekeeper.reports.redact import environment_redactor
    from gatekeeper.reports.site.contract_history import contract_histories
    from gatekeeper.reports.site.folder import write_site
    from gatekeeper.reports.site.frame import INDEX, Site
    from gatekeeper.reports.site.kept_runs import find_kept_runs

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
    for notice in notices:
        print_error(f"gatekeeper: {log_text(notice)}")
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
