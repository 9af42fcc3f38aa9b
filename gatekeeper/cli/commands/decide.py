"""`gatekeeper decide`."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from gatekeeper.cli.arguments import add_history, add_out, add_plan, add_reports
from gatekeeper.cli.output import report
from gatekeeper.git import Repository
from gatekeeper.runs.library.places import history_of, require_history_folder, tracked_by


def add(parser: argparse.ArgumentParser) -> None:
    add_plan(parser)
    parser.add_argument(
        "--answers",
        type=Path,
        nargs="+",
        required=True,
        metavar="DIR",
        help="folders with the answers of all shards; gatekeeper also reads their subfolders",
    )
    add_out(parser)
    add_reports(parser)
    add_history(parser)


def decide(arguments: argparse.Namespace) -> int:
    """Join the answers of all shards, and decide as `gatekeeper run` would. Calls no model."""
    from gatekeeper.reports.write import forget_reports, require_formats
    from gatekeeper.runs.keep_in_history import Keep
    from gatekeeper.runs.run_plan import RunPlan, execute
    from gatekeeper.runs.shards.join import join_answers
    from gatekeeper.runs.shards.plan import plan_again, read_plan

    require_formats(arguments.format)
    forget_reports(arguments.out)
    require_history_folder(arguments.history)
    with Repository.open(arguments.repo) as repository:
        tracked = tracked_by(repository)
        plan = read_plan(arguments.plan, tracked)
        revision = repository.revision(plan.revision)
        sharded = plan_again(plan, revision, arguments.plan)
        joined = join_answers(sharded, arguments.answers, tracked)
        history = history_of(arguments.history, repository)
        # An incomplete run is decided again once its shards are complete.
        left_out = ("The run is incomplete, so gatekeeper does not add the run to the history.",)
        run = replace(
            RunPlan.of_revision(revision, sharded.work, repository),
            history=history,
            keep=None if joined.faults else Keep("manual"),
            source=joined,
            notices=left_out if history and joined.faults else (),
        )
        result = execute(run)
    return report(result, arguments.out, arguments.format)
