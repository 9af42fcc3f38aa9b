"""`gatekeeper check`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gatekeeper.cli.arguments import add_arms, add_run, library_arguments
from gatekeeper.cli.output import report
from gatekeeper.runs.library.arguments import CheckArguments


def add(parser: argparse.ArgumentParser) -> None:
    add_arms(parser)
    add_run(parser)
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="FILE",
        help="file of samples from earlier runs: reuse them and add new ones; needs an API key",
    )


def check(arguments: argparse.Namespace) -> int:
    """Decide whether a change may merge: compare it with the branch to merge into."""
    from gatekeeper.author.promises.explain import explain_promises
    from gatekeeper.runs.library.check import measure_check

    given = library_arguments(CheckArguments, arguments)
    measured = measure_check(given, terminal=True, explain=explain_promises)
    return report(measured.result, arguments.out, arguments.format, measured.answers)
