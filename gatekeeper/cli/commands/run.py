"""`gatekeeper run`."""

from __future__ import annotations

import argparse

from gatekeeper.cli.arguments import (
    add_contract,
    add_run,
    history_of,
    require_history_folder,
    unfinished_of,
)
from gatekeeper.cli.output import report, require_writable
from gatekeeper.contract.policy import load_policy
from gatekeeper.git import Repository


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ref", default="HEAD", help="the revision to run (default: HEAD)")
    add_contract(parser)
    add_run(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the full suite on one revision. With --history, adds the run to the history."""
    from gatekeeper.gate.work import plan_run
    from gatekeeper.reports.write import forget_reports, require_formats
    from gatekeeper.run.kept_run import Keep
    from gatekeeper.run.session import measure
    from gatekeeper.run.unfinished import FILE

    require_formats(arguments.format)
    forget_reports(arguments.out)
    require_history_folder(arguments.history)
    with Repository.open(arguments.repo) as repository:
        revision = repository.revision(arguments.ref)
        policy = load_policy(revision)
        unfinished = unfinished_of(arguments, repository)
        order_seed = unfinished.order_seed if unfinished else arguments.order_seed
        work = plan_run(revision, policy, arguments.contract, order_seed=order_seed)
        history = history_of(arguments, repository)
        answers = arguments.out / FILE if work.trials and not arguments.replay else None
        require_writable(arguments.out, work.called_models, arguments.replay)
        result = measure(
            work,
            (revision,),
            history=history,
            keep=Keep("manual"),
            replay=arguments.replay,
            answers=answers,
            unfinished=unfinished,
            full_suite=True,
        )
    return report(result, arguments.out, arguments.format, answers)
