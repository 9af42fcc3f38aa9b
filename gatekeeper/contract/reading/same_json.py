"""Compares values of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unicodedata import normalize


def same_json(left: Any, right: Any) -> bool:
    """Return whether two JSON values are equal: 1 is 1.0 and not true, and the order of keys does
    not matter. Texts are equal in both Unicode forms of characters with accents."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        if left.keys() != right.keys():
            left, right = _composed_keys(left), _composed_keys(right)
        return left.keys() == right.keys() and all(same_json(left[key], right[key]) for key in left)
    if isinstance(left, str) and isinstance(right, str):
        return left == right or normalize("NFC", left) == normalize("NFC", right)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same_json, left, right))
    return bool(left == right)


def _composed_keys(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return {normalize("NFC", name): part for name, part in value.items()}
