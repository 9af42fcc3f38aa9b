"""Measures whether a judge prefers a place or a length instead of quality."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gatekeeper.stats.arguments import require_finite, require_same_length
from gatekeeper.stats.estimate import Estimate, normal_quantile
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.intervals import estimated_rate
from gatekeeper.stats.judges.calibration import roc_auc

Choice = Literal["first", "second", "tie"]
"""What a judge of two outputs prefers: the one shown first, the one shown second, or neither."""


@dataclass(frozen=True, slots=True)
class PositionBias:
    """The decisions of a judge that saw each pair in both orders.

    `contradictory` is the share of pairs in which it names another output when the order is
    swapped. `for_first` is the share of the place-bound pairs, in which it named the same place
    both times, in which that was the first; 1/2 without a bias. None without such a pair.
    """

    pairs: int
    contradictory: Estimate | None
    place_bound: int
    for_first: Estimate | None


def position_bias(decisions: Sequence[tuple[Choice, Choice]]) -> PositionBias:
    """Return what the decisions on pairs show, each `(in the one order, in the other)`.

    The choice is a place and not an output: a judge without a bias that prefers an output names
    `first`, then `second`. A tie in one order and a preference in the other is a contradiction
    too; it speaks for no place. Zheng, L. et al. (2023), Judging LLM-as-a-judge with MT-Bench and
    Chatbot Arena, section 3.3, call the rest "consistency".
    """
    counts = Counter(decisions)
    consistent = sum(counts[pair] for pair in _CONSISTENT)
    n = len(decisions)
    first, second = counts["first", "first"], counts["second", "second"]
    return PositionBias(
        pairs=n,
        contradictory=estimated_rate(n - consistent, n),
        place_bound=first + second,
        for_first=estimated_rate(first, first + second),
    )


def length_bias(
    lengths: Sequence[float],
    human: Sequence[bool],
    judge: Sequence[bool],
) -> Estimate | None:
    """Return how likely it is that, of two outputs with the same verdict of people, of which the
    judge passes one, that one is the longer: 1/2 if the judge does not look at the length.

    It is the area under the ROC curve of the length for the judge's verdict, computed among the
    outputs that people pass and among those that they fail, and combined with weights by
    precision: van Elteren, P. H. (1960), On the combination of independent two sample tests of
    Wilcoxon, Bulletin of the International Statistical Institute 37:351-361. Good outputs may be
    longer; what counts is whether length sways the judge among the equally good. None if the
    judge gives all outputs of either kind one verdict.
    """
    require_same_length("human", human, "lengths", lengths)
    require_same_length("judge", judge, "lengths", lengths)
    require_finite("lengths", lengths)
    found: list[tuple[float, float, float | None]] = []
    for verdict in (True, False):
        chosen = [i for i, label in enumerate(human) if bool(label) is verdict]
        flags = [bool(judge[i]) for i in chosen]
        area = roc_auc([lengths[i] for i in chosen], flags)
        if area is not None:
            m, n = sum(flags), len(flags) - sum(flags)
            found.append((m * n / (m + n + 1), area.value, _error(area, m, n)))
    if not found:
        return None
    total = math.fsum(weight for weight, _, _ in found)
    value = math.fsum(weight * area for weight, area, _ in found) / total
    errors = [weight * error for weight, _, error in found if error is not None]
    if len(errors) < len(found):
        return Estimate(value, None)
    half = normal_quantile(0.95) * math.hypot(*errors) / total
    return Estimate(value, ConfidenceInterval(max(0.0, value - half), min(1.0, value + half)))


_CONSISTENT: tuple[tuple[Choice, Choice], ...] = (
    ("first", "second"),
    ("second", "first"),
    ("tie", "tie"),
)


def _error(area: Estimate, m: int, n: int) -> float | None:
    """Return the standard error of an area. Without an interval it is that of an area of 1/2, the
    largest of a score without ties."""
    if area.interval is None:
        return math.sqrt((m + n + 1) / (12 * m * n))
    width = area.interval.high - area.interval.low
    return width / 2 / normal_quantile(0.95)
