"""An estimated number with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

from gatekeeper.stats.interval import ConfidenceInterval


@dataclass(frozen=True, slots=True)
class Estimate:
    """`interval` is None if the data gives the value but not its uncertainty: there is too little
    data, or it is so uniform that the estimated standard error is 0."""

    value: float
    interval: ConfidenceInterval | None


def symmetric(value: float, error: float, quantile: float) -> Estimate:
    """Return the value with `quantile` standard errors either way, kept between -1 and 1."""
    if error == 0:
        return Estimate(value, None)
    half = quantile * error
    return Estimate(value, ConfidenceInterval(max(-1.0, value - half), min(1.0, value + half)))


def normal_quantile(confidence: float) -> float:
    """Return how many standard errors either way contain the middle `confidence` of a normal
    distribution."""
    from statistics import NormalDist

    return NormalDist().inv_cdf((1 + confidence) / 2)
