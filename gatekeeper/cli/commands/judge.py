"""`gatekeeper judge`: find out how far judges can be trusted."""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from gatekeeper import numbers
from gatekeeper.cli.arguments import named_contract
from gatekeeper.cli.options import DEFAULT_OUT, REQUIRED, Actions, options
from gatekeeper.cli.output import print_answer, print_error
from gatekeeper.contract.checks.judge_calibration import (
    calibration_path,
    calibration_text,
    read_calibration,
)
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.contract.values.calibration_record import Calibrations
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.errors import UsageError
from gatekeeper.gate.calibration.anchors import keep_anchors
from gatekeeper.gate.calibration.decisions import (
    PairAgreement,
    compare_pair_judges,
    compare_recorded_judges,
    read_decisions,
)
from gatekeeper.gate.calibration.judge_agreement import GradingChange, find_judge_drift
from gatekeeper.gate.calibration.labels import (
    annotator_agreement,
    columns,
    label_tasks,
    labels_from,
    read_labels,
    read_rows,
    settle_labels,
)
from gatekeeper.gate.calibration.measure import CalibrationPlan, CalibrationRun, plan_calibration
from gatekeeper.gate.calibration.run_correction import correct_run
from gatekeeper.git import Repository
from gatekeeper.reports.described.judges import (
    agreement_document,
    correction_document,
    describe_agreement,
    describe_correction,
)
from gatekeeper.reports.formats.read_samples import find_samples, read_run
from gatekeeper.reports.labelling import ask_for_labels, label_page
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.runs.trying import calibrate as grade


def label(arguments: argparse.Namespace) -> int:
    """Ask a person for verdicts on the outputs of a run. Calls no model.

    The order is random and the arms are not shown. An interrupted session goes on with the outputs
    that the annotator has not labelled yet.
    """
    annotator = arguments.annotator or _user()
    outcomes = _outcomes(arguments.run)
    if arguments.labels.suffix.lower() == ".csv":
        raise UsageError(f"--labels {arguments.labels}: name a file that ends in .jsonl")
    with Repository.open(arguments.repo) as repository:
        revision = repository.worktree()
        contract = named_contract(revision, load_policy(revision), arguments.contract)
    fixtures = {fixture.id: fixture for fixture in contract.fixtures}
    known = read_labels(arguments.labels) if arguments.labels.exists() else ()
    mine = [known_label for known_label in known if known_label.annotator == annotator]
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


def _outcomes(folder: Path) -> Sequence[Outcome]:
    samples = find_samples(folder)
    if samples is None:
        raise UsageError(
            f"--run {folder}: the folder has no samples.jsonl; run `gatekeeper check` or "
            "`gatekeeper run` first"
        )
    return read_run(samples).outcomes


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        raise UsageError("--annotator: give the name of the person who labels") from None


def calibrate(arguments: argparse.Namespace) -> int:
    """Ask a contract's judges about labelled outputs, and keep how far they agree with people.

    Writes NAME.judge.json beside the contract; commit it. The gate then corrects the rates that
    rest on these judges.
    """
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
    document |= {"drift": [{**asdict(drift), "drifted": drift.drifted} for drift in drifts]}
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


def _drifts(found: CalibrationRun, stored: Calibrations) -> tuple[GradingChange, ...]:
    return tuple(
        find_judge_drift(name, stored[name], now) for name, now in found.calibrations.items()
    )


def _write(root: Path, contract_path: str, name: str, found: Calibrations) -> int:
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


def correct(arguments: argparse.Namespace) -> int:
    """Correct the rates of a finished run, and their difference, by labels of its own outputs.

    Label some of the run's fixtures with `gatekeeper judge label`, which takes them in random
    order. Calls no model and changes no verdict.
    """
    labels = settle_labels(read_labels(arguments.labels))
    outcomes = _outcomes(arguments.run)
    found = correct_run(arguments.contract, outcomes, labels, arguments.check)
    print_answer(correction_document(found), describe_correction(found), as_json=arguments.json)
    return 0


def agreement(arguments: argparse.Namespace) -> int:
    """Show how annotators and recorded judges agree. Calls no model.

    With the columns `pair_id`, `label`, `decision` and `decision_swapped`, the file has decisions
    on pairs; with `verdict` and `judge_verdict`, verdicts on single outputs; with `verdict` alone,
    labels of people.
    """
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


judge = Actions(
    "Find out how far judges, the models that grade outputs, can be trusted.",
    {
        label: options(
            f"""
    CONTRACT          name of the contract
    --run DIR         folder with the reports of the run whose outputs you label (default:
                      {DEFAULT_OUT})
    --labels FILE     JSON Lines file to which gatekeeper adds the labels (default: labels.jsonl)
    --annotator NAME  name of the person who labels (default: the user's name)
    --check NAME      the check to label, if the contract has several judges
    --page FILE       write an HTML page for labelling in a browser; a link on the page downloads
                      the labels as a file
    """,
            run={"default": DEFAULT_OUT},
            labels={"default": Path("labels.jsonl")},
        ),
        calibrate: options(
            """
    CONTRACT       name of the contract
    --labels FILE  CSV or JSON Lines with the verdicts of people
    --check        write no file; exit with 1 if a judge now agrees with people less often than at
                   calibration
    --anchors N    how many labelled outputs of each check to keep in NAME.judge.json; nightly
                   runs grade these outputs again (default: 30; 0 keeps none)
    @json
    @replay
    """,
            labels=REQUIRED,
            anchors={"default": 30},
        ),
        correct: options(
            f"""
    CONTRACT       name of the contract
    --run DIR      folder with the run's reports (default: {DEFAULT_OUT})
    --labels FILE  CSV or JSON Lines with the verdicts of people on outputs of this run
    --check NAME   the check to correct, if several checks use judges
    @json
    """,
            run={"default": DEFAULT_OUT},
            labels=REQUIRED,
        ),
        agreement: options("""
    FILE  CSV or JSON Lines: people's labels, judges' verdicts, or decisions on pairs
    @json
    """),
    },
)
