"""Finds out whether a judge grades worse than when it was calibrated, on the same outputs."""

from __future__ import annotations

from dataclasses import dataclass

from gatekeeper.contract.values.calibration_record import CheckCalibration
from gatekeeper.stats.judges.changed_verdicts import changed_verdicts_p

ALPHA = 0.01
"""As for the drift of models: the check runs every night."""


@dataclass(frozen=True, slots=True)
class JudgeDrift:
    """How the verdicts on the same outputs changed. `lost` were graded as people do and no longer
    are, `gained` the other way round. `to_pass` of these verdicts changed from fail to pass, the
    others from pass to fail. `p_value` is one-sided: it is small only if the judge agrees
    less often."""

    check: str
    labels: int
    agreed_before: int
    agrees_now: int
    lost: int
    gained: int
    to_pass: int
    p_value: float

    @property
    def drifted(self) -> bool:
        return self.p_value <= ALPHA


def find_judge_drift(check: str, before: CheckCalibration, now: CheckCalibration) -> JudgeDrift:
    """Compare two gradings of the same outputs by McNemar's exact tests. The labels are those of
    the stored calibration."""
    known = {(label.fixture, label.output): label for label in before.labels}
    lost = gained = to_pass = agreed = agrees = labels = 0
    for label in now.labels:
        stored = known.get((label.fixture, label.output))
        if stored is None:
            continue
        was_right, is_right = stored.judge == stored.human, label.judge == stored.human
        labels += 1
        agreed += was_right
        agrees += is_right
        lost += was_right and not is_right
        gained += is_right and not was_right
        to_pass += label.judge and not stored.judge
    p_value = changed_verdicts_p(lost, gained, to_pass, "worse")
    return JudgeDrift(check, labels, agreed, agrees, lost, gained, to_pass, p_value)
