"""Service-level objectives against the head arm's outcomes. Pure.

An objective is met or missed only when its interval says so, and only when the samples
that were not measured could not have said otherwise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gatekeeper.contract.model import Contract
from gatekeeper.contract.trial import Outcome
from gatekeeper.evidence.outcomes import latencies, quantile
from gatekeeper.result import SloResult
from gatekeeper.slo.objectives import Better, decide
from gatekeeper.stats.bootstrap import mean_interval
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals import clustered_rate_interval, quantile_bounds, rate_interval

P95 = 0.95


def slo_results(
    contract: Contract,
    head: Sequence[Outcome],
    planned: Mapping[str, int],
    confidence: float = 0.95,
    same_input: Mapping[str, str] | None = None,
) -> tuple[SloResult, ...]:
    """Each objective that the contract sets, in the order of the contract format.

    `head` holds the head arm's outcomes, those of failed calls included; `planned` how many
    each input should have, by fixture: what is missing could have been anything. `confidence`
    is that of the intervals that decide; who looks several times must ask for more.
    `same_input` maps a fixture to the earlier one whose input it repeats.
    """
    slo = contract.slo
    results = []
    if slo.success_rate is not None:
        results.append(_success_rate(slo.success_rate, head, planned, confidence, same_input or {}))
    if slo.latency_p95_ms is not None:
        lost = sum(planned.values()) - sum(o.sample.completion is not None for o in head)
        results.append(_latency(slo.latency_p95_ms, head, lost, confidence))
    if slo.cost_per_call_usd is not None:
        seed = contract.sampling.seed or 0
        results.append(_cost(slo.cost_per_call_usd, head, seed, confidence))
    return tuple(results)


def undecided(results: Sequence[SloResult]) -> tuple[SloResult, ...]:
    """The same, left open: seen at a moment that the samples themselves chose."""
    return tuple(replace(result, met=None, unmeasured=False) for result in results)


def in_doubt(result: SloResult) -> bool:
    """Whether more samples are worth their price: it is open, and does not look met."""
    return result.unmeasured or standing(result) == "unlikely"


def standing(result: SloResult) -> str:
    """`met`, `missed`, or while it is open which side the observation is on:
    `likely`, `unlikely`; `unknown` where nothing was observed."""
    if result.met is not None:
        return "met" if result.met else "missed"
    if result.observed is None:
        return "unknown"
    good = (
        result.observed >= result.target
        if result.objective == "success_rate"
        else result.observed <= result.target
    )
    return "likely" if good else "unlikely"


def _success_rate(
    target: float,
    head: Sequence[Outcome],
    planned_of: Mapping[str, int],
    confidence: float,
    same_input: Mapping[str, str],
) -> SloResult:
    """Shown with Wilson's interval over the samples; decided by the exact one over inputs,
    because drawing an input again says nothing new about the others."""

    def asked(fixture: str) -> str:
        return same_input.get(fixture, fixture)

    measured = Counter(asked(o.sample.trial.fixture) for o in head if o.passed is not None)
    passed = Counter(asked(o.sample.trial.fixture) for o in head if o.passed)
    planned: Counter[str] = Counter()
    for fixture, count in planned_of.items():
        planned[asked(fixture)] += count
    fixtures = list(planned)
    total, good = sum(measured.values()), sum(passed.values())
    shown = rate_interval(good, total)

    def result(passes: Sequence[int], samples: Sequence[int]) -> SloResult:
        n = sum(samples)
        observed = sum(passes) / n if n else None
        interval = clustered_rate_interval(passes, samples, confidence)
        met = _decide(observed, interval, target, "higher")
        return SloResult("success_rate", target, observed, shown, met)

    passes = [passed[f] for f in fixtures]
    samples = [measured[f] for f in fixtures]
    wanted = [max(planned[f], measured[f]) for f in fixtures]
    best = [p + w - n for p, w, n in zip(passes, wanted, samples, strict=True)]
    return _agreed(result(passes, samples), result(passes, wanted), result(best, wanted))


def _latency(target: float, head: Sequence[Outcome], lost: int, confidence: float) -> SloResult:
    known = latencies(head)

    def result(values: list[float]) -> SloResult:
        observed = quantile(values, P95)
        # One end alone can decide: a miss is proven long before the upper end is known.
        low, high = quantile_bounds(values, P95, confidence) if values else (None, None)
        interval = None if low is None or high is None else ConfidenceInterval(low, high)
        met = decide(observed, low, high, target, "lower")
        return SloResult("latency_p95_ms", target, observed, interval, met)

    # Only its place in the order counts: a lost call was slower than all others, or faster.
    slowest = 2 * max([*known, target])
    return _agreed(
        result(known), result([*known, *[slowest] * lost]), result([*known, *[0.0] * lost])
    )


def _cost(target: float, head: Sequence[Outcome], seed: int, confidence: float) -> SloResult:
    import numpy as np

    costs = [o.sample.completion.cost_usd for o in head if o.sample.completion is not None]
    known = [cost for cost in costs if cost is not None]
    # A mean over the calls whose price happens to be known would be a mean of something else.
    if not known or len(known) < len(costs):
        return SloResult("cost_per_call_usd", target, None, None, None)
    observed = math.fsum(known) / len(known)
    interval = mean_interval(known, confidence, np.random.default_rng(seed))
    met = _decide(observed, interval, target, "lower")
    return SloResult("cost_per_call_usd", target, observed, interval, met)


def _decide(
    observed: float | None, interval: ConfidenceInterval | None, target: float, better: Better
) -> bool | None:
    if observed is None or interval is None:
        return None
    return decide(observed, interval.low, interval.high, target, better)


def _agreed(measured: SloResult, worst: SloResult, best: SloResult) -> SloResult:
    """What was measured, unless the unmeasured samples could have changed what it calls for."""
    calls_for = {"met": 0, "likely": 0, "unlikely": 1, "missed": 2, "unknown": 3}
    if calls_for[standing(worst)] == calls_for[standing(best)]:
        return SloResult(
            measured.objective,
            measured.target,
            measured.observed,
            measured.interval,
            worst.met if worst.met == best.met else None,
        )
    return SloResult(
        measured.objective, measured.target, measured.observed, measured.interval, None, True
    )
