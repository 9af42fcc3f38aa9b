"""Finds calls of tools, with what answered them, in logs and traces.

Read are messages of OpenAI (Chat Completions and Responses) and Anthropic, and spans of
OpenTelemetry's GenAI conventions: those of a tool, and the messages of those of a model. Of a
`samples.jsonl`, what a simulator answered is read, because rows of the contract answer the rest.
https://github.com/open-telemetry/semantic-conventions-genai
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gatekeeper.author.logs.formats import MOST_DEPTH, attributes_of, documents, from_json, text_of
from gatekeeper.sampling.completion_record import read_loop_row, read_tool_calls

_ID = ("id", "call_id", "tool_call_id", "tool_use_id")
_ARGUMENTS = ("arguments", "input")
_CALLS = ("tool_call", "tool_use", "function_call", "function")
_ANSWERS = ("tool_call_response", "tool_result", "function_call_output", "tool")
_RESULTS = ("response", "result", "output", "content")
_TOOL = "gen_ai.tool."


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of a tool, and what answered it."""

    tool: str
    arguments: Mapping[str, Any]
    returns: Any
    is_error: bool = False


@dataclass(slots=True)
class _Conversation:
    """The calls of one list of messages or of one trace."""

    asked: dict[Any, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    answered: list[RecordedCall] = field(default_factory=list)

    def answer(self, key: Any, returns: Any, is_error: bool) -> None:
        """Keep what answered the call. Its next answer would be a copy of this one."""
        if isinstance(key, str) and key in self.asked:
            tool, arguments = self.asked.pop(key)
            self.answered.append(RecordedCall(tool, arguments, _plain(returns), is_error))


def read_calls(paths: Sequence[Path], contract: str = "") -> Iterator[Sequence[RecordedCall]]:
    """Yield the answered calls of each conversation of the logs; without the samples of other
    contracts, if one is named. Raises UsageError."""
    found: dict[Any, _Conversation] = {}
    for path in paths:
        for number, document in documents(path):
            of = document.get("contract", contract) if isinstance(document, Mapping) else contract
            if not contract or of == contract:
                _look(document, (str(path), number), found, 0)
    yield from (one.answered for one in found.values() if one.answered)


def _look(value: Any, key: Any, found: dict[Any, _Conversation], depth: int) -> None:
    """Look at all that is in a value. `key` names the conversation that it is a part of."""
    if depth > MOST_DEPTH:
        return
    if isinstance(value, list):
        if any(isinstance(item, Mapping) and "role" in item for item in value):
            key = (key, len(found), "messages")
        for item in value:
            _look(item, key, found, depth + 1)
    elif isinstance(value, Mapping):
        trace = value.get("traceId") or value.get("trace_id")
        key = ("trace", trace) if isinstance(trace, str) else key
        _take(value, found.setdefault(key, _Conversation()))
        for item in value.values():
            inner = from_json(item) if isinstance(item, str) and item[:1] in "[{" else item
            _look(inner, key, found, depth + 1)


def _take(value: Mapping[str, Any], into: _Conversation) -> None:
    """Take a call, or what answers one, out of a mapping."""
    is_span = isinstance(value.get("attributes"), list)  # a mapping is looked at by itself
    _take_span(attributes_of(value) if is_span else value, into)
    with suppress(KeyError, TypeError, ValueError, RecursionError):
        _take_simulated(value, into)
    kind = value.get("type", value.get("role"))
    key = next((value[name] for name in _ID[::-1] if isinstance(value.get(name), str)), None)
    if kind in _CALLS and key is not None:
        inner = value.get("function")
        call = inner if isinstance(inner, Mapping) else value
        arguments = _arguments(next((call[name] for name in _ARGUMENTS if name in call), {}))
        if isinstance(call.get("name"), str) and arguments is not None:
            into.asked[key] = (call["name"], arguments)
    elif kind in _ANSWERS and key is not None:
        result = next((value[name] for name in _RESULTS if name in value), None)
        into.answer(key, result, value.get("is_error") is True)


def _take_span(attributes: Mapping[str, Any], into: _Conversation) -> None:
    name, result = attributes.get(f"{_TOOL}name"), attributes.get(f"{_TOOL}call.result")
    arguments = _arguments(attributes.get(f"{_TOOL}call.arguments", {}))
    if isinstance(name, str) and result is not None and arguments is not None:
        failed = "error.type" in attributes
        into.answered.append(RecordedCall(name, arguments, _plain(result), failed))


def _take_simulated(turn: Mapping[str, Any], into: _Conversation) -> None:
    calls, (results, _) = read_tool_calls(turn.get("tool_calls")), read_loop_row(turn)
    for call, result in zip(calls, results, strict=False):
        arguments = _arguments(call.arguments)
        if result.source == "simulated" and arguments is not None:
            answered = RecordedCall(call.name, arguments, result.text, result.is_error)
            into.answered.append(answered)


def _arguments(written: Any) -> Mapping[str, Any] | None:
    found = from_json(written or "{}") if isinstance(written, str) else written or {}
    return found if isinstance(found, Mapping) else None


def _plain(returns: Any) -> Any:
    """Return the text of an answer in parts; any other value as it is."""
    text = text_of(returns)
    return returns if text is None else text
