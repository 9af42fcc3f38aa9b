"""At least one of the given checks passes. If all of the given checks fail, the message says why
each check fails.

If some of the given checks have scores, the score of `any_of` is the highest of these scores.
"""

from __future__ import annotations

from gatekeeper.checks.check import (
    Check,
    Example,
    Files,
    Finding,
    Parameters,
    SampleEvaluator,
    parameters,
)
from gatekeeper.checks.composed.inner_checks import (
    CHECKS,
    ComposedCheck,
    Found,
    known_scores,
    named_messages,
    require_no_weights,
)


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    require_no_weights(params["checks"])
    return ComposedCheck(params["checks"], _combine)


def _combine(found: Found) -> Finding:
    scores = known_scores(found)
    score = max(scores) if scores else None
    if any(finding.passed for _, finding in found):
        return Finding(True, score=score)
    if any(finding.passed is None for _, finding in found):
        return Finding(None, named_messages(found, None))
    message = f"none of {len(found)} checks passed: {named_messages(found, False)}"
    return Finding(False, message, score)


CHECK = Check(
    parameters(required=("checks",), checks=CHECKS),
    _prepare,
    group="composed",
    examples=(
        Example(
            "{type: any_of, name: label or refusal, checks: "
            "[{type: enum, values: [refund, exchange]}, {type: contains, value: cannot tell}]}",
            "refund",
            "perhaps a refund",
        ),
        Example(
            "{type: any_of, not: true, checks: "
            "[{type: contains, value: lorem ipsum}, {type: regex, pattern: '<[a-z]+>'}]}",
            "Dear Ann, your parcel is on its way.",
            "Dear <name>, your parcel is on its way.",
        ),
    ),
    composed=True,
)
