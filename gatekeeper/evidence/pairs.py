"""Base against head on the same inputs: the counts, and what the test says of them. Pure.

What was not measured is carried as unknown and never guessed: every number that a verdict
rests on holds for the worst the unknown could have been.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gatekeeper.evidence.outcomes import Change
from gatekeeper.result import FixtureResult, PairedResult, Stopped
from gatekeeper.stats.intervals import paired_difference_interval
from gatekeeper.stats.mcnemar import mcnemar_exact
from gatekeeper.stats.power import minimum_detectable_effect

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
    def known(self) -> int:
        return self.both + self.broke + self.fixed + self.neither

    @property
    def total(self) -> int:
        return self.known + self.unknown

    def p_value(self) -> float:
        """One-sided exact McNemar, as if every unknown fixture had been fixed: an upper
        bound of the p-value that complete data would have given."""
        return mcnemar_exact(self.broke, self.fixed + self.unknown)

    def best_p_value(self) -> float:
        """The same, as if every unknown fixture had broken: the lower bound."""
        return mcnemar_exact(self.broke + self.unknown, self.fixed)


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


def paired_result(pairs: Pairs, alpha: float, stopped: Stopped | None) -> PairedResult:
    """The comparison of the arms. `alpha` is the level this contract is tested at."""
    known = pairs.known
    return PairedResult(
        method="exact one-sided McNemar test on fixtures",
        alpha=alpha,
        fixtures=pairs.total,
        broke=pairs.broke,
        fixed=pairs.fixed,
        unknown=pairs.unknown,
        p_value=pairs.p_value() if known else None,
        difference=(pairs.fixed - pairs.broke) / known if known else None,
        interval=paired_difference_interval(pairs.both, pairs.broke, pairs.fixed, pairs.neither),
        minimum_detectable_effect=minimum_detectable_effect(pairs.total, alpha),
        stopped=stopped,
    )


def fate(members: Sequence[Change]) -> Fate:
    """What happened to one input from base to head, over all fixtures that share it."""
    if any(None in member for member in members):
        return "unknown"
    sign = sum(bool(head) - bool(base) for base, head in members)
    if sign:
        return "fixed" if sign > 0 else "broke"
    return "both" if members[0][1] else "neither"
