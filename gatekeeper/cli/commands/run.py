"""`gatekeeper run`."""

from __future__ import annotations

import argparse

from gatekeeper.cli.arguments import add_contract, add_run, library_arguments
from gatekeeper.cli.output import print_error, report
from gatekeeper.runs.library.arguments import RunArguments


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ref", default="HEAD", help="the revision to test (default: HEAD)")
    add_contract(parser)
    add_run(parser)
    elsewhere = parser.add_mutually_exclusive_group()
    elsewhere.add_argument(
        "--batch",
        action="store_true",
        help="call OpenAI's and Anthropic's models in batches, at half the price and with answers "
        "within 24 hours",
    )
    elsewhere.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="call models from the nodes of the Ray cluster at this address: auto, HOST:PORT, "
        "ray://HOST:PORT or local",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the full suite on one revision. With --history, adds the run to the history."""
    from gatekeeper.runs.library.suite import measure_run

    given = library_arguments(RunArguments, arguments)
    measured = measure_run(given, terminal=True, say=print_error)
    return report(measured.result, arguments.out, arguments.format, measured.answers)
