"""`gatekeeper check`."""

from __future__ import annotations

import argparse

from gatekeeper.cli.arguments import add_arms, add_cache, add_run, library_arguments
from gatekeeper.cli.output import report
from gatekeeper.runs.library.arguments import CheckArguments


def add(parser: argparse.ArgumentParser) -> None:
    add_arms(parser)
    add_run(parser)
    add_cache(parser)


def check(arguments: argparse.Namespace) -> int:
    """Decide whether a change may merge: compare it with the branch to merge into."""
    from gatekeeper.author.promises import explain_promises
    from gatekeeper.runs.library.suite import measure_check

    given = library_arguments(CheckArguments, arguments)
    measured = measure_check(given, terminal=True, explain=explain_promises)
    return report(measured.result, arguments.out, arguments.format, measured.answers)
