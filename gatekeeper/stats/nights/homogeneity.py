"""Do several nights differ by more than their samples explain? Pearson's chi-square test."""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper.stats.arguments import require_finite, require_same_length


def homogeneity_p(rates: Sequence[float], samples: Sequence[int]) -> float:
    """Return the p-value of Pearson's chi-square test that all nights have one rate.

    Fixtures with rates of their own make the nights scatter less than the test assumes
    (Hoeffding, W. (1956), Annals of Mathematical Statistics 27:713-721), so it is conservative;
    fixtures that are good or bad together make them scatter more.

    Args:
        rates: the share that passed, from 0 to 1, of each night.
        samples: the number of samples of each night, above 0.

    Raises:
        ValueError: the lengths differ, a rate is not from 0 to 1, or a night has no sample.
    """
    require_same_length("samples", samples, "rates", rates)
    require_finite("rates", rates)
    if any(not 0 <= rate <= 1 for rate in rates):
        raise ValueError("rates: every rate must be from 0 to 1")
    if any(count < 1 for count in samples):
        raise ValueError("samples: every night must have at least one sample")
    if len(rates) < 2:
        return 1.0
    from scipy.special import chdtrc

    total = sum(samples)
    mean = sum(rate * count for rate, count in zip(rates, samples, strict=True)) / total
    if not 0 < mean < 1:
        return 1.0  # all passed, or none
    squares = sum(
        count * (rate - mean) ** 2 for rate, count in zip(rates, samples, strict=True)
    ) / (mean * (1 - mean))
    return float(chdtrc(len(rates) - 1, squares))
