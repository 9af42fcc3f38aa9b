"""Finds the texts in a value as JSON and YAML can write it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def nested_texts(value: Any) -> Iterator[str]:
    """Yield every text in a value, in order. The keys of mappings are not among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from nested_texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from nested_texts(item)
