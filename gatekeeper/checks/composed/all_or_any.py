"""The checks that require all of several checks, or one of them."""

from __future__ import annotations

from collections.abc import Callable

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


def combine_all(found: Found) -> Finding:
    """Return the finding of checks that must all pass."""
    scores = known_scores(found)
    score = min(scores) if scores else None
    failing = sum(finding.passed is False for _, finding in found)
    if failing:
        count = f"{failing} of {len(found)} checks failed"
        return Finding(False, f"{count}: {named_messages(found, False)}", score)
    if any(finding.passed is None for _, finding in found):
        return Finding(None, named_messages(found, None))
    return Finding(True, score=score)


def _any(found: Found) -> Finding:
    scores = known_scores(found)
    score = max(scores) if scores else None
    if any(finding.passed for _, finding in found):
        return Finding(True, score=score)
    if any(finding.passed is None for _, finding in found):
        return Finding(None, named_messages(found, None))
    message = f"none of {len(found)} checks passed: {named_messages(found, False)}"
    return Finding(False, message, score)


def _check(about: str, combine: Callable[[Found], Finding], *examples: Example) -> Check:
    def prepare(params: Parameters, _files: Files) -> SampleEvaluator:
        require_no_weights(params["checks"])
        return ComposedCheck(params["checks"], combine)

    own = parameters(required=("checks",), checks=CHECKS)
    return Check(own, prepare, group="composed", examples=examples, composed=True, about=about)


ALL_OF = _check(
    """
All of the given checks pass. The message names those that fail, and the lowest of their
scores counts.
""",
    combine_all,
    Example(
        "{type: all_of, name: short apology, checks: "
        "[{type: contains, value: sorry, ignore_case: true}, {type: length, max: 80}]}",
        "Sorry for the delay, your order leaves today.",
        "Your order leaves today.",
    ),
)
ANY_OF = _check(
    """
At least one of the given checks passes; if none does, the message says why. The highest of
their scores counts.
""",
    _any,
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
)
