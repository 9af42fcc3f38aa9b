"""The plan that all shards of a run share, the file that holds it, and what the shards can cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Interval
from pydantic import StringConstraints, TypeAdapter, ValidationError

from gatekeeper import numbers
from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.errors import UsageError
from gatekeeper.gate.forecast.spending_limits import refusal
from gatekeeper.gate.work import Work, plan_run
from gatekeeper.providers.models.cost_estimate import expected_cost, worst_cost
from gatekeeper.runs.answers.files import read_own_file
from gatekeeper.runs.answers.kept import Header, IsTracked, KeptAnswers, header_of, read_kept
from gatekeeper.runs.models import require_no_conversations, require_no_judges
from gatekeeper.sampling.calls import distinct_requests
from gatekeeper.sampling.shards import assign_shards, limits_of_shard

if TYPE_CHECKING:
    from gatekeeper.contract.values.change import Revision
    from gatekeeper.contract.values.trial import Trial

MOST_SHARDS = 256
"""The most jobs that a matrix of GitHub may have."""

ANSWER_FILES = "shard-*-of-*.jsonl"


@dataclass(frozen=True, slots=True)
class ShardedPlan:
    """What the shards of one run have in common.

    `revision` is the commit, `plan` a digest of every request at that commit, `order_seed` what the
    order of the requests depends on. `contracts` narrows the run to those; empty runs all.
    """

    version: Annotated[int, Interval(ge=1, le=1)]
    revision: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40,64}$")]
    order_seed: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
    plan: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    shards: Annotated[int, Interval(ge=1, le=MOST_SHARDS)]
    contracts: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the content of the file."""
        return _plans().dump_json(self, indent=2).decode() + "\n"


@dataclass(frozen=True)
class ShardedWork:
    """A plan and the work that it describes. `path` is the plan's file."""

    plan: ShardedPlan
    work: Work
    path: Path

    @cached_property
    def asked(self) -> tuple[Trial, ...]:
        """The trials that a shard answers, in plan order. Recordings answer the others."""
        return tuple(t for t in self.work.trials if recording_path(t.request.model) is None)

    @cached_property
    def shard_of(self) -> tuple[int, ...]:
        """The shard of each trial of `asked`, counted from 1."""
        return assign_shards(self.asked, self.plan.shards)

    def trials_of(self, shard: int) -> tuple[Trial, ...]:
        """Return the trials of one shard, in plan order."""
        pairs = zip(self.asked, self.shard_of, strict=True)
        return tuple(trial for trial, number in pairs if number == shard)

    def file_of(self, shard: int, folder: Path) -> Path:
        """Return the file for the answers of one shard."""
        return folder / f"shard-{shard}-of-{self.plan.shards}.jsonl"

    def header_of(self, shard: int) -> Header:
        """Return the first line of that file."""
        plan = self.plan
        return Header(plan.plan, plan.order_seed, 1, plan.revision, shard, plan.shards)


def make_plan(work: Work, shards: int, contracts: tuple[str, ...]) -> ShardedPlan:
    """Return the plan of a run that is planned already."""
    header = header_of(work.trials, work.order_seed)
    return ShardedPlan(1, work.head_sha, work.order_seed, header.plan, shards, contracts)


def read_plan(path: Path, tracked: IsTracked) -> ShardedPlan:
    """Read the file of a plan. Raises UsageError."""
    try:
        content = read_own_file(path)
    except OSError as error:
        raise UsageError(f"--plan {path}: cannot be read: {error.strerror or error}") from error
    if tracked(path):
        raise UsageError(
            f"--plan {path}: git tracks this file, so anybody could have chosen the order of the "
            "samples; write a new plan with `gatekeeper plan`"
        )
    try:
        return _plans().validate_json(content, strict=True)
    except ValidationError:
        raise UsageError(
            f"--plan {path}: this file is not a plan of this version of "
            "gatekeeper; write a new plan with `gatekeeper plan`"
        ) from None


