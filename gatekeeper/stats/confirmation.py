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
from itertools import accumulate
from typing import Literal

from gatekeeper.stats.arguments import require_count, require_inside
from gatekeeper.stats.multiple import holm

Suspicion = Literal["suspect", "cleared", "open"]
Finding = Literal["broke", "kept", "open"]

_FIRST_PAIRS = 3
"""How many pairs decide whether a fixture is a suspect, if it was sampled less often."""
_STRAY = 1
"""How many pairs of a broken fixture may fail to show the break."""


def suspicion(differences: Sequence[int]) -> Suspicion:
    """Return whether a fixture that so far had these differences is to be confirmed.

    It is if its lead is at least a third of its pairs, and at least 2. `open` means that it needs
    one more pair to tell, because it has fewer than three.
    """
    _require_differences(differences)
    pairs, lead = len(differences), sum(differences)
    needed = max(2, math.ceil(pairs / _FIRST_PAIRS))
    missing = max(0, _FIRST_PAIRS - pairs)
    if lead >= needed:
        return "suspect"
    return "open" if lead > 0 and lead + missing >= needed else "cleared"


def pairs_needed(suspects: int, level: float) -> int:
    """Return how many fresh pairs each of so many suspects may take: the fewest with which the
    first of Holm's steps finds a broken fixture of which one pair does not show the break."""
    require_count("suspects", suspects)
    require_inside("level", level)
    pairs = _STRAY + 1
    while suspects and p_value(pairs - _STRAY, pairs) > level / suspects:
        pairs += 1
    return pairs


def p_value(lead: int, pairs: int) -> float:
    """Return the largest chance that the lead ever reaches `lead` within `pairs` pairs, if head is
    no worse.

    The chance is largest if every sample passes half of the time. The lead then moves like a walk
    of 2 `pairs` steps of 1/2 with a fair coin, and the principle of reflection gives the chance of
    its maximum: P(S >= lead) + P(S > lead). Feller, W. (1968), An Introduction to Probability
    Theory and Its Applications, volume 1, 3rd ed., section III.7; for tests that stop as soon as
    one side leads by enough: Armitage, P. (1957), Restricted sequential procedures, Biometrika
    44:9-26.
    """
    require_count("pairs", pairs)
    if lead <= 0:
        return 1.0
    steps = 2 * pairs
    ways = [math.comb(steps, k) for k in range(pairs + lead, steps + 1)]
    return (2 * sum(ways) - sum(ways[:1])) / (1 << steps)


def confirm(fresh: Sequence[Sequence[int]], level: float) -> tuple[Finding, ...]:
    """Return for each suspect whether its fresh pairs show that it broke.

    `open` means that the suspect needs one more pair. A suspect is settled as soon as no result of
    the missing pairs, of any suspect, can change its answer, so that the decision is that of all
    pairs. The chance that any suspect is called broken that did not get worse is at most `level`
    (Holm), also if the suspects depend on each other.

    Args:
        fresh: The differences of each suspect's fresh pairs, in the order in which they were taken.
            An unknown answer is read as favourably to head as may be.
        level: The level of all suspects together.
    """
    pairs = pairs_needed(len(fresh), level)
    for differences in fresh:
        _require_differences(differences)
    reached = [_highest(differences[:pairs]) for differences in fresh]
    within_reach = [
        max(lead, sum(differences[:pairs]) + max(0, pairs - len(differences)))
        for lead, differences in zip(reached, fresh, strict=True)
    ]
    certain, possible = (
        holm([p_value(lead, pairs) for lead in leads], level).rejected
        for leads in (reached, within_reach)
    )
    return tuple(
        "broke" if surely else "open" if perhaps else "kept"
        for surely, perhaps in zip(certain, possible, strict=True)
    )


def _highest(differences: Sequence[int]) -> int:
    """Return the largest lead so far."""
    return max(accumulate(differences), default=0)


def _require_differences(differences: Sequence[int]) -> None:
    if not set(differences) <= {-1, 0, 1}:
        raise ValueError(f"differences: every value must be -1, 0 or 1, got {list(differences)}")
