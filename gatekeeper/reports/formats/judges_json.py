"""What result.json says of judges."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gatekeeper.gate.call_result import JudgeCalls
from gatekeeper.gate.judge_result import JudgeAgreement
from gatekeeper.stats.estimate import Estimate


def judge_calls_document(calls: JudgeCalls | None) -> dict[str, Any] | None:
    """Return the calls to judges or simulated users, and their cost for 100 samples."""
    if calls is None:
        return None
    return {**asdict(calls), "cost_per_100_samples_usd": calls.cost_per_100_samples}


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
