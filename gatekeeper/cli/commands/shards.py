"""`gatekeeper plan`, `sample` and `decide`: one run on several machines."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from gatekeeper import numbers
from gatekeeper.cli.options import REQUIRED, Option, options
from gatekeeper.cli.output import print_error, report
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.errors import UsageError
from gatekeeper.gate.work import plan_run
from gatekeeper.git import Repository
from gatekeeper.reports.write import forget_reports, require_formats, require_writable, write_files
from gatekeeper.runs.execute import execute
from gatekeeper.runs.history import require_month_limit
from gatekeeper.runs.library.suite import history_of, require_history_folder, tracked_by
from gatekeeper.runs.models import require_sound_models
from gatekeeper.runs.run_plan import Keep, RunPlan
from gatekeeper.runs.shards.join import join_answers
from gatekeeper.runs.shards.plan import MOST_SHARDS, plan_again, plan_shards, read_plan
from gatekeeper.runs.shards.sample import answers_to_resume, sample_shard


def plan(arguments: argparse.Namespace) -> int:
    """Plan a full suite for several machines. Prints the matrix of a GitHub workflow.

    Each machine then runs `gatekeeper sample`, and one runs `gatekeeper decide` on the answers
    of all. The number of calls and the most that they can cost are printed to standard error.
    """
    out = arguments.out
    if not out.name or out.is_dir():
        raise UsageError(f"--out {out}: name a file")
    with Repository.open(arguments.repo) as repository:
        revision = repository.revision(arguments.ref)
        names = tuple(arguments.contract)
        work = plan_run(revision, load_policy(revision), names)
        history = history_of(arguments.history, repository)
        past = history.read() if history else None
        notices = require_month_limit(work, past, datetime.now(UTC))
        notices = (*notices, *require_sound_models(work, (revision,)))
        sharded, more = plan_shards(work, names, arguments.shards, out)
    write_files({out.name: sharded.plan.to_json}, out.parent)
    for notice in (*notices, *more):
        print_error(notice)
    shards = sharded.plan.shards
    named = [f"{shard}/{shards}" for shard in range(1, shards + 1)]
    print(json.dumps({"shard": named}))  # noqa: T201
    return 0


def _shards(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= MOST_SHARDS:
        raise argparse.ArgumentTypeError(f"give a whole number from 1 to {MOST_SHARDS}")
    return int(text)


def sample(arguments: argparse.Namespace) -> int:
    """Ask the models for one shard's share of a plan, and keep the answers for `decide`."""
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
        run = sample_shard(sharded, revision, shard, arguments.out, known, print_error)
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


def decide(arguments: argparse.Namespace) -> int:
    """Join the answers of all shards, and decide as `gatekeeper run` would. Calls no model."""
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


OPTIONS: Mapping[str, tuple[Option, ...]] = {
    "plan": options(
        """
    --shards N  the number of machines
    @ref
    @contract
    @history
    --out FILE  the file for the plan
    """,
        shards={"type": _shards, "required": True},
        out=REQUIRED,
    ),
    "sample": options(
        """
    @plan
    --shard I/N  the shard to sample, such as 3/8
    --out DIR    folder for the file of answers
    --resume     reuse the answers of this shard in the folder of --out, and request only the
                 missing answers
    """,
        shard={"type": _shard, "required": True},
        out=REQUIRED,
    ),
    "decide": options(
        """
    @plan
    --answers DIR  folders with the answers of all shards; gatekeeper also reads their subfolders
    @out
    @format
    @history
    """,
        answers={"nargs": "+", "required": True},
    ),
}