def plan_again(plan: ShardedPlan, revision: Revision, path: Path) -> ShardedWork:
    """Plan the run as the plan says. Raises UsageError if it asks something else than it did."""
    policy = load_policy(revision)
    work = plan_run(revision, policy, plan.contracts, order_seed=plan.order_seed)
    if make_plan(work, plan.shards, plan.contracts) != plan:
        raise UsageError(
            f"--plan {path}: another version of gatekeeper made this plan, and this version would "
            "send other requests; write a new plan with `gatekeeper plan`"
        )
    return ShardedWork(plan, work, path)


def plan_shards(
    work: Work, contracts: tuple[str, ...], shards: int, path: Path
) -> tuple[ShardedWork, tuple[str, ...]]:
    """Divide the work among `shards` machines, or among fewer if there are fewer calls.

    Returns the divided work, and notices for the person who plans it. Raises UsageError if a single
    call can cost more than one shard may spend.
    """
    for job in work.jobs:
        require_no_judges(job, "`gatekeeper plan`")
        require_no_conversations(job, "`gatekeeper plan`")
    whole = ShardedWork(make_plan(work, 1, contracts), work, path)
    calls = len(distinct_requests(whole.asked))
    enough = max(1, min(shards, calls))  # a machine without a call would only take time to start
    sharded = ShardedWork(make_plan(work, enough, contracts), work, path)
    _require_room(sharded)
    fewer = numbers.count(enough, "shard")
    text = f"The plan has only {fewer}, because the run does not need more shards."
    said = () if enough == shards else (text,)
    return sharded, (*said, *_describe_bill(sharded, calls))


def _require_room(sharded: ShardedWork) -> None:
    work, shards = sharded.work, sharded.plan.shards
    limits = limits_of_shard(work.policy.limits, shards, shards)
    part = replace(work, policy=replace(work.policy, limits=limits))
    refused = refusal(part, worst_cost, trusted=True)
    if refused:
        divided = f"the limits are divided among {shards} shards: " if shards > 1 else ""
        raise UsageError(f"{divided}{refused}")


def _describe_bill(sharded: ShardedWork, calls: int) -> tuple[str, ...]:
    limits, shards = sharded.work.policy.limits, sharded.plan.shards
    requests = distinct_requests(sharded.asked)
    expected = [expected_cost(request) for request in requests]
    worst = [worst_cost(request) for request in requests]
    most = _sum(worst)
    costs = f"about {numbers.dollars(_sum(expected))}, at most {numbers.dollars(most)}"
    if limits.cost_usd is not None and (most is None or most > limits.cost_usd):
        costs += f"; limits.cost_usd ends the run at {numbers.dollars(limits.cost_usd)}"
    shared = f"{numbers.count(calls, 'call')} on {numbers.count(shards, 'shard')}: {costs}."
    if limits.calls is None or calls <= limits.calls:
        return (shared,)
    return (
        shared,
        (
            f"The shards together stop after {limits.calls:,} calls, because of limits.calls, so "
            "the run cannot measure everything. Raise the limit, or use fewer fixtures or samples."
        ),
    )


def _sum(costs: list[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if len(known) == len(costs) else None


def read_shard(path: Path, plan: ShardedPlan, tracked: IsTracked) -> tuple[int, KeptAnswers]:
    """Read the file of a shard's answers; return its number and its content.

    Raises UsageError for a file of another plan and for one that git tracks, OSError for one that
    cannot be read, and ValueError for one without a header.
    """
    if tracked(path):
        raise UsageError(
            f"{path}: git tracks this file, so anybody could have written the answers in this "
            "file; remove the file from the repository"
        )
    kept = read_kept(path)
    header = kept.header
    found = (header.plan, header.order_seed, header.revision, header.shards)
    if found != (plan.plan, plan.order_seed, plan.revision, plan.shards):
        raise UsageError(
            f"{path}: these answers belong to another plan; give only folders "
            "with answers of this plan"
        )
    if header.shard is None or not 1 <= header.shard <= plan.shards:
        raise ValueError("the first line of the file cannot be read")
    return header.shard, kept


def _plans() -> TypeAdapter[ShardedPlan]:
    return TypeAdapter(ShardedPlan)
