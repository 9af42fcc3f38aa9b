"""Compares base with head on the same inputs, for reports. Pure.

Unmeasured outcomes stay unknown and are never guessed: every number that a verdict depends on holds
for the worst case of the unknown outcomes.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean
from typing import Literal

from gatekeeper.contract.values.clusters import ClusterCounts
from gatekeeper.contract.values.definition import GatePolicy
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.gate.comparison.paired_comparison import Comparison
from gatekeeper.gate.comparison.resource_limits import (
    MEASURES,
    Amount,
    amounts_on_both,
    resource_changes,
)
from gatekeeper.gate.results.parts import FixtureResult
from gatekeeper.gate.results.result import Difference, PairedResult, Stopped
from gatekeeper.gate.samples.outcomes import CONFIDENCE, Change, given, rng
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.bootstrap import mean_interval
from gatekeeper.stats.intervals.intervals import paired_difference_interval
from gatekeeper.stats.paired.mcnemar import mcnemar_chi_square, mcnemar_exact
from gatekeeper.stats.paired.power import (
    fixtures_needed,
    minimum_detectable_effect,
    smallest_spread_drop,
)
from gatekeeper.stats.paired.sequential import SequentialTest

POWER = 0.8
_SMALLEST_SCORE = 0.01


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


def _paired(outcomes: Sequence[Outcome], amount: Amount) -> Difference | None:
    """Return head's amount minus base's, paired by fixture."""
    both = amounts_on_both(outcomes, amount, lambda trial: trial.fixture)
    if not both:
        return None
    differences = [fmean(arms["head"]) - fmean(arms["base"]) for arms in both]
    return Difference(fmean(differences), mean_interval(differences, CONFIDENCE, rng()))


Fate = Literal["both", "broke", "fixed", "neither", "unknown"]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Distinct inputs, or clusters of them, by what happened to them from base to head.

    `both` passed on both arms, `neither` on none; `broke` and `fixed` are the discordant ones;
    `unknown` are not determined by the measured samples.
    """

    both: int = 0
    broke: int = 0
    fixed: int = 0
    neither: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        return self.both + self.broke + self.fixed + self.neither + self.unknown


def count_pairs(fixtures: Sequence[FixtureResult]) -> Pairs:
    """Return the paired counts over distinct inputs: duplicates of an input are one.

    An input broke when more of the fixtures that share it broke than were fixed (a sign for each
    of them, as the exact sign test on clusters asks for).
    """
    return Pairs(**Counter[str](_fate_of_inputs(fixtures).values()))


def count_clusters(fixtures: Sequence[FixtureResult], counts_with: Mapping[str, str]) -> Pairs:
    """Return the paired counts over units: if more inputs of a unit broke than were fixed, the unit
    broke, and the other way round."""
    units: dict[str, list[Fate]] = defaultdict(list)
    for fixture, of_input in _fate_of_inputs(fixtures).items():
        units[counts_with.get(fixture, fixture)].append(of_input)
    return Pairs(**Counter[str](map(_fate_of_unit, units.values())))


def _fate_of_inputs(fixtures: Sequence[FixtureResult]) -> dict[str, Fate]:
    inputs: dict[str, list[Change]] = defaultdict(list)
    for fixture in fixtures:
        change = fixture.base_passed, fixture.head_passed
        inputs[fixture.duplicate_of or fixture.id].append(change)
    return {name: fate(members) for name, members in inputs.items()}


def _fate_of_unit(fates: Sequence[Fate]) -> Fate:
    if "unknown" in fates:
        return "unknown"
    more_fixed = fates.count("fixed") - fates.count("broke")
    if more_fixed:
        return "fixed" if more_fixed > 0 else "broke"
    return "both" if fates.count("both") >= fates.count("neither") else "neither"


