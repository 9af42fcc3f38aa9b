"""`gatekeeper drift`."""

from __future__ import annotations

import argparse
import json

from gatekeeper.commands.output import readers_may_leave
from gatekeeper.contract.policy import NO_HISTORY, POLICY_PATH, load_policy
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--history",
        metavar="WHERE",
        help="past runs of the default branch, as for `run` (default: what the policy names)",
    )
    parser.add_argument(
        "--contract",
        action="append",
        default=[],
        metavar="NAME",
        help="only this contract; may be given again",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def drift(arguments: argparse.Namespace) -> int:
    """Which models changed although nobody touched the prompt. Calls no model.

    The exit code is 1 where a change is sure and 0 where none is.
    """
    from gatekeeper.drift import drifts
    from gatekeeper.history.open import open_history
    from gatekeeper.reports.drift import drift_document, print_drifts

    with Repository.open(arguments.repo) as repository:
        location = arguments.history or load_policy(repository.revision("HEAD")).history
        if location == NO_HISTORY:
            raise UsageError(f"{POLICY_PATH} keeps no history; name one with --history")
        past = open_history(location, repository).read()
    found = drifts(past.records, arguments.contract)
    with readers_may_leave():
        if arguments.json:
            print(json.dumps(drift_document(found, past.notices), indent=2))  # noqa: T201
        else:
            print_drifts(found, past.notices)
    return 1 if any(contract.change for contract in found) else 0
