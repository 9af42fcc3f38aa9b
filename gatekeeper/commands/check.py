"""`gatekeeper check`."""

from __future__ import annotations

import argparse

from gatekeeper.commands.arguments import add_arms, add_run, change_of
from gatekeeper.commands.output import report
from gatekeeper.contract.policy import judging_policy
from gatekeeper.git import Repository


def add(parser: argparse.ArgumentParser) -> None:
    add_arms(parser)
    add_run(parser)


def check(arguments: argparse.Namespace) -> int:
    """The pull-request gate."""
    from gatekeeper.gate import plan_check
    from gatekeeper.reports.write import forget_reports
    from gatekeeper.session import measure

    forget_reports(arguments.out)
    with Repository.open(arguments.repo) as repository:
        change = change_of(repository, arguments)
        policy, notices = judging_policy(change)
        work = plan_check(change, policy, arguments.contract, notices)
        revisions = (change.base, change.head)
        result = measure(work, revisions, history=arguments.history, replay=arguments.replay)
    return report(result, arguments.out)
