"""`gatekeeper validate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gatekeeper.cli.output import print_error, print_json, readers_may_leave
from gatekeeper.errors import ContractError


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="contract files (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def validate(arguments: argparse.Namespace) -> int:
    """Find all mistakes in contracts and prompts of the work tree. Calls no model."""
    from gatekeeper.reports.terminal.console import print_validation
    from gatekeeper.runs.library.validate import validate as find_mistakes

    found = find_mistakes(repo=arguments.repo, paths=arguments.paths)
    if arguments.json:
        with readers_may_leave():
            print_json(found.document())
    else:
        # Print no prefix before the position: editors and problem matchers parse the line.
        for problem in found.problems:
            print_error(str(problem))
        with readers_may_leave():
            print_validation(found)
    return 0 if found.valid else ContractError.exit_code
