"""Base against head on the same inputs, as it is reported. Pure.

What was not measured is carried as unknown and never guessed: every number that a verdict
rests on holds for the worst the unknown could have been.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gatekeeper.contract.model import GatePolicy
from gatekeeper.contract.trial import Outcome
from gatekeeper.evidence.beside import (
    difference_intervals,
    other_tests,
    paired_cost,
    paired_latency,
    visible_drop,
)
from gatekeeper.evidence.compare import Comparison
from gatekeeper.evidence.outcomes import Change
from gatekeeper.evidence.resources import resource_changes
from gatekeeper.result import FixtureResult, PairedResult, Stopped
from gatekeeper.stats.power import fixtures_needed
from gatekeeper.stats.sequential import SequentialTest

Fate = Literal["both", "broke", "fixed", "neither", "unknown"]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Distinct inputs by what happened to them from base to head.

    `both` passed on both arms, `neither` on none; `broke` and `fixed` are the discordant
    ones; `unknown` are not determined by what was measured.
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
    """The paired counts over distinct inputs: duplicates of an input are one cluster.

    A cluster broke when more of its members broke than were fixed (a sign for each
    cluster, as the exact sign test on clusters asks for).
    """
    clusters: dict[str, list[Change]] = defaultdict(list)
    for fixture in fixtures:
        change = fixture.base_passed, fixture.head_passed
        clusters[fixture.duplicate_of or fixture.id].append(change)
    counts = Counter(fate(members) for members in clusters.values())
    return Pairs(
        both=counts["both"],
        broke=counts["broke"],
        fixed=counts["fixed"],
        neither=counts["neither"],
        unknown=counts["unknown"],
    )


def paired_result(
    pairs: Pairs,
    comparison: Comparison,
    outcomes: Sequence[Outcome],
    gate: GatePolicy,
    level: float,
    stopped: Stopped | None,
) -> PairedResult:
    """The comparison of the arms. `level` is the one that this contract is tested at."""
    drops = comparison.drops()
    measured = bool(drops)
    intervals = difference_intervals(pairs.both, pairs.broke, pairs.fixed, pairs.neither, drops)
    # Where each input has one difference of -1, 0 or 1, Newcombe's is exact about its ends.
    shown = intervals.get("bootstrap_fixtures") if comparison.rounds > 1 else None
    if shown is None or shown.low == shown.high:
        shown = intervals.get("newcombe")
    return PairedResult(
        method=method(comparison.test),
        alpha=level,
        fixtures=pairs.total,
        broke=pairs.broke,
        fixed=pairs.fixed,
        unknown=pairs.unknown,
        p_value=comparison.evaluate(level).p_value if measured else None,
        difference=-sum(drops) / len(drops) if measured else None,
        interval=shown,
        minimum_detectable_effect=visible_drop(pairs.total, drops, level),
        stopped=stopped,
        rounds=comparison.rounds,
        planned_rounds=comparison.test.rounds,
        margin=gate.margin,
        unmeasured=comparison.unmeasured,
        fixtures_needed=fixtures_needed(gate.margin, level) if gate.margin > 0 else None,
        intervals=intervals,
        beside=other_tests(pairs.both, pairs.broke, pairs.fixed, pairs.neither, comparison),
        latency_difference_ms=paired_latency(outcomes),
        cost_difference_usd=paired_cost(outcomes),
        resources=resource_changes(outcomes),
    )


def method(test: SequentialTest) -> str:
    """The name of the test that decides, as the design asks for it; all are one-sided, and
    take each distinct input as one."""
    name = "McNemar test" if test.rounds == 1 else "sign-flip test"
    return f"{'sequential' if test.early else 'exact'} {name}"


def fate(members: Sequence[Change]) -> Fate:
    """What happened to one input from base to head, over all fixtures that share it."""
    if any(None in member for member in members):
        return "unknown"
    sign = sum(bool(head) - bool(base) for base, head in members)
    if sign:
        return "fixed" if sign > 0 else "broke"
    return "both" if members[0][1] else "neither"
