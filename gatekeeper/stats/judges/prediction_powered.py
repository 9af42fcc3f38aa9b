"""Estimates a mean from few human labels and many verdicts of a judge.

The judge's verdicts on the labelled outputs show its mean error, which is taken off its verdicts
on all. **The labelled outputs must be a random part of the outputs in question**; if they are
older, or were chosen, use label_shift.py. Angelopoulos, A. N., Bates, S., Fannjiang, C.,
Jordan, M. I. and Zrnic, T. (2023), Prediction-powered inference, Science 382:669-674, with the
power tuning of Angelopoulos, A. N., Duchi, J. C. and Zrnic, T. (2023), PPI++: Efficient
prediction-powered inference, arXiv:2311.01453, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gatekeeper.stats.arguments import require_finite, require_same_length
from gatekeeper.stats.interval import ConfidenceInterval


@dataclass(frozen=True, slots=True)
class PoweredMean:
    """A mean and its standard error, which holds the uncertainty of the calibration.

    `power` is the weight of the judge, from 0 (its verdicts say nothing, only the labels count) to
    1. `labelled` and `judged` are how many units each part has.
    """

    value: float
    error: float
    power: float
    labelled: int
    judged: int

    def interval(self, confidence: float = 0.95) -> ConfidenceInterval:
        """Return the interval, not cut off at the ends of what is possible.

        The t quantile, and the variance as if the labels held one more error of the judge than
        they do: without it, a judge with no error in ten labels would count as perfect.
        """
        half = self._quantile((1 + confidence) / 2) * self._wider_error
        return ConfidenceInterval(self.value - half, self.value + half)

    def p_value_below(self, bound: float) -> float:
        """Return the one-sided p-value that the mean is below `bound`."""
        from scipy.special import stdtr

        return float(stdtr(self.labelled - 1, (self.value - bound) / self._wider_error))

    @property
    def _wider_error(self) -> float:
        n = self.labelled
        return math.sqrt((self.error**2 * n + 1 / n) / (n - 1))

    def _quantile(self, share: float) -> float:
        from scipy.special import stdtrit

        return float(stdtrit(self.labelled - 1, share))


def powered_mean(
    human: Sequence[float],
    judge: Sequence[float],
    judged: Sequence[float],
    power: float | None = None,
) -> PoweredMean | None:
    """Return the mean of what people would say of all outputs.

    `human[i]` and `judge[i]` belong to labelled unit i, `judged` to the units without a label: two
    parts without an output in common. A unit with several samples has their mean. For a paired
    difference give head's value minus base's. `power` fixes the weight of the judge; by default it
    is the one with the smallest variance, estimated from the data and kept from 0 to 1. None below
    2 labels or 2 judged units.
    """
    require_same_length("judge", judge, "human", human)
    for name, values in {"human": human, "judge": judge, "judged": judged}.items():
        require_finite(name, values)
    n, m = len(human), len(judged)
    if n < 2 or m < 2:
        return None
    if power is None:
        power = _best_power(human, judge, judged)
    elif not 0 <= power <= 1:
        raise ValueError(f"power: must lie between 0 and 1, got {power!r}")
    rest = [y - power * f for y, f in zip(human, judge, strict=True)]
    value = _mean(rest) + power * _mean(judged)
    error = math.sqrt(_variance(rest) / n + power**2 * _variance(judged) / m)
    return PoweredMean(value, error, power, n, m)


def powered_rate(
    human: Sequence[float],
    judge: Sequence[float],
    judged: Sequence[float],
) -> tuple[float, ConfidenceInterval] | None:
    """Return a rate and its interval, both kept from 0 to 1."""
    found = powered_mean(human, judge, judged)
    if found is None:
        return None
    interval = found.interval()
    low, high = (min(1.0, max(0.0, end)) for end in (interval.low, interval.high))
    return min(1.0, max(0.0, found.value)), ConfidenceInterval(low, high)


def _best_power(human: Sequence[float], judge: Sequence[float], judged: Sequence[float]) -> float:
    """Return the plug-in estimate of PPI++, example 6.1: cov(human, judge) over (1 + n/N) times
    the variance of the judge."""
    n, m = len(human), len(judged)
    middle_human, middle_judge = _mean(human), _mean(judge)
    together = math.fsum(
        (y - middle_human) * (f - middle_judge) for y, f in zip(human, judge, strict=True)
    )
    everything = [*judge, *judged]
    spread = _variance(everything) * (n + m) / (n + m - 1)
    if spread == 0:
        return 0.0
    return min(1.0, max(0.0, together / n / ((1 + n / m) * spread)))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _variance(values: Sequence[float]) -> float:
    middle = _mean(values)
    return math.fsum((value - middle) ** 2 for value in values) / len(values)
