"""`gatekeeper judge label`."""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path

from gatekeeper.cli.arguments import DEFAULT_OUT
from gatekeeper.cli.named_contract import named_contract
from gatekeeper.cli.output import print_error
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("contract", metavar="CONTRACT", help="name of the contract")
    parser.add_argument(
        "--run",
        type=Path,
        default=DEFAULT_OUT,
        metavar="DIR",
        help=(
            f"folder with the reports of the run whose outputs you label (default: {DEFAULT_OUT})"
        ),
    )
    parser.add_argument(
        "--labels",
        type=Path,
        default=Path("labels.jsonl"),
        metavar="FILE",
        help=("JSON Lines file to which gatekeeper adds the labels (default: labels.jsonl)"),
    )
    parser.add_argument(
        "--annotator",
        metavar="NAME",
        help="name of the person who labels (default: the user's name)",
    )
    parser.add_argument(
        "--check", metavar="NAME", help="the check to label, if the contract has several judges"
    )
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help=(
            "write an HTML page for labelling in a browser; a link on the page downloads the "
            "labels as a file"
        ),
    )


def label(arguments: argparse.Namespace) -> int:
    """Ask a person for verdicts on the outputs of a run. Calls no model.

    The order is random and the arms are not shown. An interrupted session goes on with the outputs
    that the annotator has not labelled yet.
    """
    from gatekeeper.gate.calibration.labels import label_tasks, read_labels
    from gatekeeper.reports.formats.read_samples import find_samples, read_run
    from gatekeeper.reports.judges.labels import ask_for_labels, label_page

    annotator = arguments.annotator or _user()
    samples = find_samples(arguments.run)
    if samples is None:
        raise UsageError(
            f"--run {arguments.run}: the folder has no samples.jsonl; run `gatekeeper check` or "
            "`gatekeeper run` first"
        )
    if arguments.labels.suffix.lower() == ".csv":
        raise UsageError(f"--labels {arguments.labels}: name a file that ends in .jsonl")
    with Repository.open(arguments.repo) as repository:
        revision = repository.worktree()
        contract = named_contract(revision, load_policy(revision), arguments.contract)
    fixtures = {fixture.id: fixture for fixture in contract.fixtures}
    known = read_labels(arguments.labels) if arguments.labels.exists() else ()
    mine = [known_label for known_label in known if known_label.annotator == annotator]
    outcomes = read_run(samples).outcomes
    tasks = label_tasks(arguments.contract, outcomes, fixtures, mine, arguments.check)
    if arguments.page:
        text = label_page(arguments.contract, tasks, annotator, arguments.check)
        try:
            arguments.page.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--page {arguments.page}: cannot be written ({error})") from None
        print_error(f"wrote {arguments.page} with {len(tasks)} outputs; open it in a browser")
        return 0
    given = ask_for_labels(tasks, annotator, arguments.check, arguments.labels, sys.stdin)
    left = len(tasks) - given
    print_error(f"{arguments.labels}: {given} labels added, {left} outputs not labelled yet")
    return 0


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise UsageError("--annotator: give the name of the person who labels") from None
