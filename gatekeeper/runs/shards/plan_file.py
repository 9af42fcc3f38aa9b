"""The plan that all shards of a run share, and the file that holds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Interval
from pydantic import StringConstraints, TypeAdapter, ValidationError

from gatekeeper.contract.files.references import recording_path
from gatekeeper.contract.policies.policy import load_policy
from gatekeeper.errors import UsageError
from gatekeeper.gate.work import Work, plan_run
from gatekeeper.runs.unfinished import header_of, read_own_file
from gatekeeper.sampling.shards import assign_shards

if TYPE_CHECKING:
    from gatekeeper.contract.values.change import Revision
    from gatekeeper.contract.values.trial import Trial

MOST_SHARDS = 256
"""The most jobs that a matrix of GitHub may have."""

IsTracked = Callable[[Path], bool]
"""Whether git tracks a file. A file from a commit must not control a run or replace answers of a
model."""


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


def make_plan(work: Work, shards: int, contracts: tuple[str, ...]) -> ShardedPlan:
    """Return the plan of a run that is planned already."""
    header = header_of(work.trials, work.order_seed)
    return ShardedPlan(1, work.head_sha, work.order_seed, header["plan"], shards, contracts)


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


def _plans() -> TypeAdapter[ShardedPlan]:
    return TypeAdapter(ShardedPlan)
