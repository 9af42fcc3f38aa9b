"""Counts the answers that are empty, cut off or refused, and tests whether head has more of them.

Such an answer passes every check that only forbids something. It counts as missing unless a check
of the contract asks for exactly this text: one that passes it, and would fail it with whatever
follows at its end. A refusal in words counts unless a check passes it, and would fail a text of the
same form with other words. Pure.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from gatekeeper import numbers
from gatekeeper.checks.judges.verdict import NO_CLAIMS
from gatekeeper.checks.safety.refusal import refusing_words
from gatekeeper.contract.reading.data_blocks import INVISIBLE
from gatekeeper.contract.reading.thoughts import is_only_thoughts
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import (
    REFUSED_REQUESTS,
    Arm,
    CheckResult,
    Completion,
    MissingAnswer,
    Outcome,
    Sample,
    ended_early,
)
from gatekeeper.gate.comparison.repairs import rise_p_value
from gatekeeper.gate.results.result import MissingAnswers, MissingTally, Reason
from gatekeeper.gate.samples.outcomes import ARMS

if TYPE_CHECKING:
    from gatekeeper.checks.evaluate import Evaluator

_REFUSED = frozenset({"content_filter", "refusal", *REFUSED_REQUESTS})
_SHARE_OF_LEVEL = 0.5
"""Of the level of the comparison. Six inputs whose answers went missing are then enough."""
_LONGER = ("x", "0", "\u2192")
"""What may follow an answer: a check can forbid all letters, and does not ask for none so."""
_LETTERS = ("x", "q")
"""What a refusal is written in, to find a check that does not see the words."""
_SAYS_NOTHING = ("P", "Z", "C", "M", "Sk")
_BLANK_PATTERN = "\u2800"
_LOST: Mapping[MissingAnswer | None, int] = MappingProxyType(
    {None: 0, "cut off": 1, "empty": 2, "refused": 2, "refused in words": 2}
)
"""How much of an answer is lost: of one that is cut off, something is left."""


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
    if last is not None:
        longer = [f"{sample.output}{end}" for end in _LONGER]
        return None if _asked_for(sample, checked, evaluator, longer) else last
    if _has_no_words(sample.output):
        return None  # it calls tools instead
    if not refusing_words(sample.output) or any(map(_is_judged_good, checked)):
        return None
    others = [_other_words(sample.output, letter) for letter in _LETTERS]
    return None if _asked_for(sample, checked, evaluator, others) else "refused in words"


def _is_judged_good(check: CheckResult) -> bool:
    """Return whether a judge saw the words and passes them. One that found no claim saw none."""
    said = [vote.verdict for vote in check.votes if vote.passed]
    return check.severity == "error" and check.passed is True and any(v != NO_CLAIMS for v in said)


def _asked_for(
    sample: Sample, checked: Sequence[CheckResult], evaluator: Evaluator, others: Sequence[str]
) -> bool:
    """Return whether a check passes the output, and passes none of the other texts."""
    found = [evaluator.evaluate(replace(sample, output=text)) for text in others]
    return any(
        now.severity == "error" and now.passed is True and all(c.passed is False for c in then)
        for now, *then in zip(checked, *found, strict=True)
    )


def _other_words(text: str, letter: str) -> str:
    """Return a text of the same length and form that says nothing."""
    return text.translate(
        {
            ord(c): "0" if c.isdigit() else letter.upper() if c.isupper() else letter
            for c in set(text)
            if c.isalnum()
        }
    )


def _missing(answer: Completion, text: str) -> MissingAnswer | None:
    if answer.finish_reason in _REFUSED:
        return "refused"
    if not answer.tool_calls and _has_no_words(text):
        return "empty"
    return "cut off" if ended_early(answer.finish_reason) else None


def _has_no_words(text: str) -> bool:
    return _says_nothing(text) or is_only_thoughts(text)


def _says_nothing(text: str) -> bool:
    """Return whether the text has no letter, no digit and no symbol."""
    return all(
        unicodedata.category(c).startswith(_SAYS_NOTHING) or c == _BLANK_PATTERN
        for c in INVISIBLE.sub("", text)
    )


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
    base, head = (_tally(outcomes, arm) for arm in ARMS)
    if level is None or not compares:
        return MissingAnswers(base if compares else None, head, None, None, "untested")
    own = level * _SHARE_OF_LEVEL
    kindest: Mapping[Arm, int] = {"base": _LOST["empty"], "head": 0}
    p_value = rise_p_value(outcomes, counts_with, kindest, lambda o: _LOST[o.missing])
    result = MissingAnswers(base, head, p_value, own, "kept")
    if p_value <= own or (head.provably_missing == head.answered and not base.missing):
        return replace(result, found="worse")
    return replace(result, found="undecided") if _rise(result) > contract.gate.margin else result


def _rise(found: MissingAnswers) -> float:
    """Return by how much more of head's answers are missing, or have no text."""
    head, base = found.head, found.base
    if base is None:
        return head.rate
    return max(head.rate - base.rate, head.lost_rate - base.lost_rate)


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
    return (f"{describe_missing(found)}.",) if _rise(found) > 0 else ()


def describe_missing(found: MissingAnswers) -> str:
    """Say how many answers are missing on both arms, and how."""
    base = found.base
    before = f", and {base.missing:,} of {base.answered:,} on base" if base else ""
    ways = {*found.head.ways, *(base.ways if base else ())}
    what = f"empty, cut off or refused ({_ways(found.head)})"
    if len(ways) == 1:
        what = ways.pop()
    elif base and base.missing:
        before += f" ({_ways(base)})"
    return (
        f"{found.head.missing:,} of {numbers.count(found.head.answered, 'answer')} on head "
        f"{'is' if found.head.missing == 1 else 'are'} {what}{before}"
    )


def _ways(tally: MissingTally) -> str:
    return ", ".join(f"{count:,} {way}" for way, count in tally.ways.items()) or "none"


def _tally(outcomes: Sequence[Outcome], arm: Arm) -> MissingTally:
    mine = [o for o in outcomes if o.sample.trial.arm == arm and o.sample.completion is not None]
    ways = [o.missing for o in mine if o.missing is not None]
    return MissingTally(len(mine), {way: ways.count(way) for way in sorted(set(ways))})
