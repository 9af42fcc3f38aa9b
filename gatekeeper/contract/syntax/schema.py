"""Decides whether data conforms to a schema of gatekeeper, without jsonschema, whose import alone
takes longer than a run that finds no prompt change, and which needs milliseconds for each contract.

Only a yes is final: if a schema uses a keyword that is not supported here, the answer is no, and
jsonschema decides. It also explains what does not conform.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from gatekeeper.contract.values.kept_results import kept_by_identity

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


Test = Callable[[Any], bool]
"""Returns whether a value is valid."""


def conforms(value: Any, schema: Schema) -> bool:
    """Return whether the value is valid under the schema, as far as its keywords are known here."""
    try:
        return _compiled(schema).is_valid(value)
    except _UnknownKeyword:
        return False


class _Root:
    """Makes tests of a schema and of its parts, which may refer to its definitions."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._definitions: dict[str, Test] = {}
        self.is_valid = self.test(schema)

    def test(self, schema: Schema | bool) -> Test:
        """Return the test of the schema or of one of its parts."""
        if isinstance(schema, bool):
            return lambda _: schema
        tests = [
            _rule(keyword)(wanted, schema, self)
            for keyword, wanted in schema.items()
            if keyword not in _ANNOTATIONS
        ]
        if len(tests) == 1:
            return tests[0]

        def valid(value: Any) -> bool:
            for test in tests:  # noqa: SIM110 - a generator takes twice as long
                if not test(value):
                    return False
            return True

        return valid

    def definition(self, name: str) -> Test:
        """Return the test of a definition, made once it is needed: it may refer to itself."""
        if name not in self._definitions:
            self._definitions[name] = self.test(self.schema["$defs"][name])
        return self._definitions[name]


@kept_by_identity
def _compiled(schema: Schema) -> _Root:
    return _Root(schema)


def _unknown(wanted: Any, *_: Any) -> Test:
    """Return a test that raises: the keyword matters only if a value gets as far as this."""

    def refuse(_: Any) -> bool:
        raise _UnknownKeyword(wanted)

    return refuse


def _type(wanted: Any, *_: Any) -> Test:
    kinds = [_KINDS[kind] for kind in ([wanted] if isinstance(wanted, str) else wanted)]
    return kinds[0] if len(kinds) == 1 else lambda value: any(kind(value) for kind in kinds)


def _reference(wanted: Any, _: Schema, root: _Root) -> Test:
    name = wanted.removeprefix("#/$defs/")
    if name not in root.schema.get("$defs", {}):
        return _unknown(wanted)
    return lambda value: root.definition(name)(value)


def _items(wanted: Any, _: Schema, root: _Root) -> Test:
    test = root.test(wanted)
    return lambda value: not isinstance(value, list) or all(map(test, value))


def _properties(wanted: Any, _: Schema, root: _Root) -> Test:
    tests = {name: root.test(known) for name, known in wanted.items()}

    def valid(value: Any) -> bool:
        if isinstance(value, dict):
            for name, test in tests.items():
                if name in value and not test(value[name]):
                    return False
        return True

    return valid


def _additional(wanted: Any, schema: Schema, root: _Root) -> Test:
    if "patternProperties" in schema:
        refuse = _unknown("patternProperties")
        return lambda value: not isinstance(value, dict) or refuse(value)
    known, test = schema.get("properties", {}).keys(), root.test(wanted)
    return lambda value: (
        not isinstance(value, dict) or all(test(value[name]) for name in value.keys() - known)
    )


def _condition(wanted: Any, schema: Schema, root: _Root) -> Test:
    condition = root.test(wanted)
    then, otherwise = (root.test(schema.get(branch, True)) for branch in ("then", "else"))
    return lambda value: then(value) if condition(value) else otherwise(value)


def _any_of(wanted: Any, _: Schema, root: _Root) -> Test:
    tests = [root.test(one) for one in wanted]
    return lambda value: any(test(value) for test in tests)


def _not(wanted: Any, _: Schema, root: _Root) -> Test:
    test = root.test(wanted)
    return lambda value: not test(value)


def _names(wanted: Any, _: Schema, root: _Root) -> Test:
    test = root.test(wanted)
    return lambda value: not isinstance(value, dict) or all(map(test, value))


def _same(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict | list):
        raise _UnknownKeyword("must be equal to a list or mapping")
    # In Python 1 == True, and in JSON not.
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def _enum(wanted: Any, *_: Any) -> Test:
    return lambda value: any(_same(value, one) for one in wanted)


def _const(wanted: Any, *_: Any) -> Test:
    return lambda value: _same(value, wanted)


def is_number(value: Any) -> bool:
    """Return whether JSON calls the value a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _compared(applies: Callable[[Any], bool], compare: Callable[[Any, Any], bool]) -> _Rule:
    """Return the rule of a keyword that compares values of one kind with a number or pattern."""
    return lambda wanted, *_: lambda value: not applies(value) or compare(value, wanted)


_ANNOTATIONS = frozenset(
    ("$schema", "$defs", "$id", "title", "description", "default", "examples", "then", "else")
) | frozenset(
    (
        "x-stricter",
        "x-added",
        "x-folder",
        "x-looser",
    )  # contract/policies/policy_keys.py, checks/check.py
)
_Rule = Callable[[Any, Schema, _Root], Test]


def _rule(keyword: str) -> _Rule:
    return _RULES.get(keyword, _unknown)


_is_mapping, _is_list, _is_text = (_KINDS[kind] for kind in ("object", "array", "string"))
_RULES: Mapping[str, _Rule] = {
    "type": _type,
    "$ref": _reference,
    "items": _items,
    "properties": _properties,
    "additionalProperties": _additional,
    "if": _condition,
    "anyOf": _any_of,
    "not": _not,
    "enum": _enum,
    "const": _const,
    "propertyNames": _names,
    "required": _compared(_is_mapping, lambda value, wanted: all(name in value for name in wanted)),
    "minProperties": _compared(_is_mapping, lambda value, wanted: len(value) >= wanted),
    "maxProperties": _compared(_is_mapping, lambda value, wanted: len(value) <= wanted),
    "maxItems": _compared(_is_list, lambda value, wanted: len(value) <= wanted),
    "minItems": _compared(_is_list, lambda value, wanted: len(value) >= wanted),
    "minLength": _compared(_is_text, lambda value, wanted: len(value) >= wanted),
    "pattern": _compared(_is_text, lambda value, wanted: re.search(wanted, value) is not None),
    "minimum": _compared(is_number, lambda value, wanted: bool(value >= wanted)),
    "maximum": _compared(is_number, lambda value, wanted: bool(value <= wanted)),
    "exclusiveMinimum": _compared(is_number, lambda value, wanted: bool(value > wanted)),
    "exclusiveMaximum": _compared(is_number, lambda value, wanted: bool(value < wanted)),
}

KNOWN_KEYWORDS = _ANNOTATIONS | _RULES.keys()
"""A schema with any other keyword is left to jsonschema."""


def whole(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the mapping with these numbers as integers: `5.0` is a whole number in JSON Schema."""
    return {
        name: int(value) if name in names and isinstance(value, float) else value
        for name, value in data.items()
    }
