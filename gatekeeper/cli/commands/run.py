"""`gatekeeper run`."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from gatekeeper.cli.arguments import (
    add_contract,
    add_run,
    history_of,
    require_history_folder,
    tracked_by,
    unfinished_of,
)
from gatekeeper.cli.output import print_error, report, require_writable
from gatekeeper.contract.policy import load_policy
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository
from gatekeeper.numbers import count

if TYPE_CHECKING:
    from pathlib import Path

    from gatekeeper.contract.policy import Policy
    from gatekeeper.gate.work import Work
    from gatekeeper.runs.batch_run import BatchRun
    from gatekeeper.runs.ray_cluster import RayCluster


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ref", default="HEAD", help="the revision to run (default: HEAD)")
    add_contract(parser)
    add_run(parser)
    elsewhere = parser.add_mutually_exclusive_group()
    elsewhere.add_argument(
        "--batch",
        action="store_true",
        help="call OpenAI's and Anthropic's models in batches: half the price, answers within 24 "
        "hours",
    )
    elsewhere.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="call models from the nodes of a Ray cluster: auto, HOST:PORT, ray://HOST:PORT, local",
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the full suite on one revision. With --history, adds the run to the history."""
    from gatekeeper.gate.work import plan_run
    from gatekeeper.reports.write import forget_reports, require_formats
    from gatekeeper.runs.keep_in_history import Keep
    from gatekeeper.runs.session import RunOptions, measure
    from gatekeeper.runs.unfinished import BATCHES, FILE

    if arguments.batch and arguments.replay:
        raise UsageError("--batch calls models and --replay does not; use only one of them")
    require_formats(arguments.format)
    if not arguments.resume:
        forget_reports(arguments.out)
    require_history_folder(arguments.history)
    with Repository.open(arguments.repo) as repository:
        revision = repository.revision(arguments.ref)
        policy = load_policy(revision)
        file = arguments.out / BATCHES
        if arguments.resume and tracked_by(repository)(file):
            raise UsageError(f"--resume: {file} is under version control; remove it from there")
        unfinished = unfinished_of(arguments, repository)
        order_seed = unfinished.order_seed if unfinished else arguments.order_seed
        work = plan_run(revision, policy, arguments.contract, order_seed=order_seed)
        if unfinished:
            # A run that is refused leaves the reports as they are.
            unfinished.require_same(work.trials)
            forget_reports(arguments.out)
        history = history_of(arguments, repository)
        answers = arguments.out / FILE if work.trials and not arguments.replay else None
        require_writable(arguments.out, work.called_models, arguments.replay)
        batches = _batches(arguments, work, file) if answers else None
        with _cluster(arguments, policy) as cluster:
            result = measure(
                work,
                (revision,),
                RunOptions(
                    history=history,
                    keep=Keep("manual"),
                    replay=arguments.replay,
                    answers=answers,
                    unfinished=unfinished,
                    source=batches or cluster,
                    full_suite=True,
                ),
            )
    return report(result, arguments.out, arguments.format, answers)


@contextlib.contextmanager
def _cluster(arguments: argparse.Namespace, policy: Policy) -> Iterator[RayCluster | None]:
    """Connect to the cluster of `--ray`; yield None without one."""
    if arguments.ray is None:
        yield None
        return
    if arguments.replay:
        raise UsageError(
            "--ray and --replay cannot be combined, because --replay calls no model; "
            "use only one of them"
        )
    from gatekeeper.runs.ray_cluster import connect

    with connect(arguments.ray, policy.through_litellm) as cluster:
        print_error(f"sampling on {count(cluster.size, 'node')} of the Ray cluster")
        yield cluster


def _batches(arguments: argparse.Namespace, work: Work, file: Path) -> BatchRun | None:
    """Return what asks in batches; None without `--batch`.

    Raises UsageError, also for a run that would ask again what the batches of an unfinished run
    answer.
    """
    from gatekeeper.runs.unfinished import refuse_unfinished_batches

    if not (arguments.batch and arguments.resume):
        refuse_unfinished_batches(file.parent)
    if not arguments.batch:
        return None
    from gatekeeper.runs.batch_run import open_batches

    return open_batches(work, file)
