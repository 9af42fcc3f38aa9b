"""`gatekeeper budget`."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from gatekeeper.cli.arguments import add_contract, add_past, past_of
from gatekeeper.cli.output import print_answer
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.git import Repository


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--ref", default="HEAD", help="revision whose objectives apply (default: HEAD)"
    )
    add_past(parser)
    add_contract(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def budget(arguments: argparse.Namespace) -> int:
    """Show what is left of each error budget and when it will be spent. Calls no model."""
    from gatekeeper.checks.packages import use_packages
    from gatekeeper.checks.registry import SHAPES
    from gatekeeper.contract.changes.affected import every_contract
    from gatekeeper.contract.changes.groups import narrowed, with_groups
    from gatekeeper.gate.objectives.error_budgets import contract_budgets
    from gatekeeper.history.record import events_of
    from gatekeeper.reports.described.error_budgets import budget_document, describe_budgets

    with Repository.open(arguments.repo) as repository:
        revision = repository.revision(arguments.ref)
        policy = load_policy(revision)
        use_packages(policy)
        suite = narrowed(with_groups(every_contract(revision, policy, SHAPES)), arguments.contract)
        past = past_of(arguments, repository, policy).read()
    now = datetime.now(UTC)
    spending = events_of(past.records)
    found = [contract_budgets(c.head, spending, policy, now) for c in suite if c.head]
    document = budget_document(found, past.notices, now)
    print_answer(document, describe_budgets(found, past.notices), as_json=arguments.json)
    return 0
