"""Measures how well a score ranks passes above failures, and finds the best threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from gatekeeper.stats.arguments import require_inside, require_numbers, require_same_length
from gatekeeper.stats.estimate import Estimate, normal_quantile
from gatekeeper.stats.interval import ConfidenceInterval


@dataclass(frozen=True, slots=True)
class Threshold:
    """The quality of a score that calls everything at or above `threshold` positive."""

    threshold: float
    f1: float
    precision: float
    recall: float


def roc_auc(
    scores: Sequence[float], labels: Sequence[bool], confidence: float = 0.95
) -> Estimate | None:
    """Return the area under the ROC curve: the probability that a positive item scores higher than
    a negative one, ties counted half. 1/2 is the area of a random score.

    `labels[i]` says whether item i is positive. Scores may be of any unit and infinite, only
    their order counts. None without an item of either kind. The variance is that of DeLong,
    E. R., DeLong, D. M. and Clarke-Pearson, D. L. (1988), Comparing the areas under two or more
    correlated receiver operating characteristic curves, Biometrics 44:837-845, by mid-ranks as
    in Sun, X. and Xu, W. (2014), IEEE Signal Processing Letters 21:1389-1393. The interval is
    symmetric on the logit scale, so that it stays between 0 and 1: Pepe, M. S. (2003), The
    Statistical SequentialResult of Medical Tests for Classification and Prediction, chapter 5. It
    needs two items of each kind; areas of 0 and 1, and scores that are all the same, have none.
    """
    _require_labelled(scores, labels)
    require_inside("confidence", confidence)
    positive = [score for score, label in zip(scores, labels, strict=True) if label]
    negative = [score for score, label in zip(scores, labels, strict=True) if not label]
    m, n = len(positive), len(negative)
    if not m or not n:
        return None
    ranks = mid_ranks([*positive, *negative])
    # How many of the other kind each item scores above, ties half: half-integers, hence exact.
    above = [all_ - own for all_, own in zip(ranks[:m], mid_ranks(positive), strict=True)]
    over = [all_ - own for all_, own in zip(ranks[m:], mid_ranks(negative), strict=True)]
    area = sum(above) / (m * n)
    if m == 1 or n == 1 or area in (0, 1):
        return Estimate(area, None)
    error = math.sqrt(_variance(above) / (m * n**2) + _variance(over) / (n * m**2))
    if error == 0:
        return Estimate(area, None)
    half = normal_quantile(confidence) * error / (area * (1 - area))
    logit = math.log(area / (1 - area))
    return Estimate(area, ConfidenceInterval(_logistic(logit - half), _logistic(logit + half)))


def best_threshold(scores: Sequence[float], labels: Sequence[bool]) -> Threshold | None:
    """Return the threshold with the greatest F1, the harmonic mean of precision and recall, among
    the scores that occur; None without a positive item.

    Of thresholds with the same F1 the highest is taken: it lets the fewest through. Chosen and
    measured on the same items F1 is too good, the more so the fewer they are. van Rijsbergen,
    C. J. (1979), Information Retrieval, 2nd ed., chapter 7.
    """
    _require_labelled(scores, labels)
    positives = sum(map(bool, labels))
    if not positives:
        return None
    best: tuple[Fraction, float, int, int] | None = None
    called = hits = 0
    order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    for place, i in enumerate(order):
        called += 1
        hits += bool(labels[i])
        if place + 1 < len(order) and scores[order[place + 1]] == scores[i]:
            continue
        f1 = Fraction(2 * hits, positives + called)
        if best is None or f1 > best[0]:
            best = (f1, float(scores[i]), hits, called)
    assert best is not None  # noqa: S101 - there is a positive item, hence a score
    f1, threshold, hits, called = best
    return Threshold(threshold, float(f1), hits / called, hits / positives)


def _require_labelled(scores: Sequence[float], labels: Sequence[bool]) -> None:
    require_same_length("labels", labels, "scores", scores)
    require_numbers("scores", scores)
    for label in labels:
        if label not in (0, 1):
            raise ValueError(f"labels: every label must be true or false, got {label!r}")


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _logistic(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else 1 - 1 / (1 + math.exp(logit))


def mid_ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value from 1 up, in the order given; ties get the mean of their
    ranks."""
    ranks = [0.0] * len(values)
    placed = 0
    order = sorted(range(len(values)), key=values.__getitem__)
    for _, tied in groupby(order, key=values.__getitem__):
        members = list(tied)
        middle = placed + (len(members) + 1) / 2
        for i in members:
            ranks[i] = middle
        placed += len(members)
    return ranks
