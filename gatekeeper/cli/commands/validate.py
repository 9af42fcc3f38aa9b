"""`gatekeeper validate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gatekeeper.cli.output import print_answer, print_error
from gatekeeper.errors import ContractError


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="contract files (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def validate(arguments: argparse.Namespace) -> int:
    """Find all mistakes in contracts and prompts of the work tree. Calls no model."""
    from gatekeeper.reports.described.validation import describe_validation
    from gatekeeper.runs.library.validate import validate as find_mistakes

    found = find_mistakes(repo=arguments.repo, paths=arguments.paths)
    # Print no prefix before the position: editors and problem matchers parse the line.
    for problem in () if arguments.json else found.problems:
        print_error(str(problem))
    print_answer(found.document(), describe_validation(found), as_json=arguments.json)
    return 0 if found.valid else ContractError.exit_code
