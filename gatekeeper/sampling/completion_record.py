"""Converts the answers of models to JSON and back: the only place that knows their keys.

`completion_record` is the form of the files that only gatekeeper reads. `answer_row` is that of
`samples.jsonl`, which people read too: a field of an answer is one entry of `_AMOUNTS` or `_TEXTS`,
or of `answer_row` and `read_answer_row`. Pydantic would refuse half a surrogate pair, which models
write. Everything that reads raises TypeError, ValueError or KeyError for anything else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from typing import Any

from gatekeeper.contract.values.definition import ToolCall
from gatekeeper.contract.values.trial import (
    Completion,
    CutText,
    JudgeAnswer,
    KeptOutcome,
    QuestionId,
    ToolResult,
    Turn,
)

_LATER = ("ttft_ms", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
"""Amounts that answers kept by earlier versions do not have, and that most answers do not need."""

_AMOUNTS = {
    "latency_ms": float,
    "ttft_ms": float,
    "prompt_tokens": int,
    "completion_tokens": int,
    "reasoning_tokens": int,
    "cost_usd": float,
}
_TEXTS = ("fingerprint", "finish_reason")
_MOST = 1e15
"""Tokens, milliseconds or dollars; the sum of many such is still a number."""

_OF_THE_CALL = ("replayed", "cut", "kept", "pause", "tool_calls", "opaque", "turns", "users")
_KEPT = tuple(
    field.name for field in fields(Completion) if field.name not in (*_OF_THE_CALL, *_LATER)
)


def answer_row(completion: Completion | None) -> dict[str, Any]:
    """Return what a line of `samples.jsonl` says of an answer, or of a lost one."""
    cut = completion.cut if completion else None
    calls = tool_call_records(completion.tool_calls) if completion else []
    row: dict[str, Any] = {
        "output_raw": completion.text if completion else None,
        # Left out for the many answers that have none.
        **({"tool_calls": calls} if calls else {}),
        "output_length": cut.length if cut else None,
        "output_sha256": cut.sha256 if cut else None,
    }
    for name in (*_AMOUNTS, *_TEXTS):
        value = getattr(completion, name, None)
        if name != "reasoning_tokens" or value is not None:
            row[name] = value
    return row


def read_answer_row(row: Mapping[str, Any]) -> Completion | None:
    """Read what `answer_row` returned, as an answer that no model was called for."""
    if row["output_raw"] is None:
        return None
    amounts: dict[str, Any] = {
        name: None if (found := read_number(row, name)) is None else kind(found)
        for name, kind in _AMOUNTS.items()
    }
    cut = None
    if row.get("output_sha256") is not None or row.get("output_length") is not None:
        cut = CutText(int(read_number(row, "output_length") or 0), row.get("output_sha256") or "")
    texts = {name: read_field(row, name) for name in _TEXTS if row.get(name) is not None}
    return Completion(
        text=read_field(row, "output_raw"),
        **amounts,
        fingerprint=texts.get("fingerprint"),
        finish_reason=texts.get("finish_reason"),
        replayed=True,
        cut=cut,
        tool_calls=read_tool_calls(row.get("tool_calls", [])),
    )


def read_field(row: Mapping[str, Any], key: str) -> str:
    """Return the text of a key."""
    if not isinstance(row[key], str):
        raise TypeError(f"{key} is not text")
    return str(row[key])


def read_number(row: Mapping[str, Any], key: str) -> float | None:
    """Return the amount of a key; None if there is none."""
    value = row.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{key} is not a number")
    # Python reads NaN and 1e999; a negative cost would make room under the limit, and the sum of
    # a few of 1e308 has no value.
    if not 0 <= value <= _MOST:
        raise ValueError(f"{key} is not a number from 0 to {_MOST:g}")
    return float(value)


def completion_record(completion: Completion) -> dict[str, Any]:
    """Return the completion's fields by name, without those that say how it was obtained."""
    later = {name: getattr(completion, name) for name in _LATER}
    calls = tool_call_records(completion.tool_calls)
    return {
        **{name: getattr(completion, name) for name in _KEPT},
        **{name: value for name, value in later.items() if value is not None},
        **({"tool_calls": calls} if calls else {}),
        **({"opaque": completion.opaque} if completion.opaque else {}),
        **({"turns": list(map(_turn_record, completion.turns))} if completion.turns else {}),
        **({"users": list(map(_user_record, completion.users))} if completion.users else {}),
        **({"cut": asdict(completion.cut)} if completion.cut else {}),
        **({"kept": list(map(asdict, completion.kept))} if completion.kept else {}),
    }


