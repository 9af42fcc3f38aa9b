"""`gatekeeper sample`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from gatekeeper.cli.arguments import add_plan
from gatekeeper.cli.output import print_error
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository
from gatekeeper.runs.library.places import tracked_by


def add(parser: argparse.ArgumentParser) -> None:
    add_plan(parser)
    parser.add_argument(
        "--shard",
        type=_shard,
        required=True,
        metavar="I/N",
        help="the shard to sample, such as 3/8",
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder for the file of answers"
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help=(
            "reuse the answers of this shard in the folder of --out, and request only the missing "
            "answers"
        ),
    )


def sample(arguments: argparse.Namespace) -> int:
    """Ask the models for one shard's share of a plan, and keep the answers for `decide`."""
    from gatekeeper import numbers
    from gatekeeper.reports.write import require_writable
    from gatekeeper.runs.shards.plan import plan_again, read_plan
    from gatekeeper.runs.shards.sample import answers_to_resume, sample_shard

    shard, of = arguments.shard
    with Repository.open(arguments.repo) as repository:
        tracked = tracked_by(repository)
        plan = read_plan(arguments.plan, tracked)
        if of != plan.shards:
            raise UsageError(f"--shard {shard}/{of}: the plan has {plan.shards} shards")
        revision = repository.revision(plan.revision)
        sharded = plan_again(plan, revision, arguments.plan)
        require_writable(arguments.out)
        known = None
        if arguments.resume:
            known = answers_to_resume(sharded, shard, arguments.out, tracked)
        run = sample_shard(sharded, revision, shard, arguments.out, known)
    failed = f", {numbers.count(run.failed, 'failed call')}" if run.failed else ""
    cost = numbers.dollars(run.cost_usd if run.made else 0.0)
    print_error(f"shard {shard}/{of}: {numbers.count(run.made, 'call')} made{failed}, {cost}")
    if run.ended == "done":
        return 0
    print_error(
        f"gatekeeper: the shard is incomplete: {run.detail or run.ended}; run the same command "
        "with --resume to get the missing answers"
    )
    return 3


def _shard(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]{1,3})/([0-9]{1,3})", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError("give the shard and the number of shards, such as 3/8")
    return int(found[1]), int(found[2])
