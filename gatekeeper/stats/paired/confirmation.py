"""Confirms with fresh pairs of samples that a fixture got worse.

A pair is one sample on base and one on head, and its difference is 1 if only base passed, -1 if
only head passed, and 0 otherwise. The sum of a fixture's differences is its lead. Pairs that made a
fixture suspicious are not evidence. Fresh pairs decide.

If head is no worse, each fresh pair is as likely to be -1 as to be 1, whatever happened before.
The two samples of a pair are independent and pass with the same chance p, so each has the chance
p (1 - p), which is at most 1/4. The pass rate may therefore drift from pair to pair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Literal

from gatekeeper.stats.arguments import require_count
from gatekeeper.stats.multiple import holm

Suspicion = Literal["suspect", "cleared", "open"]
Finding = Literal["broke", "kept", "open"]

MOST_PAIRS = 30
"""How many fresh pairs a suspect has at most. So many find a fixture that now fails half of the
time; one that always fails needs nine or fewer."""

_FIRST_PAIRS = 3
"""How many pairs decide whether a fixture is a suspect, if it was sampled less often."""


def suspicion(differences: Sequence[int]) -> Suspicion:
    """Return whether a fixture that so far had these differences is to be confirmed.

    It is if its lead is at least a third of its pairs, and at least 2. `open` means that it needs
    one more pair to tell, because it has fewer than three.
    """
    _require_differences(differences)
    pairs, lead = len(differences), sum(differences)
    needed = max(2, math.ceil(pairs / 3))
    missing = max(0, _FIRST_PAIRS - pairs)
    if lead >= needed:
        return "suspect"
    return "open" if lead > 0 and lead + missing >= needed else "cleared"


def confirm(fresh: Sequence[Sequence[int]], level: float) -> tuple[Finding, ...]:
    """Return for each suspect whether its fresh pairs show that it broke.

    `open` means that the suspect needs one more pair. A suspect is settled as soon as no result of
    the missing pairs, of any suspect, can change its answer, and given up as soon as its lead is
    more than 1 below a quarter of its pairs. The chance that any suspect is called broken that did
    not get worse is at most `level` (Holm), also if the suspects depend on each other. Giving up
    can only lower this chance.

    Args:
        fresh: The differences of each suspect's fresh pairs, in the order in which they were taken.
            An unknown answer is read as favourably to head as may be. Of more than `MOST_PAIRS`,
            the first count.
        level: The level of all suspects together.
    """
    shown = [_shown(differences) for differences in fresh]
    certain, possible = (
        holm([_chance(evidence) for evidence in each], level).rejected
        for each in (
            [evidence for evidence, _ in shown],
            [max(evidence) for evidence in shown],
        )
    )
    return tuple(
        "broke" if surely else "open" if perhaps else "kept"
        for surely, perhaps in zip(certain, possible, strict=True)
    )


def p_value(lead: int, pairs: int) -> float:
    """Return the p-value of a suspect whose best lead was `lead` after so many fresh pairs.

    A lead counts by its size in standard deviations at most, lead^2 / pairs. The p-value is the
    chance that a lead ever counts as much within `MOST_PAIRS`, if head is no worse. It is largest
    if every sample passes half of the time, because a boundary that never falls is reached most
    often by the walk that moves most. The lead then moves like the heads of two coins a pair, and
    the distribution is computed exactly, as by Armitage, P., McPherson, C. K. and Rowe, B. C.
    (1969), Repeated significance tests on accumulating data, JRSS A 132:235-244. For tests that end
    as soon as one side leads by enough: Armitage, P. (1957), Restricted sequential procedures,
    Biometrika 44:9-26.
    """
    require_count("lead", lead)
    require_count("pairs", pairs)
    if not lead <= pairs <= MOST_PAIRS:
        raise ValueError(f"pairs: must lie between {lead} and {MOST_PAIRS}, got {pairs}")
    return _chance(Fraction(lead**2, max(1, pairs)))


@lru_cache(maxsize=512)
def _chance(evidence: Fraction) -> float:
    """Return the chance that lead^2 / pairs ever reaches `evidence` while the lead is positive."""
    if not evidence:
        return 1.0
    ways = {0: 1}
    reached = 0
    for pairs in range(1, MOST_PAIRS + 1):
        moved: dict[int, int] = {}
        for lead, count in ways.items():
            for step, coins in ((-1, 1), (0, 2), (1, 1)):
                moved[lead + step] = moved.get(lead + step, 0) + coins * count
        ways = {lead: n for lead, n in moved.items() if lead <= 0 or lead**2 < evidence * pairs}
        crossed = sum(moved.values()) - sum(ways.values())
        reached += crossed << 2 * (MOST_PAIRS - pairs)
    return reached / (1 << 2 * MOST_PAIRS)


def _shown(differences: Sequence[int]) -> tuple[Fraction, Fraction]:
    """Return the most evidence that a suspect's pairs have shown, and that the missing ones can
    still make it."""
    _require_differences(differences)
    most, lead = Fraction(0), 0
    for pairs, lead in enumerate(accumulate(differences[:MOST_PAIRS]), start=1):
        most = max(most, Fraction(max(0, lead) ** 2, pairs))
        if 4 * (lead + 1) < pairs:
            return most, most
    missing = max(0, MOST_PAIRS - len(differences))
    return most, Fraction(max(0, lead + missing) ** 2, MOST_PAIRS)


def _require_differences(differences: Sequence[int]) -> None:
    if not set(differences) <= {-1, 0, 1}:
        raise ValueError(f"differences: every value must be -1, 0 or 1, got {list(differences)}")
