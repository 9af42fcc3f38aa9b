"""`gatekeeper judge calibrate`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.cli.arguments import add_replay
from gatekeeper.cli.named_contract import named_contract
from gatekeeper.cli.output import print_answer, print_error
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository

if TYPE_CHECKING:
    from gatekeeper.contract.values.calibration_record import Calibrations
    from gatekeeper.gate.calibration.judge_agreement import JudgeDrift
    from gatekeeper.gate.calibration.measure import CalibrationPlan, CalibrationRun


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("contract", metavar="CONTRACT", help="name of the contract")
    parser.add_argument(
        "--labels",
        type=Path,
        required=True,
        metavar="FILE",
        help="CSV or JSON Lines with the verdicts of people",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help=(
            "write no file; exit with 1 if a judge now agrees with people less often than at "
            "calibration"
        ),
    )
    parser.add_argument(
        "--anchors",
        type=int,
        default=30,
        metavar="N",
        help="how many labelled outputs of each check to keep in NAME.judge.json; nightly runs "
        "grade these outputs again (default: %(default)s; 0 keeps none)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_replay(parser)


def calibrate(arguments: argparse.Namespace) -> int:
    """Ask a contract's judges about labelled outputs, and keep how far they agree with people.

    Writes NAME.judge.json beside the contract; commit it. The gate then corrects the rates that
    rest on these judges.
    """
    from gatekeeper.contract.checks.judge_calibration import read_calibration
    from gatekeeper.gate.calibration.anchors import keep_anchors
    from gatekeeper.gate.calibration.labels import (
        annotator_agreement,
        read_labels,
        settle_labels,
    )
    from gatekeeper.gate.calibration.measure import plan_calibration
    from gatekeeper.reports.described.judges import agreement_document, describe_agreement
    from gatekeeper.reports.redact import environment_redactor
    from gatekeeper.runs.calibrate import calibrate as grade

    if arguments.anchors < 0:
        raise UsageError(f"--anchors {arguments.anchors}: must be 0 or more")
    labels = read_labels(arguments.labels)
    with Repository.open(arguments.repo) as repository:
        revision = repository.worktree()
        policy = load_policy(revision)
        contract = named_contract(revision, policy, arguments.contract)
        plan = plan_calibration(contract, settle_labels(labels))
        stored = read_calibration(revision, contract.path)
        if arguments.check:
            _require_same_judges(plan, stored)
        found = grade(plan, policy, revision, arguments.replay)
        root = repository.root or Path()
    found = environment_redactor().value(found)
    drifts = _drifts(found, stored) if arguments.check and not found.ended else ()
    annotators = annotator_agreement(labels)
    document = agreement_document(found.agreement, (), annotators)
    document |= {"drift": [_drift_document(drift) for drift in drifts]}
    described = describe_agreement(found.agreement, (), annotators, drifts)
    print_answer(document, described, as_json=arguments.json)
    if plan.skipped:
        print_error(
            f"{plan.skipped} labels were skipped, because the contract does not have their fixtures"
        )
    if found.ended:
        print_error(f"gatekeeper: some outputs were not graded: {found.ended}")
        return 3
    if arguments.check:
        return 1 if any(drift.drifted for drift in drifts) else 0
    # A text with a secret in it is none that may be committed.
    texts = (labelled.label.output for labelled in plan.labelled)
    fit = [text for text in texts if environment_redactor().text(text) == text]
    kept = keep_anchors(found.calibrations, fit, arguments.anchors)
    return _write(root, contract.path, contract.name, kept)


def _require_same_judges(plan: CalibrationPlan, stored: Calibrations) -> None:
    for name, judge in plan.judges.items():
        if name not in stored:
            raise UsageError(
                f"--check: the check `{name}` has no calibration; run this command once without "
                "--check"
            )
        if stored[name].judge != judge.digest:
            raise UsageError(
                f"--check: the judge of the check `{name}` has changed since the calibration; run "
                "this command without --check to calibrate this judge again"
            )


def _drifts(found: CalibrationRun, stored: Calibrations) -> tuple[JudgeDrift, ...]:
    from gatekeeper.gate.calibration.judge_agreement import find_judge_drift

    return tuple(
        find_judge_drift(name, stored[name], now) for name, now in found.calibrations.items()
    )


def _drift_document(drift: JudgeDrift) -> dict[str, object]:
    return {
        "check": drift.check,
        "labels": drift.labels,
        "agreed_before": drift.agreed_before,
        "agrees_now": drift.agrees_now,
        "lost": drift.lost,
        "gained": drift.gained,
        "to_pass": drift.to_pass,
        "p_value": drift.p_value,
        "drifted": drift.drifted,
    }


def _write(root: Path, contract_path: str, name: str, found: Calibrations) -> int:
    from gatekeeper.contract.checks.judge_calibration import calibration_path, calibration_text

    path = root / calibration_path(contract_path)
    if not found:
        print_error("gatekeeper: no verdict of a judge could be read, so no file was written")
        return 3
    try:
        path.write_text(calibration_text(name, found), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error})") from None
    outputs = numbers.count(sum(len(one.anchors) for one in found.values()), "output")
    held = f"which holds the text of {outputs}; commit this file with the contract"
    print_error(f"wrote {calibration_path(contract_path)}, {held}")
    return 0
