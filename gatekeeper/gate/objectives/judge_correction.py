"""Corrects rates and differences that rest on a judge by its calibration. Pure.

The labels are older than the run, so the correction is by sensitivity and specificity
(stats/judges/label_shift.py). It supposes that the judge makes these errors on both arms alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gatekeeper.contract.values.calibration_record import Calibrations, CheckCalibration
from gatekeeper.contract.values.objectives import Objective
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.gate.results.result import Difference
from gatekeeper.stats.estimate import Estimate
from gatekeeper.stats.judges.label_shift import corrected_difference
from gatekeeper.stats.judges.score_shift import corrected_mean


def judge_behind(
    objective: Objective, outcomes: Sequence[Outcome], calibrations: Calibrations
) -> CheckCalibration | None:
    """Return the calibration of the judge that alone decides what the objective counts."""
    if objective.measure.unit == "score":
        return sole_scorer(outcomes, calibrations)
    if objective.measure.unit != "share" or not calibrations:
        return None
    if objective.check is not None:
        return calibrations.get(objective.check)
    return sole_judge(outcomes, calibrations) if objective.counts_passes else None


def sole_judge(outcomes: Sequence[Outcome], calibrations: Calibrations) -> CheckCalibration | None:
    """Return the calibration of the judge that is the only check that gates, in every outcome."""
    if not calibrations or any(o.pass_score is not None for o in outcomes):
        return None
    names = {c.check for o in outcomes for c in o.check_results if c.severity == "error"}
    return calibrations.get(next(iter(names))) if len(names) == 1 else None


def sole_scorer(outcomes: Sequence[Outcome], calibrations: Calibrations) -> CheckCalibration | None:
    """Return the calibration of the judge that alone gives scores, if people gave some too."""
    names = {c.check for o in outcomes for c in o.check_results if c.score is not None}
    found = calibrations.get(next(iter(names))) if len(names) == 1 else None
    return found if found is not None and found.scores else None


def correct_score(
    means: Sequence[float], calibration: CheckCalibration, confidence: float = 0.95
) -> Estimate | None:
    """Return the mean score as people would give it. `means` are the judge's, of each unit. None if
    the labels say too little of the judge's scores."""
    n = len(means)
    if n < 2:
        return None
    mean = math.fsum(means) / n
    variance = math.fsum((value - mean) ** 2 for value in means) / (n - 1)
    if variance == 0:
        variance = 1 / n  # as if one unit had another score
    human, judge = zip(*calibration.scores, strict=True)
    return corrected_mean(mean, math.sqrt(variance / n), human, judge, confidence)


def rests_on_judges(objective: Objective, outcomes: Sequence[Outcome]) -> bool:
    """Return whether verdicts or scores of judges are a part of what the objective counts."""
    results = (result for outcome in outcomes for result in outcome.check_results if result.votes)
    if objective.measure.unit == "score":
        return any(result.score is not None for result in results)
    if objective.check is not None:
        return any(result.check == objective.check for result in results)
    return objective.counts_passes and any(result.severity == "error" for result in results)


def correct_difference(drops: Sequence[float], calibration: CheckCalibration) -> Difference | None:
    """Return head's pass rate minus base's as people would find it. `drops` are base's minus
    head's as judged, of each unit. None below two units, or if the judge tells too little."""
    n = len(drops)
    if n < 2:
        return None
    mean = math.fsum(drops) / n
    variance = math.fsum((drop - mean) ** 2 for drop in drops) / (n - 1)
    if variance == 0:
        variance = 1 / n  # as if one pair had differed
    found = corrected_difference(-mean, math.sqrt(variance / n), calibration.confusion)
    return None if found is None else Difference(found.value, found.interval)
