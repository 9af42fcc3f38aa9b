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
    "integer": lambda value: is_number(value) and (isinstance(value, int) or value.is_integer()),
    "number": lambda value: is_number(value),
}


class _UnknownKeyword(Exception):
    """Neither yes nor no: the surrounding keywords may turn a no into a yes."""


def conforms(value: Any, schema: Schema) -> bool:
    """Return whether the value is valid under the schema, as far as its keywords are known here."""
    try:
        return _is_valid(value, schema, schema)
    except _UnknownKeyword:
        return False


def is_number(value: Any) -> bool:
    """Return whether JSON calls the value a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_valid(value: Any, schema: Schema | bool, root: Schema) -> bool:
    """Return whether a part of the `root` schema lets the value pass."""
    if isinstance(schema, bool):
        return schema
    for keyword, wanted in schema.items():
        if keyword in _ANNOTATIONS:
            continue
        if keyword not in _RULES:
            raise _UnknownKeyword(keyword)
        if not _RULES[keyword](value, wanted, schema, root):
            return False
    return True


def _reference(value: Any, wanted: Any, _: Schema, root: Schema) -> bool:
    name = wanted.removeprefix("#/$defs/")
    if name not in root.get("$defs", {}):
        raise _UnknownKeyword(wanted)
    return _is_valid(value, root["$defs"][name], root)


def _additional(value: Any, wanted: Any, schema: Schema, root: Schema) -> bool:
    if not isinstance(value, dict):
        return True
    if "patternProperties" in schema:
        raise _UnknownKeyword("patternProperties")
    others = value.keys() - schema.get("properties", {}).keys()
    return all(_is_valid(value[name], wanted, root) for name in others)


def _condition(value: Any, wanted: Any, schema: Schema, root: Schema) -> bool:
    branch = "then" if _is_valid(value, wanted, root) else "else"
    return _is_valid(value, schema.get(branch, True), root)


def _same(value: Any, wanted: Any, *_: Any) -> bool:
    if isinstance(wanted, dict | list):
        raise _UnknownKeyword("must be equal to a list or mapping")
    # In Python 1 == True, and in JSON not.
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def _compared(kind: str, compare: Callable[[Any, Any], bool]) -> _Rule:
    """Return the rule of a keyword that compares values of one kind with a number or pattern."""
    applies = _KINDS[kind]
    return lambda value, wanted, *_: not applies(value) or compare(value, wanted)


_Rule = Callable[[Any, Any, Schema, Schema], bool]
_ANNOTATIONS = frozenset(
    (
        *("$schema", "$defs", "$id", "title", "description", "default", "examples"),
        *("then", "else"),
        *("x-stricter", "x-added", "x-folder"),  # contract/policies/policy_keys.py
        "x-looser",  # checks/check.py
    )
)
_RULES: Mapping[str, _Rule] = {
    "type": lambda value, wanted, *_: any(
        _KINDS[kind](value) for kind in ([wanted] if isinstance(wanted, str) else wanted)
    ),
    "$ref": _reference,
    "items": lambda value, wanted, _, root: (
        not isinstance(value, list) or all(_is_valid(item, wanted, root) for item in value)
    ),
    "properties": lambda value, wanted, _, root: (
        not isinstance(value, dict)
        or all(_is_valid(value[n], part, root) for n, part in wanted.items() if n in value)
    ),
    "additionalProperties": _additional,
    "if": _condition,
    "anyOf": lambda value, wanted, _, root: any(_is_valid(value, one, root) for one in wanted),
    "not": lambda value, wanted, _, root: not _is_valid(value, wanted, root),
    "enum": lambda value, wanted, *_: any(_same(value, one) for one in wanted),
    "const": _same,
    "propertyNames": lambda value, wanted, _, root: (
        not isinstance(value, dict) or all(_is_valid(name, wanted, root) for name in value)
    ),
    "required": _compared("object", lambda value, wanted: all(name in value for name in wanted)),
    "minProperties": _compared("object", lambda value, wanted: len(value) >= wanted),
    "maxProperties": _compared("object", lambda value, wanted: len(value) <= wanted),
    "maxItems": _compared("array", lambda value, wanted: len(value) <= wanted),
    "minItems": _compared("array", lambda value, wanted: len(value) >= wanted),
    "minLength": _compared("string", lambda value, wanted: len(value) >= wanted),
    "maxLength": _compared("string", lambda value, wanted: len(value) <= wanted),
    "pattern": _compared("string", lambda value, wanted: re.search(wanted, value) is not None),
    "minimum": _compared("number", lambda value, wanted: bool(value >= wanted)),
    "maximum": _compared("number", lambda value, wanted: bool(value <= wanted)),
    "exclusiveMinimum": _compared("number", lambda value, wanted: bool(value > wanted)),
    "exclusiveMaximum": _compared("number", lambda value, wanted: bool(value < wanted)),
}

KNOWN_KEYWORDS = _ANNOTATIONS | _RULES.keys()
"""A schema with any other keyword is left to jsonschema."""


def whole(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the mapping with these numbers as integers: `5.0` is a whole number in JSON Schema."""
    return {
        name: int(value) if name in names and isinstance(value, float) else value
        for name, value in data.items()
    }
