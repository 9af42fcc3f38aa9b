"""The intervals of one arm by several methods: its success rate, latency and cost. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gatekeeper.contract.values.trial import Outcome
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.bootstrap import (
    block_bootstrap_interval,
    clustered_bootstrap_interval,
    mean_interval,
)
from gatekeeper.stats.intervals.intervals import (
    clustered_rate_interval,
    jeffreys,
    quantile_bounds,
    wilson,
)

if TYPE_CHECKING:
    import numpy as np

CONFIDENCE = 0.95
_SEED = 42
"""Bootstraps use the same seed in every run, so that a report can be reproduced."""


def rate_intervals(
    outcomes: Sequence[Outcome], clusters: Mapping[str, str]
) -> dict[str, ConfidenceInterval]:
    """Return one arm's success rate by each method that gives an interval for these samples.

    `clusters` maps a fixture to the one that stands for its cluster.
    """
    measured = [o for o in outcomes if o.passed is not None]
    if not measured:
        return {}
    verdicts = [float(o.passed is True) for o in measured]
    fixtures: dict[str, list[bool]] = defaultdict(list)
    for outcome in measured:
        fixture = outcome.sample.trial.fixture
        fixtures[clusters.get(fixture, fixture)].append(outcome.passed is True)
    passed, samples = [sum(v) for v in fixtures.values()], [len(v) for v in fixtures.values()]
    good, n = sum(passed), len(measured)
    return given(
        wilson=wilson(good, n),
        jeffreys=jeffreys(good, n),
        clustered=clustered_rate_interval(passed, samples, CONFIDENCE),
        bootstrap=mean_interval(verdicts, CONFIDENCE, rng()),
        bootstrap_fixtures=clustered_bootstrap_interval(passed, samples, CONFIDENCE, rng()),
        bootstrap_blocks=block_bootstrap_interval(verdicts, CONFIDENCE, rng()),
    )


def latency_interval(latencies: Sequence[float]) -> ConfidenceInterval | None:
    """Order statistics about the 95 % quantile; None if one of its ends is not known."""
    low, high = quantile_bounds(latencies, 0.95) if latencies else (None, None)
    return None if low is None or high is None else ConfidenceInterval(low, high)


def cost_interval(costs: Sequence[float]) -> ConfidenceInterval | None:
    """Return the bootstrap interval of the mean cost of a call."""
    return mean_interval(costs, CONFIDENCE, rng())


def given(**intervals: ConfidenceInterval | None) -> dict[str, ConfidenceInterval]:
    return {name: interval for name, interval in intervals.items() if interval is not None}


def rng() -> np.random.Generator:
    import numpy as np

    return np.random.default_rng(_SEED)
