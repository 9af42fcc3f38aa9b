"""Keeps a judge that drifted from counting against the prompt. Pure.

A judge drifted if it grades the anchors of its calibration differently than at calibration. What
rests on its verdicts is then not known: neither missed nor met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gatekeeper import numbers
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import Outcome
from gatekeeper.gate.objectives.judge_correction import rests_on_judges
from gatekeeper.gate.results.judge_result import AnchorResult
from gatekeeper.gate.results.result import Reason, ReasonCode, SloResult

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
