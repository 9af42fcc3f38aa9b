"""`gatekeeper plan`."""

from __future__ import annotations

import argparse
import json
import re
from datetime import UTC, datetime
from pathlib import Path

from gatekeeper.cli.arguments import add_contract, add_history
from gatekeeper.cli.output import print_error
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.errors import UsageError
from gatekeeper.git import Repository
from gatekeeper.runs.library.places import history_of


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shards", type=_shards, required=True, metavar="N", help="the number of machines"
    )
    parser.add_argument("--ref", default="HEAD", help="the revision to test (default: HEAD)")
    add_contract(parser)
    add_history(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="the file for the plan"
    )


def plan(arguments: argparse.Namespace) -> int:
    """Plan a full suite for several machines. Prints the matrix of a GitHub workflow.

    Each machine then runs `gatekeeper sample`, and one runs `gatekeeper decide` on the answers
    of all. The number of calls and the most that they can cost are printed to standard error.
    """
    from gatekeeper.gate.work import plan_run
    from gatekeeper.reports.write import write_files
    from gatekeeper.runs.models import require_sound_models
    from gatekeeper.runs.month_limit import require_month_limit
    from gatekeeper.runs.shards.plan import plan_shards

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
    from gatekeeper.runs.shards.plan import MOST_SHARDS

    if not re.fullmatch(r"[0-9]{1,3}", text) or not 1 <= int(text) <= MOST_SHARDS:
        raise argparse.ArgumentTypeError(f"give a whole number from 1 to {MOST_SHARDS}")
    return int(text)
