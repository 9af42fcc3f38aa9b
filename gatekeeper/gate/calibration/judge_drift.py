"""Finds out whether a judge grades worse than when it was calibrated, on the same outputs."""

from __future__ import annotations

from dataclasses import dataclass

from gatekeeper.contract.calibration_record import CheckCalibration
from gatekeeper.stats.mcnemar import mcnemar_exact

ALPHA = 0.01
"""As for the drift of models: the check runs every night."""


@dataclass(frozen=True, slots=True)
class JudgeDrift:
    """How the verdicts on the same outputs changed. `lost` were graded as people do and no longer
    are, `gained` the other way round. `p_value` is one-sided."""

    check: str
    labels: int
    agreed_before: int
    agrees_now: int
    lost: int
    gained: int
    p_value: float

    @property
    def drifted(self) -> bool:
        return self.p_value <= ALPHA


def find_judge_drift(check: str, before: CheckCalibration, now: CheckCalibration) -> JudgeDrift:
    """Compare two gradings of the same outputs by McNemar's exact test. The labels are those of the
    stored calibration."""
    known = {(label.fixture, label.output): label for label in before.labels}
    lost = gained = agreed = agrees = labels = 0
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
    return JudgeDrift(check, labels, agreed, agrees, lost, gained, mcnemar_exact(lost, gained))
