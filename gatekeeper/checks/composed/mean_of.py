"""The weighted mean of the scores of the given checks is at least `min`.

A check without a score counts 1 if it passes, else 0; `weight` (1 by default) says how much it
counts. With five such checks, `min: 0.6` requires that three pass.
"""

from __future__ import annotations

from collections.abc import Sequence

from gatekeeper.checks.check import (
    Check,
    Example,
    Files,
    Finding,
    InnerCheck,
    Parameters,
    SampleEvaluator,
    parameters,
)
from gatekeeper.checks.composed.inner_checks import (
    CHECKS,
    ComposedCheck,
    Found,
    named_messages,
)
from gatekeeper.numbers import score as shown

_ROUNDING = 1e-12
"""Allows for rounding, so that a mean of 0.1 and 0.2 reaches 0.15."""


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    checks: Sequence[InnerCheck] = params["checks"]
    weights = [check.weight for check in checks]
    least = params["min"] - _ROUNDING

    def combine(found: Found) -> Finding:
        low, high = _bounds(found, weights)
        score = low if low == high else None
        if low >= least:
            return Finding(True, score=score)
        if high >= least:
            return Finding(None, named_messages(found, None))
        message = f"the mean score is {shown(high)}, less than {shown(params['min'])}"
        failing = named_messages(found, False)
        return Finding(False, f"{message}: {failing}" if failing else message, score)

    return ComposedCheck(params["checks"], combine)


def _bounds(found: Found, weights: Sequence[float]) -> tuple[float, float]:
    """Return the lowest and the highest mean that undetermined checks leave possible."""
    low = high = 0.0
    for (_, finding), weight in zip(found, weights, strict=True):
        if finding.passed is None:
            high += weight
            continue
        score = float(finding.passed) if finding.score is None else finding.score
        low += weight * score
        high += weight * score
    return low / sum(weights), high / sum(weights)


CHECK = Check(
    parameters(
        required=("checks", "min"),
        checks={
            **CHECKS,
            "description": (
                "A list of 1 to 20 checks, with `type`, parameters, `name`, `not` and `weight`."
            ),
        },
        min={
            "x-looser": "down",
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "The lowest mean that passes, from 0 to 1.",
        },
    ),
    _prepare,
    group="composed",
    examples=(
        Example(
            "{type: mean_of, min: 0.6, checks: [{type: contains, value: sorry}, "
            "{type: contains, value: refund, weight: 2}, {type: length, max: 60}]}",
            "Your refund is on its way.",
            "We are sorry.",
        ),
    ),
    composed=True,
)
