"""`gatekeeper validate`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gatekeeper.cli.output import readers_may_leave
from gatekeeper.contract.policy import load_policy
from gatekeeper.errors import ContractError
from gatekeeper.git import Repository


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", type=Path, metavar="PATH", help="contract files (default: all)"
    )


def validate(arguments: argparse.Namespace) -> int:
    """Find all mistakes in contracts and prompts of the work tree. Calls no model."""
    from gatekeeper.gate.validate import repository_path, validate_contracts
    from gatekeeper.providers.cost_estimate import expected_cost
    from gatekeeper.providers.model_faults import find_model_fault
    from gatekeeper.reports.escape import log_text

    with Repository.open(arguments.repo) as repository:
        revision = repository.worktree()
        root = repository.root or arguments.repo
        paths = [repository_path(path, root) for path in arguments.paths]
        policy = load_policy(revision)
        lines, problems = validate_contracts(
            revision, policy, paths, find_model_fault, expected_cost
        )
    with readers_may_leave():
        for line in lines:
            print(log_text(line))  # noqa: T201
    if problems:
        raise ContractError(problems)
    return 0
