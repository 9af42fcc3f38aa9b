"""The plan that all shards of a run share, the file that holds it, and what the shards can cost."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

from annotated_types import Interval
from pydantic import StringConstraints, TypeAdapter, ValidationError

from gatekeeper import numbers
from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.policies.policy import Limits, load_policy
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.trial import Trial
from gatekeeper.errors import UsageError
from gatekeeper.gate.forecast.spending_limits import refusal
from gatekeeper.gate.results.parts import price_if_all_known
from gatekeeper.gate.work import Work, plan_run
from gatekeeper.providers.models.cost_estimate import expected_cost, worst_cost
from gatekeeper.runs.answers.files import read_own_file
from gatekeeper.runs.answers.kept import Header, IsTracked, KeptAnswers, header_of, read_kept
from gatekeeper.runs.models import require_single_calls
from gatekeeper.sampling.calls import distinct_requests, group_calls

# Divides the calls of a run among several machines, and the limits of the policy with them.


def assign_shards(trials: Sequence[Trial], shards: int) -> tuple[int, ...]:
    """Return the shard of each trial, from 1 to `shards`.

    The result depends on the trials and their order alone. Trials that share a call are of one
    shard, and so are both arms of a fixture's repetition. The next trials in the plan go to the
    shard with the fewest calls so far, so that all shards have nearly the same number of calls
    and the first round of a run comes first on each of them.
    """
    _, call_of = group_calls(trials)
    # One number for each call, and one for each pair of arms: both join trials to a group.
    joined = _Groups()
    for trial, call in zip(trials, call_of, strict=True):
        joined.unite(("call", id(call)), (trial.contract, trial.fixture, trial.repetition))
    calls: dict[object, set[int]] = {}
    groups = [joined.find(("call", id(call))) for call in call_of]
    for group, call in zip(groups, call_of, strict=True):
        calls.setdefault(group, set()).add(id(call))
    loads = [(0, shard) for shard in range(1, shards + 1)]
    shard_of: dict[object, int] = {}
    for group, members in calls.items():  # in the order of the plan
        load, shard_of[group] = heapq.heappop(loads)
        heapq.heappush(loads, (load + len(members), shard_of[group]))
    return tuple(shard_of[group] for group in groups)


def limits_of_shard(limits: Limits, number: int, shards: int) -> Limits:
    """Return the part of the limits that shard `number` of `shards` may use.

    All parts together are never more than the limits, except that each shard makes at least one
    call at a time. The time limit is not divided, because the shards run at the same time.
    """

    def part(amount: float | None) -> float | None:
        return None if amount is None else amount / shards

    calls = limits.calls
    if calls is not None:
        calls = calls // shards + (number <= calls % shards)
    return replace(
        limits,
        calls=calls,
        cost_usd=part(limits.cost_usd),
        concurrency=max(1, limits.concurrency // shards),
        requests_per_minute=part(limits.requests_per_minute),
        tokens_per_minute=part(limits.tokens_per_minute),
    )


class _Groups:
    """Groups of things that were united, one after the other (union-find)."""

    def __init__(self) -> None:
        self._parents: dict[object, object] = {}

    def find(self, thing: object) -> object:
        """Return the representative of the item's group."""
        parent = self._parents.setdefault(thing, thing)
        while parent != thing:
            self._parents[thing] = self._parents[parent]  # halves the way for the next time
            thing, parent = parent, self._parents[parent]
        return thing

    def unite(self, one: object, other: object) -> None:
        """Make one group of the groups of both."""
        self._parents[self.find(other)] = self.find(one)


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
        require_single_calls(job, "`gatekeeper plan`")
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
    about = price_if_all_known(map(expected_cost, requests))
    most = price_if_all_known(map(worst_cost, requests))
    costs = f"about {numbers.dollars(about)}, at most {numbers.dollars(most)}"
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
