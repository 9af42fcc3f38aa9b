"""Measures how often a judge gives the verdict of a person: confusion, sensitivity, specificity,
and whether it does so as often as before.

The person's verdict is the truth here. None means that there is no label of that kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gatekeeper.stats.arguments import require_count, require_same_length
from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.intervals.intervals import estimated_rate
from gatekeeper.stats.judges.agreement import cohen_kappa
from gatekeeper.stats.paired.mcnemar import Alternative, mcnemar_exact

LEAST_INFORMATION = 0.1
"""A judge whose sensitivity and specificity add up to less than 1 plus this hardly tells good
outputs from bad ones."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """How many outputs people and the judge passed or failed. `false_pass` are outputs that people
    fail and the judge passes."""

    true_pass: int
    false_pass: int
    true_fail: int
    false_fail: int

    def __post_init__(self) -> None:
        for name in ("true_pass", "false_pass", "true_fail", "false_fail"):
            require_count(name, getattr(self, name))

    @property
    def labels(self) -> int:
        return self.true_pass + self.false_pass + self.true_fail + self.false_fail

    @property
    def human_passes(self) -> int:
        return self.true_pass + self.false_fail

    @property
    def human_fails(self) -> int:
        return self.true_fail + self.false_pass

    def sensitivity(self) -> Estimate | None:
        """Return the share of the outputs that people pass and the judge passes too."""
        return estimated_rate(self.true_pass, self.human_passes)

    def specificity(self) -> Estimate | None:
        """Return the share of the outputs that people fail and the judge fails too."""
        return estimated_rate(self.true_fail, self.human_fails)

    def accuracy(self) -> tuple[float, float] | None:
        """Return sensitivity and specificity as numbers; None if the labels lack either verdict, or
        if the judge hardly tells good outputs from bad ones."""
        if not self.human_passes or not self.human_fails:
            return None
        sensitivity = self.true_pass / self.human_passes
        specificity = self.true_fail / self.human_fails
        if sensitivity + specificity - 1 < LEAST_INFORMATION:
            return None
        return sensitivity, specificity

    def kappa(self) -> Estimate | None:
        """Return Cohen's kappa of the judge with people."""
        human, judge = self.verdicts()
        return cohen_kappa(human, judge)

    @property
    def is_worthless(self) -> bool:
        """Return whether the judge hardly agrees with people more often than chance does, as far as
        the labels show it."""
        kappa = self.kappa()
        return kappa is None or kappa.value < LEAST_INFORMATION or self.accuracy() is None

    def verdicts(self) -> tuple[list[bool], list[bool]]:
        """Return verdicts of people and of the judge with these counts."""
        counts = (self.true_pass, self.false_fail, self.false_pass, self.true_fail)
        cells = ((True, True), (True, False), (False, True), (False, False))
        pairs = [cell for cell, count in zip(cells, counts, strict=True) for _ in range(count)]
        return [human for human, _ in pairs], [judge for _, judge in pairs]


def count_confusion(human: Sequence[bool], judge: Sequence[bool]) -> Confusion:
    """Count the verdicts of people and of the judge on the same outputs."""
    require_same_length("judge", judge, "human", human)
    pairs = [(bool(a), bool(b)) for a, b in zip(human, judge, strict=True)]
    return Confusion(
        true_pass=pairs.count((True, True)),
        false_pass=pairs.count((False, True)),
        true_fail=pairs.count((False, False)),
        false_fail=pairs.count((True, False)),
    )


def changed_verdicts_p(
    lost: int, gained: int, to_pass: int | None, alternative: Alternative = "two-sided"
) -> float:
    """Return the p-value of two exact McNemar tests that share their level (Bonferroni).

    Of the verdicts that changed, `lost` became wrong and `gained` became right, and `to_pass` of
    them changed from fail to pass; the others changed from pass to fail. The first test asks
    whether the judge agrees with people less often or more often (with `worse`, only less often).
    The second test asks whether the judge became milder or stricter. A judge that passes everything
    from now on can agree as often as before, if it failed many good outputs: then only the second
    test finds it. If `to_pass` is not known, only the first test counts. With `worse`, the second
    test counts only if the judge agrees less often.
    """
    agreement = mcnemar_exact(lost, gained, alternative)
    if to_pass is None or (alternative == "worse" and lost <= gained):
        return agreement
    direction = mcnemar_exact(lost + gained - to_pass, to_pass, "two-sided")
    return min(1.0, 2 * min(agreement, direction))
