"""Limits what a small model can answer to a schema.

The embedded model follows the grammar of a schema, but seldom ends a text or a list by itself: it
goes on until the limit of tokens cuts its answer off, which is then no JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LONGEST_TEXT = 100
MOST_ITEMS = 3
MOST_TOKENS = 2048
"""Enough for the answer of each stage within these limits."""


def needs_bounds(model: str) -> bool:
    """Return whether the model seldom ends an answer by itself."""
    return model.startswith("local/")


def bounded(schema: Mapping[str, Any], lines: Sequence[int] = ()) -> dict[str, Any]:
    """Return the schema with a limit for each text and each list that has none.

    Args:
        schema: A JSON Schema, with a `type` in each schema inside it.
        lines: What the integers of a property `lines` have to be; nothing leaves them free.
    """
    kind = schema["type"]
    if kind == "string" and "enum" not in schema:
        return {"minLength": 1, "maxLength": LONGEST_TEXT, **schema}
    if kind == "array":
        return {"maxItems": MOST_ITEMS, **schema, "items": bounded(schema["items"], lines)}
    if kind == "object":
        properties = {
            name: _existing(lines) if lines and _are_lines(name, one) else bounded(one, lines)
            for name, one in schema["properties"].items()
        }
        return {**schema, "properties": properties}
    return dict(schema)


def _are_lines(name: str, schema: Mapping[str, Any]) -> bool:
    """Return whether a property holds lines. A variable of the prompt can have the same name."""
    return name == "lines" and schema.get("items") == {"type": "integer"}


def _existing(lines: Sequence[int]) -> dict[str, Any]:
    """Return the schema of a list of lines that exist."""
    items = {"type": "integer", "enum": list(lines)}
    return {"type": "array", "minItems": 1, "maxItems": MOST_ITEMS, "items": items}
