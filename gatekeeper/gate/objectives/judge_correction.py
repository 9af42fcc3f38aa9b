"""Corrects rates and differences that rest on a judge by its calibration. Pure.

The labels are older than the run, so the correction is by sensitivity and specificity
(stats/judges/label_shift.py). It supposes that the judge makes these errors on both arms alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from gatekeeper import numbers
from gatekeeper.contract.values.calibration_record import Calibrations, CheckCalibration
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.objectives import Objective
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.gate.results.parts import AnchorResult
from gatekeeper.gate.results.result import Difference, Reason, ReasonCode, SloResult
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
    if len(means) < 2:
        return None
    human, judge = zip(*calibration.scores, strict=True)
    return corrected_mean(*_mean_and_error(means), human, judge, confidence)


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
    if len(drops) < 2:
        return None
    drop, error = _mean_and_error(drops)
    found = corrected_difference(-drop, error, calibration.confusion)
    return None if found is None else Difference(found.value, found.interval)


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean over units and its standard error. If all are equal, it is as if one had
    differed."""
    n = len(values)
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    return mean, math.sqrt((variance or 1 / n) / n)


# Keeps a judge that drifted from counting against the prompt. Pure.
#
# A judge drifted if it grades the anchors of its calibration differently than at calibration. What
# rests on its verdicts is then not known: neither missed nor met.


_BY_CHECKS: tuple[ReasonCode, ...] = ("tolerance", "must_pass", "nothing_passes")
"""Reasons that come from which fixtures pass."""


def leave_open(
    contract: Contract,
    results: Sequence[SloResult],
    outcomes: Sequence[Outcome],
    anchors: Sequence[AnchorResult],
) -> tuple[SloResult, ...]:
    """Return the objectives, those that rest on a drifted judge open."""
    names = _drifted(anchors)
    if not names:
        return tuple(results)
    about = [_only(outcome, names) for outcome in outcomes if outcome.sample.trial.arm == "head"]
    rests = {o.name for o in contract.slo if rests_on_judges(o, about)}
    return tuple(
        replace(result, met=None, unmeasured=False, outdated=True)
        if result.objective in rests
        else result
        for result in results
    )


def _only(outcome: Outcome, names: set[str]) -> Outcome:
    """Return the outcome with the results of these checks alone."""
    mine = tuple(result for result in outcome.check_results if result.check in names)
    return replace(outcome, check_results=mine)


def drifted_reasons(
    reasons: Sequence[Reason],
    results: Sequence[SloResult],
    contract: Contract,
    anchors: Sequence[AnchorResult],
) -> list[Reason]:
    """Return the reasons with one for each drifted judge, and those that its verdicts may have
    caused as open questions."""
    names = _drifted(anchors)
    if not names:
        return list(reasons)
    specs = (s for fixture in contract.fixtures for s in contract.checks_for(fixture))
    gates = any(spec.name in names and spec.severity == "error" for spec in specs)
    kept = [_excused(reason) if gates else reason for reason in reasons]
    touched = kept != list(reasons) or any(result.outdated for result in results)
    found = [
        Reason("judge_drifted", describe_drift(result), "inconclusive" if touched else "pass")
        for result in anchors
        if result.differs
    ]
    return [*found, *kept]


def _excused(reason: Reason) -> Reason:
    if reason.code not in _BY_CHECKS or reason.verdict != "fail":
        return reason
    text = f"{reason.text} A judge drifted, so the judge may be the cause of this result."
    return replace(reason, text=text, verdict="inconclusive")


def describe_drift(found: AnchorResult) -> str:
    """Return a sentence or two on a judge that grades the anchors differently."""
    several = len(found.judges) > 1
    judges = f"judge{'s' if several else ''} {' and '.join(found.judges)}"
    share = f"{found.agrees_now} of {numbers.count(found.anchors, 'labelled output')}"
    return (
        f"The {judges} of `{found.check}` drifted: {'they agree' if several else 'it agrees'} with "
        f"people on {share} now, but agreed on {found.agreed_before} at calibration"
        f"{_direction(found)} (p {numbers.p_value(found.p_value)}). The prompt is not the cause. "
        "Pin the judge's version, or run `gatekeeper judge calibrate` again."
    )


def _direction(found: AnchorResult) -> str:
    if found.to_pass is None:
        return ""
    return f"; {changed_text(found.lost + found.gained, found.to_pass)}"


def changed_text(changed: int, to_pass: int) -> str:
    """Say in which direction verdicts changed."""
    verdicts = numbers.count(to_pass, "verdict")
    return f"{verdicts} changed from fail to pass, and {changed - to_pass:,} from pass to fail"


def _drifted(anchors: Sequence[AnchorResult]) -> set[str]:
    return {result.check for result in anchors if result.differs}
