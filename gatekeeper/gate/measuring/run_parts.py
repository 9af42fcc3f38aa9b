"""Joins parts of a run that follow each other: the limits that are left, and the calls of both."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.trial import Trial
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
    """Return both runs as one. What the second did not need was never planned."""
    return replace(
        first,
        samples=(*first.samples, *second.samples),
        made=first.made + second.made,
        failed=first.failed + second.failed,
        surplus=first.surplus + second.surplus,
        cost_usd=_sum(first.cost_usd, second.cost_usd),
        throttled=first.throttled + second.throttled,
        unrecorded={**first.unrecorded, **second.unrecorded},
        ended=second.ended,
        detail=second.detail,
        author=second.author,
        judged=_both(first.judged, second.judged),
        simulated=_both(first.simulated, second.simulated),
        charged_usd=first.charged_usd + second.charged_usd,
    )


def count_again(first: Run, again: Run) -> Run:
    """Return a run of which `again` asked once more for what was lost."""
    found = {id(sample.trial): sample for sample in again.samples if sample.completion}
    samples = tuple(found.get(id(sample.trial), sample) for sample in first.samples)
    return replace(count_together(first, again), samples=samples, failed=first.failed - len(found))


def lost_trials(run: Run) -> list[Trial]:
    """Return the trials that got no answer, and may get one. A recording has no other answer."""
    if run.ended != "done" or run.unrecorded:
        return []
    return [sample.trial for sample in run.samples if sample.completion is None]


def _both(a: JudgeTally, b: JudgeTally) -> JudgeTally:
    return JudgeTally(
        a.made + b.made,
        a.answered + b.answered,
        a.cached + b.cached,
        a.failed + b.failed,
        _sum(a.cost_usd, b.cost_usd),
    )


def _sum(*costs: float | None) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None
