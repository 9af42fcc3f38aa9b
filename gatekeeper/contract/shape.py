"""Does data conform to a schema of ours? The few keywords of the policy's schema, without the
import of jsonschema, which alone takes longer than answering a pull request that touches no
prompt. What does not conform is explained by jsonschema."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

_KINDS: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: _is_number(value) and value == int(value),
    "number": lambda value: _is_number(value),
}


def conforms(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether the value is valid under the schema, which may use the keywords seen here."""
    kinds = schema.get("type", ())
    if kinds and not any(
        _KINDS[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)
    ):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, str):
        return bool(len(value) >= schema.get("minLength", 0))
    if isinstance(value, list):
        return all(conforms(item, schema.get("items", {})) for item in value)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        return value.keys() <= known.keys() and all(
            conforms(item, known[name]) for name, item in value.items()
        )
    return not _is_number(value) or _in_range(value, schema)


def _in_range(value: float, schema: Mapping[str, Any]) -> bool:
    lowest, highest = schema.get("minimum", value), schema.get("maximum", value)
    above = "exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"]
    return bool(lowest <= value <= highest and above)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def whole(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The mapping with these numbers as integers: `5.0` is a whole number in JSON Schema."""
    return {
        name: int(value) if name in names and isinstance(value, float) else value
        for name, value in data.items()
    }