def read_completion(record: object) -> Completion:
    """Read what `completion_record` returned."""
    record = _read_object(record)
    plain: dict[str, Any] = {name: record[name] for name in _KEPT}
    plain |= {name: record.get(name) for name in _LATER}
    found = Completion(
        **plain,
        tool_calls=read_tool_calls(record.get("tool_calls", [])),
        opaque=_read_opaque(record),
        turns=tuple(map(_read_turn, record.get("turns", ()))),
        users=tuple(map(_read_user, record.get("users", ()))),
        cut=CutText(**record["cut"]) if record.get("cut") else None,
        kept=_read_outcomes(record["kept"]) if record.get("kept") else (),
    )
    read_text(found.text)
    for name in _TEXTS:
        if record.get(name) is not None:
            read_field(record, name)
    for name in (*_AMOUNTS, *_LATER):
        read_number(record, name)
    return found


def _read_opaque(record: Mapping[str, Any]) -> str | None:
    if record.get("opaque") is None:
        return None
    found = _read_object(json.loads(read_field(record, "opaque")))
    for part in (found["message"], *found["calls"]):
        _read_object(part)
    return read_field(record, "opaque")


def _read_outcomes(records: object) -> tuple[KeptOutcome, ...]:
    from pydantic import TypeAdapter

    return TypeAdapter(tuple[KeptOutcome, ...]).validate_python(records)


def _turn_record(turn: Turn) -> dict[str, Any]:
    answer = completion_record(turn.completion)
    return {"request": turn.request, "answer": answer, **loop_row(turn)}


def loop_row(turn: Turn) -> dict[str, Any]:
    """Return what the tools answered in a turn, and the state after it; nothing without either."""
    results = [_without_defaults(asdict(result)) for result in turn.results]
    return {name: value for name, value in (("results", results), ("state", turn.state)) if value}


def _without_defaults(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if value or key == "text"}


def read_loop_row(row: Mapping[str, Any]) -> tuple[tuple[ToolResult, ...], str | None]:
    """Read what `loop_row` returned."""
    state = None if row.get("state") is None else read_field(row, "state")
    if state is not None:
        json.loads(state)
    return tuple(map(_read_result, row.get("results", ()))), state


def _read_result(record: Mapping[str, Any]) -> ToolResult:
    source, is_error = record["source"], record.get("is_error", False)
    if source not in ("row", "simulated", "none") or not isinstance(is_error, bool):
        raise TypeError("not the result of a tool")
    return ToolResult(
        read_field(record, "text"), is_error, source, read_number(record, "delay_ms") or 0.0
    )


def _read_turn(record: Mapping[str, Any]) -> Turn:
    if _read_object(record["answer"]).get("turns"):
        raise TypeError("a turn with turns")
    return Turn(
        read_text(record["request"]), read_completion(record["answer"]), *read_loop_row(record)
    )


def _user_record(answer: JudgeAnswer) -> dict[str, Any]:
    known = answer.completion
    return {"asked": [*answer.asked], "answer": completion_record(known) if known else None}


def _read_user(record: Mapping[str, Any]) -> JudgeAnswer:
    model, asked, repetition = record["asked"]
    if isinstance(repetition, bool) or not isinstance(repetition, int):
        raise TypeError("not a repetition")
    answer = _read_object(record["answer"])
    if answer.get("turns") or answer.get("users"):
        raise TypeError("the answer of a simulated user has turns")
    question = QuestionId(read_text(model), read_text(asked), repetition)
    return JudgeAnswer(question, read_completion(answer))


def _read_object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("not an object")
    return value


def tool_call_records(calls: Iterable[ToolCall]) -> list[dict[str, str | None]]:
    """Return tool calls as JSON."""
    return [{"name": call.name, "arguments": call.arguments, "id": call.id} for call in calls]


def read_tool_calls(records: object) -> tuple[ToolCall, ...]:
    """Read what `tool_call_records` returned."""
    if not isinstance(records, list) or not all(isinstance(row, Mapping) for row in records):
        raise TypeError("the value is not a list of tool calls")
    return tuple(
        ToolCall(
            read_field(row, "name"),
            read_field(row, "arguments"),
            None if row.get("id") is None else read_field(row, "id"),
        )
        for row in records
    )


def read_text(value: object) -> str:
    """Return a text."""
    if not isinstance(value, str):
        raise TypeError("not text")
    return value
