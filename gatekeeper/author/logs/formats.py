"""Reads request logs: what was sent to a model, or the values that a prompt was filled with.

Four forms are told apart by their content, line by line:

- OpenAI-style requests: `{"messages": [...]}`, also inside `request`, `body` or `kwargs`
- exports of Langfuse: observations with an `input`
- OpenTelemetry's GenAI conventions: spans with `gen_ai.input.messages` or `gen_ai.prompt.0.content`
- values alone: `{"vars": {...}}`, `{"variables": {...}}` or `{"inputs": {...}}`
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gatekeeper.errors import UsageError

MOST_BYTES = 500_000_000
MOST_DEPTH = 20
_INSIDE = ("request", "body", "kwargs", "input", "data", "attributes")
_VALUES = ("vars", "variables", "inputs", "prompt_variables")
_SPAN_CONTENT = re.compile(r"^gen_ai\.prompt\.(\d+)\.(role|content)$")


@dataclass(frozen=True, slots=True)
class LoggedInput:
    """One logged request: its messages as (role, text) pairs, or the values of the prompt's
    variables; either may be empty."""

    messages: tuple[tuple[str, str], ...] = ()
    values: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class UnreadLine:
    """A line of a log that is no JSON, or that holds no request. A log that is one document counts
    as one line."""

    path: Path
    number: int


def read_log(path: Path) -> Iterator[LoggedInput | UnreadLine]:
    """Yield the requests of a log, and its lines without any. Raises UsageError if the file cannot
    be read."""
    for number, document in documents(path):
        found = False
        for request in _requests(document, 0):
            found = True
            yield request
        if not found:
            yield UnreadLine(path, number)


def documents(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield each document of a log, which is JSON Lines or one JSON document, with the number of
    its line; None for what is no JSON. Raises UsageError if the file cannot be read."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path} is larger than {MOST_BYTES // 1_000_000} MB; split the file")
        text = path.read_text("utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    whole = from_json(text)
    if whole is not None:
        yield 1, whole
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, from_json(line)


def from_json(text: str) -> Any:
    """Return the value of a text; None if it is no JSON."""
    try:
        return json.loads(text, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return None


def _finite(written: str) -> float:
    """Return a number; raise ValueError for `NaN`, `Infinity` and `1e999`, which are no JSON: a
    fixture file cannot hold them."""
    number = float(written)
    if not math.isfinite(number):
        raise ValueError(written)
    return number


def _requests(found: Any, depth: int) -> Iterator[LoggedInput]:
    """Yield the requests of a document, the outermost first that can be read."""
    if depth > MOST_DEPTH:
        return
    if isinstance(found, list):
        messages = _messages(found)
        if messages:
            yield LoggedInput(messages)
            return
        for item in found:
            yield from _requests(item, depth + 1)
    elif isinstance(found, Mapping):
        yield from _of_mapping(found, depth)


def _of_mapping(found: Mapping[str, Any], depth: int) -> Iterator[LoggedInput]:
    for name in _VALUES:
        if isinstance(found.get(name), Mapping) and found[name]:
            if _is_deep(found[name], depth):
                return
            yield LoggedInput(_messages(found.get("messages")), found[name])
            return
    messages = _messages(found.get("messages")) or _span_messages(found)
    if messages:
        yield LoggedInput(messages)
        return
    if isinstance(found.get("input"), str) and found["input"].strip():
        yield LoggedInput((("user", found["input"]),))
        return
    nested = [found[name] for name in _INSIDE if isinstance(found.get(name), list | Mapping)]
    inside = [one for item in nested for one in _requests(item, depth + 1)]
    if inside:
        yield from inside
    elif isinstance(found.get("input"), Mapping) and found["input"]:
        if _is_deep(found["input"], depth):
            return
        yield LoggedInput(values=found["input"])
    else:
        for value in found.values():
            if isinstance(value, list):
                yield from _requests(value, depth + 1)


def _is_deep(found: Any, depth: int) -> bool:
    """Return whether values are nested deeper than anything that is looked at."""
    if depth > MOST_DEPTH:
        return True
    inside = found.values() if isinstance(found, Mapping) else found
    return isinstance(found, Mapping | list) and any(_is_deep(one, depth + 1) for one in inside)


def _messages(found: Any) -> tuple[tuple[str, str], ...]:
    """Return the messages as pairs; nothing if these are no messages of text."""
    if isinstance(found, str):
        found = from_json(found)
    if not isinstance(found, list) or not found:
        return ()
    pairs = []
    for item in found:
        if not isinstance(item, Mapping) or not isinstance(item.get("role"), str):
            return ()
        text = text_of(item.get("content", item.get("parts")))
        if text is not None:
            pairs.append((item["role"], text))
    return tuple(pairs)


def text_of(content: Any) -> str | None:
    """Return the text of a message, which may come in parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    parts = [part.get("text", part.get("content")) for part in content if isinstance(part, Mapping)]
    texts = [part for part in parts if isinstance(part, str)]
    return "".join(texts) if texts else None


def _span_messages(found: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the messages of a span of OpenTelemetry, whose attributes are a mapping or a list of
    key and value."""
    attributes = attributes_of(found)
    messages = _messages(attributes.get("gen_ai.input.messages"))
    if messages:
        return messages
    parts: dict[int, dict[str, str]] = {}
    for key, value in attributes.items():
        named = _SPAN_CONTENT.match(key)
        if named and isinstance(value, str):
            parts.setdefault(int(named[1]), {})[named[2]] = value
    return tuple(
        (part.get("role", "user"), part["content"])
        for _, part in sorted(parts.items())
        if "content" in part
    )


def attributes_of(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the attributes of a span; the mapping itself if it is none."""
    written = found.get("attributes", found)
    if isinstance(written, Mapping):
        return written
    if not isinstance(written, Sequence) or isinstance(written, str):
        return {}
    return {
        item["key"]: _value(item.get("value"))
        for item in written
        if isinstance(item, Mapping) and isinstance(item.get("key"), str)
    }


def _value(found: Any) -> Any:
    return next(iter(found.values()), None) if isinstance(found, Mapping) else found
