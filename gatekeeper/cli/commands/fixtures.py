"""`gatekeeper fixtures`."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.cli.named_contract import named_contract
from gatekeeper.cli.new_files import write_new_files
from gatekeeper.cli.output import print_lines
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository

if TYPE_CHECKING:
    from gatekeeper.author.logs.formats import UnreadLine
    from gatekeeper.author.logs.propose import Proposal
    from gatekeeper.contract.values.definition import Contract

_COUNTRY = re.compile("[A-Z]{2}")


def add(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="what")
    own = commands.add_parser(
        "add",
        help="choose new inputs from request logs",
        description="Choose inputs from request logs that the fixtures of a contract do not cover. "
        "Replaces personal data and secrets.",
    )
    own.add_argument("logs", nargs="+", type=Path, metavar="LOG", help="JSON or JSON Lines files")
    own.add_argument("--contract", required=True, metavar="NAME", help="the contract")
    own.add_argument(
        "--most", type=int, default=20, metavar="N", help="the most fixtures to add (default: 20)"
    )
    own.add_argument(
        "--countries",
        default="",
        metavar="CODE,…",
        help=(
            "also replace the telephone numbers and national identifiers of these countries, such "
            "as US,GB"
        ),
    )
    own.add_argument("--out", type=Path, metavar="FILE", help="the new fixture file (JSON Lines)")


def fixtures(arguments: argparse.Namespace) -> int:
    """Add fixtures to a contract from request logs."""
    from gatekeeper.author.logs.formats import read_log
    from gatekeeper.author.logs.propose import propose_fixtures

    if arguments.most < 1:
        raise UsageError(f"--most {arguments.most}: give at least 1")
    countries = [code.strip().upper() for code in arguments.countries.split(",") if code.strip()]
    wrong = next((code for code in countries if not _COUNTRY.fullmatch(code)), None)
    if wrong:
        raise UsageError(f"--countries: {wrong} is no country code; write two letters, such as GB")
    with Repository.open(arguments.repo) as repository:
        revision = repository.worktree()
        contract = named_contract(revision, load_policy(revision), arguments.contract)
        root = repository.root or Path()
    folder = root / Path(contract.path).parent
    out = arguments.out or folder / f"{contract.name}.from-logs.jsonl"
    if out.suffix != ".jsonl":
        raise UsageError(f"--out {out}: the file is JSON Lines, so give it a name in .jsonl")
    if out.exists():
        raise UsageError(f"{out} exists already; move this file, or name another file with --out")
    logged = (one for path in arguments.logs for one in read_log(path))
    found = propose_fixtures(contract, logged, arguments.most, countries)
    if found.requests == found.other:
        raise UsageError(_nothing(contract, found))
    if found.rows:
        _write(out, found)
    inside = out.resolve().is_relative_to(root.resolve())
    reference = os.path.relpath(out.resolve(), folder.resolve()) if inside else out.name
    print_lines(_said(found, contract, out, Path(reference).as_posix()))
    return 0


def _nothing(contract: Contract, found: Proposal) -> str:
    requests = found.requests
    if not requests:
        unread = f" in {_lines(found.unread)}" if found.unread else ""
        return (
            f"the logs hold no request that gatekeeper can read{unread}; "
            "see docs/fixtures.md for the supported formats"
        )
    names = ", ".join(f"`{name}`" for name in found.sent)
    return (
        f"none of the {requests:,} requests used {contract.target.prompt.reference}, because "
        "the messages do not match the template and the requests hold no values for "
        f"{names}"
    )


def _lines(unread: Sequence[UnreadLine]) -> str:
    from gatekeeper.numbers import count

    first = unread[0]
    return f"{count(len(unread), 'line')} (the first is {first.path}:{first.number})"


def _write(out: Path, found: Proposal) -> None:
    from gatekeeper.reports.redact import environment_redactor

    rows = environment_redactor().value(list(found.rows))
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    write_new_files({out: text})


def _said(found: Proposal, contract: Contract, out: Path, reference: str) -> Iterator[str]:
    from gatekeeper.numbers import count, percent

    yield (
        f"{count(found.requests, 'request')}, {found.requests - found.other:,} of this prompt with "
        f"{count(found.inputs, 'distinct input')}"
    )
    if found.unread:
        yield f"No request in {_lines(found.unread)}."
    if found.compared < found.inputs:
        yield f"{count(found.compared, 'input')} compared"
    if found.left_out:
        yield (
            f"{count(found.left_out, 'input')} left out for one of two reasons: the input is too "
            "long, or too much of its text may be personal data"
        )
    if not found.compared:
        yield "No fixture was added."
        return
    yield (
        f"The suite covers {percent(found.covered)} of the logged inputs; with "
        f"the new fixtures, the suite covers {percent(found.covered_then)}."
    )
    if not found.rows:
        yield "No fixture was added, because every logged input is similar to a fixture."
        return
    yield f"{count(len(found.rows), 'fixture')} written to {out}."
    yield (
        f"Replaced {count(found.replaced, 'piece')} of personal data or secrets "
        "in all inputs. gatekeeper does not detect names and postal addresses, so "
        "read the file before you commit it."
    )
    if found.missing:
        names = ", ".join(f"`{name}`" for name in found.missing)
        yield (
            f"The prompt does not use {names}, so the logs do not show a value: add {names} to the "
            f"`vars` of each line in {out} that lacks it, or remove it from the other fixtures."
        )
    yield (
        "Next: add `expected` to the fixtures whose checks need it, and add this line under "
        f"`fixtures` in {contract.path}:"
    )
    yield f"  - file: {reference}"
