"""`gatekeeper check`."""

from __future__ import annotations

import argparse
from pathlib import Path

from gatekeeper.cli.arguments import add_arms, add_run, change_of, history_of, unfinished_of
from gatekeeper.cli.output import report, require_writable
from gatekeeper.cli.uncommitted import uncommitted
from gatekeeper.contract.policy import policy_in_force
from gatekeeper.git import Repository
from gatekeeper.history.tampering import paths_in_repository, refuse_own_history


def add(parser: argparse.ArgumentParser) -> None:
    add_arms(parser)
    add_run(parser)
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="FILE",
        help="file of samples from earlier runs: reuse them and add new ones; needs an API key",
    )


def check(arguments: argparse.Namespace) -> int:
    """Decide whether a change may merge: compare it with the branch to merge into."""
    from gatekeeper.gate.work import plan_check
    from gatekeeper.reports.write import forget_reports, require_formats
    from gatekeeper.runs.session import RunOptions, measure
    from gatekeeper.runs.unfinished import FILE, refuse_unfinished_batches

    require_formats(arguments.format)
    if not arguments.resume:
        forget_reports(arguments.out)
    with Repository.open(arguments.repo) as repository:
        change = change_of(repository, arguments)
        policy, notices = policy_in_force(change)
        notices = (*notices, *uncommitted(repository, arguments, policy))
        unfinished = unfinished_of(arguments, repository)
        order_seed = unfinished.order_seed if unfinished else arguments.order_seed
        work = plan_check(change, policy, arguments.contract, notices, order_seed)
        if unfinished:
            # A run that is refused leaves the reports as they are.
            unfinished.require_same(work.trials)
            forget_reports(arguments.out)
        if arguments.history and work.trials:
            for path in paths_in_repository(arguments.history, repository.root or Path()):
                refuse_own_history(path, change)
        history = history_of(arguments, repository)
        answers = arguments.out / FILE if work.trials and not arguments.replay else None
        require_writable(arguments.out, work.called_models, arguments.replay)
        if answers:
            refuse_unfinished_batches(arguments.out)
        revisions = (change.base, change.head)
        result = measure(
            work,
            revisions,
            RunOptions(
                history=history,
                replay=arguments.replay,
                cache=arguments.cache,
                answers=answers,
                unfinished=unfinished,
            ),
        )
    return report(result, arguments.out, arguments.format, answers)
