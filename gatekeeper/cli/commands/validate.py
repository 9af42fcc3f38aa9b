"""`gatekeeper validate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gatekeeper.cli.output import readers_may_leave
from gatekeeper.errors import ContractError


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="contract files (default: all)"
    )


def validate(arguments: argparse.Namespace) -> int:
    """Find all mistakes in contracts and prompts of the work tree. Calls no model."""
    from gatekeeper.library.validate import validate as find_mistakes
    from gatekeeper.reports.escape import log_text

    found = find_mistakes(repo=arguments.repo, paths=arguments.paths)
    with readers_may_leave():
        for line in found.lines:
            print(log_text(line))  # noqa: T201
    if found.problems:
        raise ContractError(found.problems)
    return 0
