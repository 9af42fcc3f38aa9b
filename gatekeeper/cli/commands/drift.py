"""`gatekeeper drift`."""

from __future__ import annotations

import argparse

from gatekeeper.cli.arguments import add_contract, add_past, past_of
from gatekeeper.cli.output import print_answer
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.git import Repository


def add(parser: argparse.ArgumentParser) -> None:
    add_past(parser)
    add_contract(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def drift(arguments: argparse.Namespace) -> int:
    """Show which models and judges changed although the prompt did not change. Calls no model.

    The exit code is 1 if a change is certain, else 0.
    """
    from gatekeeper.history.drift import drifts
    from gatekeeper.history.judge_drift import judge_drifts
    from gatekeeper.reports.described.drift import describe_drifts, drift_document

    with Repository.open(arguments.repo) as repository:
        policy = load_policy(repository.revision("HEAD"))
        past = past_of(arguments, repository, policy).read()
    found = drifts(past.records, arguments.contract)
    judges = judge_drifts(past.records, arguments.contract)
    known = {record.contract for record in past.records}
    unknown = [f"{name}: no run in the history" for name in arguments.contract if name not in known]
    notices = [*past.notices, *unknown]
    document = drift_document(found, notices, judges)
    print_answer(document, describe_drifts(found, notices, judges), as_json=arguments.json)
    drifted = any(judge.status == "drifted" for judge in judges)
    return 1 if drifted or any(contract.change for contract in found) else 0
