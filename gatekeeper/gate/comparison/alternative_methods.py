"""Results of the methods that papers name, on the same samples. Pure.

They do not affect the verdict: docs/statistics.md says what each method assumes, and why the gate
uses another.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import NormalDist, fmean

from gatekeeper.contract.values.trial import Arm, Completion, Outcome
from gatekeeper.gate.results.result import Difference
from gatekeeper.gate.samples.arm_intervals import CONFIDENCE, given, rng
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.bootstrap import paired_bootstrap_interval
from gatekeeper.stats.intervals.intervals import paired_difference_interval
from gatekeeper.stats.paired.mcnemar import mcnemar_chi_square, mcnemar_exact
from gatekeeper.stats.paired.power import minimum_detectable_effect, smallest_spread_drop

POWER = 0.8
_SMALLEST_SCORE = 0.01


def difference_intervals(
    both: int,
    broke: int,
    fixed: int,
    neither: int,
    drops: Sequence[float],
    *,
    clustered: bool,
) -> dict[str, ConfidenceInterval]:
    """Return the interval of head's pass rate minus base's by each method, from the paired counts
    of fixtures and from each fixture's own drop. Newcombe's interval assumes independent fixtures,
    so it is left out if related ones count as one."""
    newcombe = None if clustered else paired_difference_interval(both, broke, fixed, neither)
    return given(
        newcombe=newcombe,
        bootstrap_fixtures=paired_bootstrap_interval([-d for d in drops], CONFIDENCE, rng()),
    )


def other_tests(broke: int, fixed: int) -> dict[str, float]:
    """Return the p-values of McNemar's tests that papers name, from one outcome of a fixture, or a
    cluster, on each arm."""
    return {
        "mcnemar_exact": mcnemar_exact(broke, fixed),
        "mcnemar_exact_two_sided": mcnemar_exact(broke, fixed, "two-sided"),
        "mcnemar_chi_square_two_sided": mcnemar_chi_square(broke, fixed),
        "mcnemar_chi_square_uncorrected_two_sided": mcnemar_chi_square(
            broke, fixed, corrected=False
        ),
    }


def visible_drop(fixtures: int, flicker: float, level: float, rounds: int = 1) -> float | None:
    """Return the smallest drop of the pass rate, spread over all inputs, that a run would have
    found with probability 0.8; None if not even the greatest drop would have been found. `flicker`
    is the share of fixtures that got fixed by chance, as `Comparison.flicker` measures it.

    The breaks come on top of the flicker, so that both count in one calculation. With one sample a
    fixture, it is that of the exact McNemar test, in which as many more fixtures broke by chance as
    were fixed.
    """
    if rounds > 1:
        return smallest_spread_drop(fixtures, rounds, level, POWER, flicker)
    broken = minimum_detectable_effect(fixtures, level, POWER, flicker)
    return None if broken is None else broken - flicker


def visible_score_drop(fixtures: int, drops: Sequence[float], level: float) -> float | None:
    """Return the smallest drop of the mean score that a run would have found with probability 0.8,
    from the differences of its fixtures, by the normal approximation; None if the test of so few
    fixtures cannot find any."""
    if not drops or 0.5**fixtures > level:
        return None
    normal = NormalDist()
    spread = math.sqrt(fmean(drop * drop for drop in drops) / fixtures)
    drop = (normal.inv_cdf(1 - level) + normal.inv_cdf(POWER)) * spread
    return max(_SMALLEST_SCORE, drop) if drop < 1 else None


def visible_breaks(fixtures: int, flicker: float, level: float) -> int | None:
    """Return how many fixtures must break outright for the comparison of the suite to find them
    with probability 0.8, however often each is sampled; None if not even all are enough."""
    drop = visible_drop(fixtures, flicker, level)
    return None if drop is None else math.ceil(round(drop * fixtures, 6))


def paired_latency(outcomes: Sequence[Outcome]) -> Difference | None:
    """Return head's latency minus base's in milliseconds, paired by fixture."""
    return _paired(outcomes, lambda completion: completion.latency_ms)


def paired_cost(outcomes: Sequence[Outcome]) -> Difference | None:
    """Return head's cost of a call minus base's in US dollars, paired by fixture."""
    return _paired(outcomes, lambda completion: completion.cost_usd)


def _paired(
    outcomes: Sequence[Outcome], amount: Callable[[Completion], float | None]
) -> Difference | None:
    values: dict[str, dict[Arm, list[float]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        completion = outcome.sample.completion
        value = amount(completion) if completion else None
        if value is not None:
            trial = outcome.sample.trial
            values[trial.fixture][trial.arm].append(value)
    differences = [
        fmean(arms["head"]) - fmean(arms["base"]) for arms in values.values() if len(arms) == 2
    ]
    if not differences:
        return None
    interval = paired_bootstrap_interval(differences, CONFIDENCE, rng())
    return Difference(fmean(differences), interval)
