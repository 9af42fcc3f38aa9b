"""Converts a completion to JSON and back, to keep it between runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from gatekeeper.contract.values.trial import (
    Completion,
    CutText,
    JudgeAnswer,
    KeptOutcome,
    QuestionId,
    ToolCall,
    Turn,
)

_LATER = ("ttft_ms", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
"""Fields that answers kept by earlier versions do not have, and that most answers do not need."""

_MOST = 1e15
"""Tokens, milliseconds or dollars; the sum of many such is still a number."""

_OF_THE_CALL = ("replayed", "cut", "kept", "pause", "tool_calls", "turns", "users")
_KEPT = tuple(
    field.name for field in fields(Completion) if field.name not in (*_OF_THE_CALL, *_LATER)
)


def completion_record(completion: Completion) -> dict[str, Any]:
    """Return the completion's fields by name, without those that say how it was obtained."""
    kept = {name: getattr(completion, name) for name in _KEPT}
    later = {name: getattr(completion, name) for name in _LATER}
    calls = tool_call_records(completion.tool_calls)
    return {
        **kept,
        **{name: value for name, value in later.items() if value is not None},
        **({"tool_calls": calls} if calls else {}),
        **({"turns": list(map(_turn_record, completion.turns))} if completion.turns else {}),
        **({"users": list(map(_user_record, completion.users))} if completion.users else {}),
        **({"cut": asdict(completion.cut)} if completion.cut else {}),
        **({"kept": list(map(asdict, completion.kept))} if completion.kept else {}),
    }


def read_completion(record: Mapping[str, Any]) -> Completion:
    """Read what `completion_record` returned. Raises TypeError or KeyError for anything else."""
    kept = {name: record[name] for name in _KEPT}
    later: dict[str, Any] = {name: record.get(name) for name in _LATER}
    calls = read_tool_calls(record.get("tool_calls", []))
    turns = tuple(map(_read_turn, record.get("turns", ())))
    users = tuple(map(_read_user, record.get("users", ())))
    cut = CutText(**record["cut"]) if record.get("cut") else None
    outcomes = _read_outcomes(record["kept"]) if record.get("kept") else ()
    found = Completion(
        **kept, **later, tool_calls=calls, turns=turns, users=users, cut=cut, kept=outcomes
    )
    read_text(found.text)
    for text in (found.fingerprint, found.finish_reason):
        if text is not None:
            read_text(text)
    amounts = found.latency_ms, found.prompt_tokens, found.completion_tokens, found.cost_usd
    for amount in (*amounts, *later.values()):
        if amount is not None and (isinstance(amount, bool) or not 0 <= amount <= _MOST):
            raise TypeError("not an amount")
    return found


def _read_outcomes(records: object) -> tuple[KeptOutcome, ...]:
    from pydantic import TypeAdapter

    return TypeAdapter(tuple[KeptOutcome, ...]).validate_python(records)


def _turn_record(turn: Turn) -> dict[str, Any]:
    return {"request": turn.request, "answer": completion_record(turn.completion)}


def _read_turn(record: Mapping[str, Any]) -> Turn:
    if record["answer"].get("turns"):
        raise TypeError("a turn with turns")
    return Turn(read_text(record["request"]), read_completion(record["answer"]))


def _user_record(answer: JudgeAnswer) -> dict[str, Any]:
    known = answer.completion
    return {"asked": [*answer.asked], "answer": completion_record(known) if known else None}


def _read_user(record: Mapping[str, Any]) -> JudgeAnswer:
    model, asked, repetition = record["asked"]
    if isinstance(repetition, bool) or not isinstance(repetition, int):
        raise TypeError("not a repetition")
    if record["answer"].get("turns") or record["answer"].get("users"):
        raise TypeError("the answer of a simulated user has turns")
    question = QuestionId(read_text(model), read_text(asked), repetition)
    return JudgeAnswer(question, read_completion(record["answer"]))


def tool_call_records(calls: Iterable[ToolCall]) -> list[dict[str, str | None]]:
    """Return tool calls as JSON."""
    return [{"name": call.name, "arguments": call.arguments, "id": call.id} for call in calls]


def read_tool_calls(records: object) -> tuple[ToolCall, ...]:
    """Read what `tool_call_records` returned. Raises TypeError or KeyError for anything else."""
    if not isinstance(records, list) or not all(isinstance(row, Mapping) for row in records):
        raise TypeError("the value is not a list of tool calls")
    return tuple(
        ToolCall(
            read_text(row["name"]),
            read_text(row["arguments"]),
            None if row.get("id") is None else read_text(row["id"]),
        )
        for row in records
    )


def read_text(value: object) -> str:
    """Return a text. Raises TypeError for any other value."""
    if not isinstance(value, str):
        raise TypeError("not text")
    return value
