"""What result.json says of the agreement of judges."""

from __future__ import annotations

from typing import Any

from gatekeeper.gate.judge_result import JudgeAgreement
from gatekeeper.stats.estimate import Estimate


def judge_agreement_document(found: JudgeAgreement) -> dict[str, Any]:
    """Return how far the judges of a check agree."""
    return {
        "contract": found.contract,
        "check": found.check,
        "judges": list(found.judges),
        "outputs": found.outputs,
        "agreed": found.agreed,
        "kappa": _estimate(found.kappa),
        "repeats": {judge: _estimate(kappa) for judge, kappa in found.repeats.items()},
    }


def _estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    interval = estimate.interval
    bounds = None if interval is None else [interval.low, interval.high]
    return {"value": estimate.value, "interval": bounds}
