"""`gatekeeper judge agreement`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.cli.output import print_answer

if TYPE_CHECKING:
    from gatekeeper.gate.calibration.decisions import PairAgreement


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help=("CSV or JSON Lines: people's labels, judges' verdicts, or decisions on pairs"),
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def agreement(arguments: argparse.Namespace) -> int:
    """Show how annotators and recorded judges agree. Calls no model.

    With the columns `pair_id`, `label`, `decision` and `decision_swapped`, the file has decisions
    on pairs; with `verdict` and `judge_verdict`, verdicts on single outputs; with `verdict` alone,
    labels of people.
    """
    from gatekeeper.gate.calibration.decisions import (
        compare_pair_judges,
        compare_recorded_judges,
        read_decisions,
    )
    from gatekeeper.gate.calibration.labels import (
        annotator_agreement,
        columns,
        labels_from,
        read_rows,
    )
    from gatekeeper.reports.described.judges import agreement_document, describe_agreement

    rows = tuple(read_rows(arguments.file))
    names = columns(rows)
    pairs: tuple[PairAgreement, ...] = ()
    found, annotators = None, None
    if "decision" in names:
        pairs, found = compare_pair_judges(read_decisions(rows))
    elif "judge_verdict" in names:
        found, annotators = compare_recorded_judges(rows)
    else:
        annotators = annotator_agreement(labels_from(rows))
    described = describe_agreement(found, pairs, annotators)
    print_answer(agreement_document(found, pairs, annotators), described, as_json=arguments.json)
    return 0
