"""Joins parts of a run that follow each other: the limits that are left, and the calls of both."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gatekeeper.contract.policy import Limits
from gatekeeper.sampling.judging import JudgeTally

if TYPE_CHECKING:
    from gatekeeper.sampling.runner import Run


def limits_left(limits: Limits, sampled: Run) -> Limits:
    """Return what the run may still spend; the caller knows how much time is left."""
    calls = None if limits.calls is None else max(0, limits.calls - sampled.made)
    cost = limits.cost_usd
    if cost is not None and sampled.cost_usd is not None:
        cost = max(0.0, cost - sampled.cost_usd)
    return replace(limits, calls=calls, cost_usd=cost)


def count_together(first: Run, second: Run) -> Run:
    """Return both runs as one."""
    costs = [run.cost_usd for run in (first, second) if run.cost_usd is not None]
    a, b = first.judged, second.judged
    tally_costs = [t.cost_usd for t in (a, b) if t.cost_usd is not None]
    judged = JudgeTally(
        a.made + b.made,
        a.answered + b.answered,
        a.cached + b.cached,
        a.failed + b.failed,
        sum(tally_costs) if tally_costs else None,
    )
    return replace(
        first,
        made=first.made + second.made,
        cost_usd=sum(costs) if costs else None,
        throttled=first.throttled + second.throttled,
        unrecorded={**first.unrecorded, **second.unrecorded},
        ended=second.ended,
        detail=second.detail,
        author=second.author,
        judged=judged,
    )
