"""`gatekeeper affected`."""

from __future__ import annotations

import argparse
from dataclasses import replace

from gatekeeper.cli.arguments import add_arms, change_of
from gatekeeper.cli.output import print_json, readers_may_leave
from gatekeeper.cli.uncommitted import uncommitted
from gatekeeper.contract.policy import policy_in_force
from gatekeeper.git import Repository


def add(parser: argparse.ArgumentParser) -> None:
    add_arms(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def affected(arguments: argparse.Namespace) -> int:
    """List what `check` would run, why, and what it would cost. Calls no model."""
    from gatekeeper.gate.estimate import Amounts, estimate_change
    from gatekeeper.providers.cost_estimate import count_tokens, expected_cost, worst_cost
    from gatekeeper.providers.model_faults import find_model_fault
    from gatekeeper.reports.terminal.console import print_estimate

    with Repository.open(arguments.repo) as repository:
        change = change_of(repository, arguments)
        policy, _ = policy_in_force(change)
        names = arguments.contract
        amounts = Amounts(expected_cost, worst_cost, count_tokens)
        found = estimate_change(change, policy, names, amounts, find_model_fault)
        notices = uncommitted(repository, arguments, policy)
    found = replace(found, notices=(*found.notices, *notices))
    with readers_may_leave():
        if arguments.json:
            print_json(found.document())
        else:
            print_estimate(found)
    return 0
