"""Limits how much text of a sample is stored. Pure.

A model, or a server that replaces it, can answer with megabytes, thousands of times. The checks
evaluate the whole answer. Memory and reports then keep its beginning, with the length and the
digest of the whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, zip_longest

from gatekeeper.contract.simulated_user.messages import sayings
from gatekeeper.contract.values.call import Conversation
from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.trial import (
    CheckResult,
    Completion,
    CutText,
    Outcome,
    Sample,
    Turn,
)

MOST_CHARACTERS = 100_000
"""The most characters of an answer that are stored, as the model gave it and after repairs."""
MOST_OF_MESSAGE = 2_000
"""Characters of what a check or a failed call says."""
MOST_OF_FINGERPRINT = 200
_OF_RESULT = 500
"""Characters of what a tool answered, where people read it."""
_AROUND_A_CALL = 50
"""What a tool call takes besides its texts, so that empty ones are not free."""


CUT = " characters are stored]"
"""How a text that was shortened ends."""


def shorten(text: str, most: int) -> str:
    """Return the text, or for one longer than `most` characters its beginning and a mark."""
    if len(text) <= most:
        return text
    # The dots come first: they are how half a secret is found. A character beyond ASCII would
    # double the memory that the text takes.
    return f"{text[:most]}... [cut: only the first {most:,}{CUT}"


def is_long(completion: Completion) -> bool:
    """Return whether the answer is too long to be kept as it is."""
    return max(_length(completion), _length_of_loop(completion)) > MOST_CHARACTERS


def stored_completion(completion: Completion) -> Completion:
    """Return the completion to keep: itself, unless a text of it is too long."""
    fingerprint, is_too_long = completion.fingerprint, is_long(completion)
    if fingerprint is not None and len(fingerprint) > MOST_OF_FINGERPRINT:
        completion = replace(completion, fingerprint=shorten(fingerprint, MOST_OF_FINGERPRINT))
    if completion.turns:
        # The conversation is over, so nothing goes back to the provider.
        turns = (
            replace(t, completion=replace(stored_completion(t.completion), opaque=None))
            for t in completion.turns
        )
        completion = replace(completion, turns=tuple(turns))
    if _length_of_loop(completion) > MOST_CHARACTERS:
        completion = replace(completion, turns=tuple(map(_stored_turn, completion.turns)))
    if completion.users:
        users = (
            replace(a, completion=a.completion and stored_completion(a.completion))
            for a in completion.users
        )
        completion = replace(completion, users=tuple(users))
    if not is_too_long or completion.cut is not None:
        return completion
    whole = completion.text + "".join(f"{c.name}{c.arguments}" for c in completion.tool_calls)
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    kept = shorten(completion.text, MOST_CHARACTERS)
    calls = tuple(_stored_calls(completion.tool_calls, MOST_CHARACTERS - len(kept)))
    return replace(completion, text=kept, tool_calls=calls, cut=CutText(len(whole), digest))


def _length(completion: Completion) -> int:
    return len(completion.text) + sum(map(_length_of_call, completion.tool_calls))


def _length_of_loop(completion: Completion) -> int:
    turns = completion.turns
    return sum(len(t.state or "") + sum(len(r.text) for r in t.results) for t in turns)


def _stored_turn(turn: Turn) -> Turn:
    results = (replace(r, text=shorten(r.text, MOST_OF_MESSAGE)) for r in turn.results)
    return replace(turn, results=tuple(results), state=None)


def _length_of_call(call: ToolCall) -> int:
    return len(call.name) + len(call.arguments) + len(call.id or "") + _AROUND_A_CALL


def _stored_calls(calls: Sequence[ToolCall], room: int) -> Iterator[ToolCall]:
    """Yield the calls that fit, and the beginning of the first that does not."""
    for call in calls:
        length = _length_of_call(call)
        if length > room:
            if room > _AROUND_A_CALL:
                name, call_id = shorten(call.name, room), call.id and call.id[:MOST_OF_FINGERPRINT]
                yield ToolCall(name, shorten(call.arguments, room), call_id)
            return
        room -= length
        yield call


def stored_outcome(outcome: Outcome) -> Outcome:
    """Return the outcome to keep: evaluated as a whole, and without texts that are too long."""
    sample = outcome.sample
    error = None if sample.error is None else shorten(sample.error, MOST_OF_MESSAGE)
    completion, output = sample.completion, sample.output
    if completion is not None:
        kept = stored_completion(completion)
        # Of an answer without repairs one text is kept and not two that are the same.
        repaired = output != completion.text
        output = shorten(output, MOST_CHARACTERS) if repaired else kept.text
        completion = kept
    return Outcome(
        replace(sample, completion=completion, output=output, error=error),
        tuple(map(_stored_check_result, outcome.check_results)),
        outcome.pass_score,
        outcome.passed_before_repairs,
        outcome.missing,
    )


def _stored_check_result(check_result: CheckResult) -> CheckResult:
    if len(check_result.message) <= MOST_OF_MESSAGE:
        return check_result
    return replace(check_result, message=shorten(check_result.message, MOST_OF_MESSAGE))


# Shows an answer as text for people: the output, and the tools that the model asks to use.


def answer_text(sample: Sample) -> str:
    """Return the output that the checks evaluate, and each tool call on a line of its own; of a
    tool loop every answer, with what the tools answered and the user's later messages. A report
    still has to escape it."""
    completion = sample.completion
    if completion is None or sample.trial.request.tools is None:
        calls = completion.tool_calls if completion else ()
        return "\n".join(filter(None, (sample.output, *map(call_text, calls))))
    *earlier, last = completion.turns
    call, lines = sample.trial.request.call, list[str]()
    users = iter(call.turns if isinstance(call, Conversation) else _said_by_user(completion))
    for turn in earlier:
        lines += _turn_lines(turn, turn.completion.text)
        if not turn.completion.tool_calls:  # the user goes on
            lines += [f"user: {text}" for text in islice(users, 1)]
    return "\n".join((*lines, *_turn_lines(last, sample.output)))


def _said_by_user(completion: Completion) -> Iterator[str]:
    return (said.message for said in sayings(completion.users))


def _turn_lines(turn: Turn, text: str) -> Iterator[str]:
    yield from filter(None, [text])
    for call, result in zip_longest(turn.completion.tool_calls, turn.results):
        yield call_text(call)
        if result is not None:
            unanswered = result.source == "none" and not result.text
            yield f"-> {'no row' if unanswered else shorten(result.text, _OF_RESULT)}"


def call_text(call: ToolCall) -> str:
    """Return a call as `tool call: get_weather({"city": "Paris"})`."""
    return f"tool call: {call.name}({call.arguments})"
