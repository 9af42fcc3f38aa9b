"""Repairs of upper and lower case."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gatekeeper.checks.reading.field_path import parse_path
from gatekeeper.checks.reading.output import NotJson, parse_json


def lowercase(text: str) -> str:
    """Make the text lower case."""
    return text.lower()


def lowercase_fields(text: str, fields: Sequence[str]) -> str:
    """Make the named fields of a JSON document lower case: texts, and the texts in a list. `*` in a
    path stands for every part.

    A text that is not JSON stays as it is, and so does a document that names a key twice, because
    writing it again would lose a value.
    """
    document = parse_json(text)
    if isinstance(document, NotJson) or _has_duplicate_keys(text):
        return text
    lowered = document
    for field in fields:
        lowered = _lowered_at(lowered, parse_path(field.replace("[*]", '["*"]')).steps)
    return text if lowered == document else json.dumps(lowered, ensure_ascii=False)


def _lowered_at(value: Any, steps: Sequence[str | int]) -> Any:
    """Return the value with the part at the path in lower case; unchanged if it has no such
    part."""
    if not steps:
        if isinstance(value, list):
            return [part.lower() if isinstance(part, str) else part for part in value]
        return value.lower() if isinstance(value, str) else value
    step, *rest = steps
    if step == "*" and isinstance(value, list):
        return [_lowered_at(part, rest) for part in value]
    if step == "*" and isinstance(value, dict) and step not in value:
        return {name: _lowered_at(part, rest) for name, part in value.items()}
    if isinstance(step, str) and isinstance(value, dict) and step in value:
        return {**value, step: _lowered_at(value[step], rest)}
    if isinstance(step, int) and isinstance(value, list) and step < len(value):
        return [*value[:step], _lowered_at(value[step], rest), *value[step + 1 :]]
    return value


def _has_duplicate_keys(text: str) -> bool:
    found = False

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found
        made = dict(members)
        found = found or len(made) < len(members)
        return made

    json.loads(text, object_pairs_hook=pairs)
    return found
