"""`gatekeeper judge correct`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gatekeeper.cli.arguments import DEFAULT_OUT
from gatekeeper.cli.output import print_answer
from gatekeeper.errors import UsageError


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("contract", metavar="CONTRACT", help="name of the contract")
    parser.add_argument(
        "--run",
        type=Path,
        default=DEFAULT_OUT,
        metavar="DIR",
        help=f"folder with the run's reports (default: {DEFAULT_OUT})",
    )
    parser.add_argument(
        "--labels",
        type=Path,
        required=True,
        metavar="FILE",
        help="CSV or JSON Lines with the verdicts of people on outputs of this run",
    )
    parser.add_argument(
        "--check", metavar="NAME", help="the check to correct, if several checks use judges"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def correct(arguments: argparse.Namespace) -> int:
    """Correct the rates of a finished run, and their difference, by labels of its own outputs.

    Label some of the run's fixtures with `gatekeeper judge label`, which takes them in random
    order. Calls no model and changes no verdict.
    """
    from gatekeeper.gate.calibration.labels import read_labels, settle_labels
    from gatekeeper.gate.calibration.run_correction import correct_run
    from gatekeeper.reports.described.judges import correction_document, describe_correction
    from gatekeeper.reports.formats.read_samples import find_samples, read_run

    samples = find_samples(arguments.run)
    if samples is None:
        raise UsageError(
            f"--run {arguments.run}: the folder has no samples.jsonl; run `gatekeeper check` or "
            "`gatekeeper run` first"
        )
    labels = settle_labels(read_labels(arguments.labels))
    outcomes = read_run(samples).outcomes
    found = correct_run(arguments.contract, outcomes, labels, arguments.check)
    print_answer(correction_document(found), describe_correction(found), as_json=arguments.json)
    return 0