def _intervals(
    units: Pairs, comparison: Comparison, *, alone: bool
) -> tuple[dict[str, ConfidenceInterval], ConfidenceInterval | None]:
    """Return the interval of head minus base by each method, and the one that is shown.

    `alone` says that units are independent fixtures with one pass each, as Newcombe's method
    assumes. Every method assumes that the samples did not choose when sampling ended.
    """
    counted = units.both, units.broke, units.fixed, units.neither
    newcombe = paired_difference_interval(*counted)
    bootstrap = mean_interval([-d for d in comparison.drops()], CONFIDENCE, rng())
    found = given(newcombe=newcombe if alone else None, bootstrap_fixtures=bootstrap)
    # If each input has one difference of -1, 0 or 1, Newcombe's is exact about its ends.
    spread = comparison.rounds > 1 or not alone or not comparison.test.walks
    if spread and bootstrap is not None and bootstrap.low < bootstrap.high:
        return found, bootstrap
    # That interval knows neither weights nor scores.
    return found, newcombe if comparison.test.walks else None


def _other_tests(broke: int, fixed: int) -> dict[str, float]:
    """Return the p-values of McNemar's tests that papers name. They decide nothing."""
    plain = mcnemar_chi_square(broke, fixed, corrected=False)
    return {
        "mcnemar_exact": mcnemar_exact(broke, fixed),
        "mcnemar_exact_two_sided": mcnemar_exact(broke, fixed, "two-sided"),
        "mcnemar_chi_square_two_sided": mcnemar_chi_square(broke, fixed),
        "mcnemar_chi_square_uncorrected_two_sided": plain,
    }


def paired_result(
    pairs: Pairs,
    comparison: Comparison,
    outcomes: Sequence[Outcome],
    gate: GatePolicy,
    level: float,
    stopped: Stopped | None,
    clusters: Pairs | None = None,
) -> PairedResult:
    """Return the comparison of the arms.

    `level` is the one that this contract is tested at. `clusters` are given if related fixtures
    count as one.
    """
    units = clusters or pairs
    counted = units.both, units.broke, units.fixed, units.neither
    graded = comparison.graded
    drops, flicker = comparison.drops(), comparison.flicker
    measured = bool(drops)
    early = stopped in ("regressed", "not_worse", "futile") and not comparison.complete
    own_drops = clusters is not None or graded
    intervals, shown = ({}, None) if early else _intervals(units, comparison, alone=not own_drops)
    return PairedResult(
        method=method(comparison.test, clustered=clusters is not None) + comparison.measure,
        alpha=level,
        fixtures=pairs.total,
        broke=pairs.broke,
        fixed=pairs.fixed,
        unknown=pairs.unknown,
        p_value=comparison.evaluate(level).p_value if measured else None,
        difference=-sum(drops) / len(drops) if measured else None,
        interval=shown,
        minimum_detectable_effect=visible_score_drop(units.total, drops, level)
        if graded
        else visible_drop(units.total, flicker, level, comparison.test.rounds),
        detectable_breaks=None if graded else visible_breaks(units.total, flicker, level),
        stopped=stopped,
        rounds=comparison.rounds,
        planned_rounds=comparison.test.rounds,
        margin=gate.margin,
        unmeasured=comparison.unmeasured,
        fixtures_needed=fixtures_needed(gate.margin, level) if gate.margin and not graded else None,
        intervals=intervals,
        alternative_methods=_other_tests(units.broke, units.fixed) if any(counted) else {},
        latency_difference_ms=_paired(outcomes, MEASURES["latency_p50"].amount),
        cost_difference_usd=_paired(outcomes, MEASURES["cost"].amount),
        resources=resource_changes(outcomes),
        clusters=ClusterCounts(units.total, units.broke, units.fixed) if clusters else None,
        sequential=comparison.test.early,
        scores=comparison.scores,
    )


def method(test: SequentialTest, *, clustered: bool = False) -> str:
    """Return the name of the test that decides, by the design; all are one-sided, and count each
    distinct input once, or each cluster."""
    if clustered:
        return f"{'sequential' if test.early else 'exact'} sign-flip test over clusters"
    passes = test.walks and not test.weights
    name = "McNemar test" if test.rounds == 1 and passes else "sign-flip test"
    return f"{'sequential' if test.early else 'exact'} {name}"


def fate(members: Sequence[Change]) -> Fate:
    """Return what happened to one input from base to head, over all fixtures that share it."""
    if any(None in member for member in members):
        return "unknown"
    sign = sum(bool(head) - bool(base) for base, head in members)
    if sign:
        return "fixed" if sign > 0 else "broke"
    return "both" if members[0][1] else "neither"
