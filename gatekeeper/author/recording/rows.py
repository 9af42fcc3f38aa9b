"""Makes rows of `tool_results` from calls that were really answered.

A row is keyed on the call. Calls that are the same in one conversation are a sequence (`then`). If
conversations disagree on the answers, the longest sequence is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gatekeeper.author.logs.personal_data import TooMuchPersonalDataError, without_personal_data
from gatekeeper.author.recording.calls import RecordedCall
from gatekeeper.contract.meaning.digests import canonical
from gatekeeper.contract.tools.matching import MOST_RESULT
from gatekeeper.contract.values.tools import written_condition
from gatekeeper.contract.values.trial import ERROR
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.sampling.stored_text import CUT

_TEMPLATE = re.compile(r"\{[{%]")
_CHANGED_BY_TEMPLATES = re.compile(r"\{+[%#]?|\r|\n\Z")


@dataclass(frozen=True, slots=True)
class RecordedRows:
    """The rows, and what was made of the calls: `replaced` pieces of personal data and secrets,
    calls that are `left_out` because they are too long, and calls that were answered in `other`
    ways elsewhere. The rows `loosened` match any value of an argument that held personal data."""

    rows: tuple[dict[str, Any], ...]
    calls: int
    replaced: int
    left_out: int
    other: int
    loosened: int


def rows_of(conversations: Iterable[Sequence[RecordedCall]]) -> RecordedRows:
    """Return a row for each different call, those with the most arguments first, because the first
    row that matches answers."""
    found: dict[tuple[str, str], list[list[RecordedCall]]] = {}
    calls = left_out = other = replaced = loosened = 0
    for conversation in conversations:
        calls += len(conversation)
        sequences: dict[tuple[str, str], list[RecordedCall]] = {}
        for call in conversation:
            key = (call.tool, canonical(dict(call.arguments)))
            sequences.setdefault(key, []).append(call)
        for key, sequence in sequences.items():
            found.setdefault(key, []).append(sequence)
    rows: dict[str, dict[str, Any]] = {}
    for sequences_of_call in found.values():
        longest = max(sequences_of_call, key=len)
        other += sum(one != longest[: len(one)] for one in sequences_of_call)
        try:
            row, pieces, is_loose = _row(longest)
        except TooMuchPersonalDataError:
            row, pieces, is_loose = {}, 0, False
        is_cut = any(str(call.returns).endswith(CUT) for call in longest)
        if not row or is_cut or len(canonical(row)) > MOST_RESULT:
            left_out += 1
            continue
        replaced, loosened = replaced + pieces, loosened + is_loose
        rows.setdefault(canonical([row["tool"], row.get("when")]), row)
    ordered = sorted(rows.values(), key=lambda row: -len(row.get("when", ())))
    return RecordedRows(tuple(ordered), calls, replaced, left_out, other, loosened)


def _row(sequence: Sequence[RecordedCall]) -> tuple[dict[str, Any], int, bool]:
    """Return the row of calls that are the same, the number of pieces that were replaced in their
    answers, and whether an argument was left out."""
    secrets = environment_redactor()
    clean = [without_personal_data(_answer(call)) for call in sequence]
    answers = [secrets.value(answer) for answer, _ in clean]
    while len(answers) > 1 and answers[-1] == answers[-2]:
        answers.pop()  # the last answer repeats
    when = {
        name: value
        for name, value in sequence[0].arguments.items()
        if secrets.value(value) == value and not without_personal_data({name: value})[1]
    }
    row: dict[str, Any] = {"tool": sequence[0].tool}
    row |= {"when": written_condition(when)} if when else {}
    row |= answers[0] | ({"then": answers[1:]} if answers[1:] else {})
    return row, sum(count for _, count in clean), len(when) < len(sequence[0].arguments)


def _answer(call: RecordedCall) -> dict[str, Any]:
    if not call.is_error:
        return {"returns": as_written(call.returns)}
    text = call.returns if isinstance(call.returns, str) else canonical(call.returns)
    return {"error": as_written(text.removeprefix(ERROR))}


def as_written(value: Any) -> Any:
    """Return a value as a row has it, in which a text may be a template: what a tool answered is
    none, whatever it looks like."""
    if isinstance(value, str):
        is_template = _TEMPLATE.search(value) is not None
        escaped = _CHANGED_BY_TEMPLATES.sub(lambda found: f"{{{{ {found[0]!r} }}}}", value)
        return escaped if is_template else value
    if isinstance(value, list):
        return [as_written(item) for item in value]
    if isinstance(value, Mapping):
        return {key: as_written(item) for key, item in value.items()}
    return value
