"""Estimates a rate from a judge's verdicts and its known sensitivity and specificity.

The labels may be older than the outputs in question, and good ones may be more or less frequent
among them: only the judge's share of errors among the good, and among the bad, must be the same.
It is prediction-powered inference for label shift: Angelopoulos et al. (2023), Prediction-powered
inference, Science 382:669-674, supplement, section "Label shift".
"""

from __future__ import annotations

import math

from gatekeeper.stats.arguments import require_inside, require_share
from gatekeeper.stats.estimate import Estimate, normal_quantile
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.judges.judge_accuracy import Confusion


def corrected_rate(
    observed: float, units: float, confusion: Confusion, confidence: float = 0.95
) -> Estimate | None:
    """Return the rate that people would find if the judge passes the share `observed` of `units`
    independent outputs.

    The estimate is that of Rogan, W. J. and Gladen, B. (1978), Estimating prevalence from the
    results of a screening test, American Journal of Epidemiology 107:71-76, kept from 0 to 1. The
    interval holds the uncertainty of the calibration: Lang, Z. and Reiczigel, J. (2014),
    Confidence limits for prevalence of disease adjusted for estimated sensitivity and specificity,
    Preventive Veterinary Medicine 113:13-22. None if the labels lack either verdict, or if the
    judge hardly tells good from bad.
    """
    require_share("observed", observed)
    require_inside("confidence", confidence)
    if units <= 0:
        raise ValueError(f"units: must be above 0, got {units!r}")
    accuracy = confusion.accuracy()
    if accuracy is None:
        return None
    sensitivity, specificity = accuracy
    value = (observed + specificity - 1) / (sensitivity + specificity - 1)
    interval = _lang_reiczigel(observed, units, confusion, normal_quantile(confidence))
    return Estimate(clipped(value), interval)


def corrected_difference(
    observed: float, error: float, confusion: Confusion, confidence: float = 0.95
) -> Estimate | None:
    """Return head's rate minus base's as people would find it, if the judge finds `observed` with
    a standard error of `error`.

    The judge's errors shrink a difference by sensitivity + specificity - 1, so that is divided
    out; the interval is that of the delta method. A judge with other errors on one arm, such as
    one that favours long outputs if head writes longer ones, is not corrected by this. None as in
    `corrected_rate`.
    """
    require_inside("confidence", confidence)
    accuracy = confusion.accuracy()
    if accuracy is None:
        return None
    information = sum(accuracy) - 1
    value = observed / information
    passes, fails = confusion.human_passes, confusion.human_fails
    sensitivity, specificity = _shrunk(confusion)
    own = sensitivity * (1 - sensitivity) / passes + specificity * (1 - specificity) / fails
    half = normal_quantile(confidence) * math.sqrt(error**2 + value**2 * own) / information
    return Estimate(
        min(1.0, max(-1.0, value)),
        ConfidenceInterval(max(-1.0, value - half), min(1.0, value + half)),
    )


def _shrunk(confusion: Confusion) -> tuple[float, float]:
    """Return sensitivity and specificity as if each had one more hit and one more miss."""
    return (
        (confusion.true_pass + 1) / (confusion.human_passes + 2),
        (confusion.true_fail + 1) / (confusion.human_fails + 2),
    )


def _lang_reiczigel(
    observed: float, units: float, confusion: Confusion, z: float
) -> ConfidenceInterval:
    seen = (units * observed + z**2 / 2) / (units + z**2)
    sensitivity, specificity = _shrunk(confusion)
    information = sensitivity + specificity - 1
    if information <= 0:
        return ConfidenceInterval(0.0, 1.0)
    rate = (seen + specificity - 1) / information
    of_passes = sensitivity * (1 - sensitivity) / (confusion.human_passes + 2)
    of_fails = specificity * (1 - specificity) / (confusion.human_fails + 2)
    shift = 2 * z**2 * (rate * of_passes - (1 - rate) * of_fails)
    spread = seen * (1 - seen) / (units + z**2) + rate**2 * of_passes + (1 - rate) ** 2 * of_fails
    half = z * math.sqrt(spread) / information
    return ConfidenceInterval(clipped(rate + shift - half), clipped(rate + shift + half))


def clipped(rate: float) -> float:
    """Return the nearest possible rate or score."""
    return min(1.0, max(0.0, rate))
