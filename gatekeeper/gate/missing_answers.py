"""Counts the answers that are empty, cut off or refused, and tests whether head has more of them.

Such an answer passes every check that only forbids something. It counts as missing unless a check
of the contract asks for exactly this text: one that passes it, and would fail it with another
letter at its end. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gatekeeper import numbers
from gatekeeper.checks.evaluate import Evaluator
from gatekeeper.contract.data_blocks import INVISIBLE
from gatekeeper.contract.definition import Contract
from gatekeeper.contract.trial import (
    REFUSED_REQUESTS,
    Arm,
    CheckResult,
    Completion,
    MissingAnswer,
    Outcome,
    Sample,
)
from gatekeeper.gate.repairs import rise_p_value
from gatekeeper.gate.result import MissingAnswers, MissingTally, Reason

_REFUSED = frozenset({"content_filter", "refusal", *REFUSED_REQUESTS})
_SHARE_OF_LEVEL = 0.5
"""Of the level of the comparison. Six inputs whose answers went missing are then enough."""


def missing_answer(
    sample: Sample, checked: Sequence[CheckResult], evaluator: Evaluator
) -> MissingAnswer | None:
    """Return how the answer of an evaluated sample is missing; None if it is there."""
    answer = sample.completion
    if answer is None:
        return None
    for turn in answer.turns[:-1]:
        earlier = _missing(turn.completion, turn.completion.text)
        if earlier is not None:
            return earlier
    last = _missing(answer, sample.output)
    if last is None:
        return None
    longer = evaluator.evaluate(replace(sample, output=f"{sample.output}x"))
    asked_for = any(
        now.severity == "error" and now.passed is True and then.passed is False
        for now, then in zip(checked, longer, strict=True)
    )
    return None if asked_for else last


def _missing(answer: Completion, text: str) -> MissingAnswer | None:
    if answer.finish_reason in _REFUSED:
        return "refused"
    if not answer.tool_calls and not INVISIBLE.sub("", text).strip():
        return "empty"
    return "cut off" if answer.finish_reason == "length" else None


def missing_answers(
    contract: Contract,
    outcomes: Sequence[Outcome],
    level: float | None,
    counts_with: Mapping[str, str],
    *,
    compares: bool,
) -> MissingAnswers | None:
    """Return the missing answers of both arms; None if there are none.

    Args:
        contract: The contract that evaluated.
        outcomes: Its evaluated samples.
        level: That of the suite's comparison.
        counts_with: The fixture that stands for the unit of another: its input, or its cluster.
        compares: Whether there are two arms.
    """
    if not any(outcome.missing for outcome in outcomes):
        return None
    base, head = (_tally(outcomes, arm) for arm in _ARMS)
    if level is None or not compares:
        return MissingAnswers(base if compares else None, head, None, None, "untested")
    own = level * _SHARE_OF_LEVEL
    p_value = rise_p_value(
        outcomes, counts_with, {"base": True, "head": False}, lambda o: o.missing is not None
    )
    result = MissingAnswers(base, head, p_value, own, "kept")
    if p_value <= own or (head.missing == head.answered and not base.missing):
        return replace(result, found="worse")
    rise = head.rate - base.rate
    return replace(result, found="undecided") if rise > contract.gate.margin else result


def missing_reasons(found: MissingAnswers | None) -> list[Reason]:
    """Return the reason of a contract whose answers go missing more often on head."""
    if found is None or found.found not in ("worse", "undecided"):
        return []
    chance = f"p {numbers.p_value(found.p_value, found.level)}" if found.level is not None else ""
    if found.found == "worse":
        return [Reason("missing_answers", f"{describe_missing(found)} ({chance}).", "fail")]
    text = f"{describe_missing(found)}, but this can be chance ({chance})."
    return [Reason("missing_answers", text, "inconclusive")]


def missing_warnings(found: MissingAnswers | None, reasons: Sequence[Reason]) -> tuple[str, ...]:
    """Return the sentence about missing answers that no reason gives, if head has more of them than
    base, or nothing was compared."""
    if found is None or any(reason.code == "missing_answers" for reason in reasons):
        return ()
    more = found.head.rate > found.base.rate if found.base else found.head.missing > 0
    return (f"{describe_missing(found)}.",) if more else ()


def describe_missing(found: MissingAnswers) -> str:
    """Say how many answers are missing on both arms, and how."""
    base = found.base
    before = f", and {base.missing:,} of {base.answered:,} on base" if base else ""
    ways = [f"{count:,} {way}" for way, count in found.head.ways.items()]
    return (
        f"{found.head.missing:,} of {numbers.count(found.head.answered, 'answer')} on head "
        f"{'is' if found.head.missing == 1 else 'are'} empty, cut off or refused "
        f"({', '.join(ways) or 'none'}){before}"
    )


_ARMS: tuple[Arm, ...] = ("base", "head")


def _tally(outcomes: Sequence[Outcome], arm: Arm) -> MissingTally:
    mine = [o for o in outcomes if o.sample.trial.arm == arm and o.sample.completion is not None]
    ways = [o.missing for o in mine if o.missing is not None]
    return MissingTally(len(mine), {way: ways.count(way) for way in sorted(set(ways))})
