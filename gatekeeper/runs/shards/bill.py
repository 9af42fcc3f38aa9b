"""Plans the shards of a run, and says before any call what they can cost."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from gatekeeper import numbers
from gatekeeper.errors import UsageError
from gatekeeper.gate.forecast.spending_limits import refusal
from gatekeeper.gate.work import Work
from gatekeeper.providers.models.cost_estimate import expected_cost, worst_cost
from gatekeeper.runs.models import require_no_conversations, require_no_judges
from gatekeeper.runs.shards.plan_file import ShardedWork, make_plan
from gatekeeper.sampling.calls import distinct_requests
from gatekeeper.sampling.shards import limits_of_shard


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
