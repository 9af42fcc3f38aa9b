"""`gatekeeper affected`."""

from __future__ import annotations

import argparse

from gatekeeper.cli.arguments import add_arms
from gatekeeper.cli.output import print_json, readers_may_leave


def add(parser: argparse.ArgumentParser) -> None:
    add_arms(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def affected(arguments: argparse.Namespace) -> int:
    """List what `check` would run, why, and what it would cost. Calls no model."""
    from gatekeeper.reports.terminal.console import print_estimate
    from gatekeeper.runs.library.affected import affected as find_affected

    found = find_affected(
        repo=arguments.repo,
        base=arguments.base,
        head=arguments.head,
        worktree=arguments.worktree,
        contract=arguments.contract,
    )
    with readers_may_leave():
        if arguments.json:
            print_json(found.document())
        else:
            print_estimate(found)
    return 0
