"""The sequential test of one group of edits: is its pass rate base's, or halfway to head's?

Wald's sequential probability ratio test (Wald 1945, *Sequential tests of statistical hypotheses*,
Annals of Mathematical Statistics 16:117-186).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

ERROR = 0.01
"""The probability that one test is wrong, in each direction."""
_SUREST = 0.98
"""Rates nearer to 0 or 1 than this are moved to this distance, because a few samples cannot
prove that something always or never happens."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Pass rates on the fixtures that broke: `harmless` as on base, `broken` with half the drop."""

    harmless: float
    broken: float

    def decide(self, outcomes: Sequence[bool]) -> bool | None:
        """Return whether the outcomes show the broken rate (True) or the harmless one (False); None
        while neither is shown."""
        found = self.evidence(outcomes)
        bound = math.log((1 - ERROR) / ERROR)
        return None if abs(found) < bound else found > 0

    def evidence(self, outcomes: Sequence[bool]) -> float:
        """Return the log likelihood ratio of the broken rate to the harmless one."""
        passed = sum(outcomes)
        failed = len(outcomes) - passed
        return passed * math.log(self.broken / self.harmless) + failed * math.log(
            (1 - self.broken) / (1 - self.harmless)
        )


def expected_rates(base: float, head: float, broke: int, fixed: int) -> Rates | None:
    """Return the rates that a test can expect.

    Args:
        base: Base's pass rate over all fixtures, which chance did not select; over those that broke
            if answers do not vary.
        head: Head's pass rate on the fixtures that broke.
        broke: The number of fixtures that broke, some of them by chance.
        fixed: The number that became better: as many as these broke by chance, on average.

    Returns None if chance alone explains what broke.
    """
    if broke <= fixed:
        return None
    truly = (broke - fixed) / broke
    harmless = min(_SUREST, max(0.5, base))
    lowest = truly * head + (1 - truly) * harmless
    broken = max(1 - _SUREST, (harmless + lowest) / 2)
    return Rates(harmless, broken) if broken < harmless else None
