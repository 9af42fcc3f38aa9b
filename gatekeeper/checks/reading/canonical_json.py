"""Writes JSON values so that equal values have the same text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def canonical_json(value: Any) -> str:
    """Return JSON that is the same for values that are equal: 1 and 1.0, keys in any order."""
    if type(value) is int:
        return repr(value)  # lists of numbers can be long
    return _SORTED.encode(_with_plain_numbers(value))


_SORTED = json.JSONEncoder(sort_keys=True)

# Most parts of an answer are of these types; a call for each of them takes ten times as long.
_PLAIN = frozenset({str, int, bool, type(None)})


def _with_plain_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {
            name: part if type(part) in _PLAIN else _with_plain_numbers(part)
            for name, part in value.items()
        }
    if isinstance(value, list | tuple):
        return [item if type(item) in _PLAIN else _with_plain_numbers(item) for item in value]
    return value
