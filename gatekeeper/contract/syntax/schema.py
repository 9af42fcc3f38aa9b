"""Decides whether data conforms to a schema of gatekeeper, without jsonschema, whose import alone
takes longer than a run that finds no prompt change, and which needs milliseconds for each contract.

Only a yes is final: if a schema uses a keyword that is not supported here, the answer is no, and
jsonschema decides. It also explains what does not conform.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Schema = Mapping[str, Any]

_KINDS: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: _is_number(value) and float(value).is_integer(),
    "number": lambda value: _is_number(value),
}


class _UnknownKeyword(Exception):
    """Neither yes nor no: the surrounding keywords may turn a no into a yes."""


def conforms(value: Any, schema: Schema) -> bool:
    """Return whether the value is valid under the schema, as far as its keywords are known here."""
    try:
        return _valid(value, schema, schema)
    except _UnknownKeyword:
        return False


def _valid(value: Any, schema: Schema | bool, root: Schema) -> bool:
    if isinstance(schema, bool):
        return schema
    for keyword, wanted in schema.items():
        if keyword in _ANNOTATIONS:
            continue
        rule = _RULES.get(keyword)
        if rule is None:
            raise _UnknownKeyword(keyword)
        if not rule(value, wanted, schema, root):
            return False
    return True


def _type(value: Any, wanted: Any, *_: Schema) -> bool:
    return any(_KINDS[kind](value) for kind in ([wanted] if isinstance(wanted, str) else wanted))


def _reference(value: Any, wanted: Any, _: Schema, root: Schema) -> bool:
    name = wanted.removeprefix("#/$defs/")
    if name not in root.get("$defs", {}):
        raise _UnknownKeyword(wanted)
    return _valid(value, root["$defs"][name], root)


def _items(value: Any, wanted: Any, _: Schema, root: Schema) -> bool:
    return not isinstance(value, list) or all(_valid(item, wanted, root) for item in value)


def _properties(value: Any, wanted: Any, _: Schema, root: Schema) -> bool:
    return not isinstance(value, dict) or all(
        _valid(value[name], known, root) for name, known in wanted.items() if name in value
    )


def _additional(value: Any, wanted: Any, schema: Schema, root: Schema) -> bool:
    if not isinstance(value, dict):
        return True
    if "patternProperties" in schema:
        raise _UnknownKeyword("patternProperties")
    extra = value.keys() - schema.get("properties", {}).keys()
    return all(_valid(value[name], wanted, root) for name in extra)


def _condition(value: Any, wanted: Any, schema: Schema, root: Schema) -> bool:
    branch = "then" if _valid(value, wanted, root) else "else"
    return _valid(value, schema.get(branch, True), root)


def _same(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict | list):
        raise _UnknownKeyword("a list or mapping to be equal to")
    # In Python 1 == True, and in JSON not.
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_ANNOTATIONS = frozenset(
    ("$schema", "$defs", "$id", "title", "description", "default", "examples", "then", "else")
)
_RULES: Mapping[str, Callable[[Any, Any, Schema, Schema], bool]] = {
    "type": _type,
    "$ref": _reference,
    "items": _items,
    "properties": _properties,
    "additionalProperties": _additional,
    "if": _condition,
    "anyOf": lambda value, wanted, _, root: any(_valid(value, one, root) for one in wanted),
    "not": lambda value, wanted, _, root: not _valid(value, wanted, root),
    "enum": lambda value, wanted, *_: any(_same(value, one) for one in wanted),
    "const": lambda value, wanted, *_: _same(value, wanted),
    "required": lambda value, wanted, *_: (
        not isinstance(value, dict) or all(name in value for name in wanted)
    ),
    "minProperties": lambda value, wanted, *_: not isinstance(value, dict) or len(value) >= wanted,
    "propertyNames": lambda value, wanted, _, root: (
        not isinstance(value, dict) or all(_valid(name, wanted, root) for name in value)
    ),
    "maxProperties": lambda value, wanted, *_: not isinstance(value, dict) or len(value) <= wanted,
    "maxItems": lambda value, wanted, *_: not isinstance(value, list) or len(value) <= wanted,
    "minItems": lambda value, wanted, *_: not isinstance(value, list) or len(value) >= wanted,
    "minLength": lambda value, wanted, *_: not isinstance(value, str) or len(value) >= wanted,
    "pattern": lambda value, wanted, *_: (
        not isinstance(value, str) or re.search(wanted, value) is not None
    ),
    "minimum": lambda value, wanted, *_: not _is_number(value) or value >= wanted,
    "maximum": lambda value, wanted, *_: not _is_number(value) or value <= wanted,
    "exclusiveMinimum": lambda value, wanted, *_: not _is_number(value) or value > wanted,
    "exclusiveMaximum": lambda value, wanted, *_: not _is_number(value) or value < wanted,
}

KNOWN_KEYWORDS = _ANNOTATIONS | _RULES.keys()
"""A schema with any other keyword is left to jsonschema."""


def whole(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the mapping with these numbers as integers: `5.0` is a whole number in JSON Schema."""
    return {
        name: int(value) if name in names and isinstance(value, float) else value
        for name, value in data.items()
    }
