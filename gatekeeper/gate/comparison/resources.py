"""Compares cost, tokens and latency of a call on head and base, paired by fixture or cluster of
related ones. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gatekeeper.contract.values.trial import Arm, Completion, Outcome
from gatekeeper.gate.results.resource_result import Resource, ResourceChange
from gatekeeper.stats.intervals.relative_change import relative_change

CONFIDENCE = 0.99
"""The confidence of each interval; every comparison has four."""
_SEED = 42


@dataclass(frozen=True, slots=True)
class Measure:
    """How an amount is summarised: as a quantile, or as a mean if `quantile` is None.

    `fixtures` is how many it takes before its bootstrap is worth an interval: with ten, arms
    that are alike differ in 5 % of runs and not in 1 %."""

    amount: Callable[[Completion], float | None]
    quantile: float | None
    fixtures: int


def _tokens(completion: Completion) -> float | None:
    prompt, answer = completion.prompt_tokens, completion.completion_tokens
    return None if prompt is None or answer is None else float(prompt + answer)


MEASURES: Mapping[Resource, Measure] = {
    "cost_per_call_usd": Measure(lambda completion: completion.cost_usd, None, 20),
    "tokens_per_call": Measure(_tokens, None, 20),
    "latency_p50_ms": Measure(lambda completion: completion.latency_ms, 0.5, 20),
    "latency_p95_ms": Measure(lambda completion: completion.latency_ms, 0.95, 40),
}


def resource_changes(outcomes: Sequence[Outcome]) -> tuple[ResourceChange, ...]:
    """Return the change of each resource that is known for some fixture on both arms; too few
    fixtures give no interval."""
    import numpy as np

    found = []
    for resource, measure in MEASURES.items():
        base, head = _paired(outcomes, measure.amount)
        rng = np.random.default_rng(_SEED)
        change = relative_change(base, head, CONFIDENCE, rng, measure.quantile)
        if change is not None:
            interval = change.interval if len(base) >= measure.fixtures else None
            found.append(ResourceChange(resource, change.base, change.head, interval))
    return tuple(found)


def _paired(
    outcomes: Sequence[Outcome], amount: Callable[[Completion], float | None]
) -> tuple[list[list[float]], list[list[float]]]:
    """Return the known amounts of each fixture, or cluster, that has some on both arms."""
    values: dict[tuple[bool, str], dict[Arm, list[float]]] = defaultdict(
        lambda: {"base": [], "head": []}
    )
    for outcome in outcomes:
        completion = outcome.sample.completion
        value = amount(completion) if completion else None
        if value is not None:
            trial = outcome.sample.trial
            unit = trial.cluster is not None, trial.cluster or trial.fixture
            values[unit][trial.arm].append(value)
    both = [arms for arms in values.values() if arms["base"] and arms["head"]]
    return [arms["base"] for arms in both], [arms["head"] for arms in both]
