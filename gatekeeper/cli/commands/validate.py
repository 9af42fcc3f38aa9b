"""`gatekeeper validate`."""

from __future__ import annotations

import argparse
import contextlib
import gc
from collections.abc import Iterator
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
    from gatekeeper.library.validate import validate as find_mistakes
    from gatekeeper.reports.terminal.console import print_validation

    with _without_garbage_collection():
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


@contextlib.contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Save a sixth of the time: everything that is read is kept until the end anyway."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
