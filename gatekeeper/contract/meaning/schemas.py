"""The JSON Schemas of the contract, of the keys that every check has, and of the policy, for the
loader and for editors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gatekeeper.contract.syntax.schema_errors import schema_problems
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.templates.plain import is_template
from gatekeeper.contract.values.definition import SHORT_FORMS, CheckShape
from gatekeeper.errors import Problem


@cache
def contract_schema() -> Mapping[str, Any]:
    """Return the contract's schema.

    The parameters of a check are left open, because each check has its own schema.
    """
    return _load("schema.v1.json")


@cache
def policy_schema() -> Mapping[str, Any]:
    return _load("policy.v1.json")


def published_schema(shapes: Mapping[str, CheckShape]) -> dict[str, Any]:
    """Return the contract's schema with every check type, complete, for editors."""
    schema = _load("schema.v1.json")
    schema["$defs"]["check"] = {
        "type": "object",
        "anyOf": [{"required": [name]} for name in ("type", *SHORT_FORMS)],
        "properties": {"type": {"enum": sorted(shapes)}},
        "allOf": [_check_schema(kind, shape) for kind, shape in sorted(shapes.items())],
    }
    return schema


def _check_schema(kind: str, shape: CheckShape) -> dict[str, Any]:
    properties = dict(shape.schema.get("properties", {}))
    if shape.composed:
        properties["checks"] = {**properties["checks"], "items": {"$ref": "#/$defs/check"}}
    own = {
        "additionalProperties": False,
        **shape.schema,
        "properties": {"type": True, **COMMON_SCHEMA, **properties},
    }
    named: dict[str, Any] = {"properties": {"type": {"const": kind}}, "required": ["type"]}
    if kind in SHORT_FORMS:
        named = {"properties": {"type": {"const": kind}}, "required": [kind]}
    return {"if": named, "then": own}


def _load(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(Path(__file__).with_name(name).read_text("utf-8"))
    return schema


LEAST_WEIGHT, MOST_WEIGHT = 0.01, 100
"""The limits of a weight. Rounding could hide the failure of a check with a smaller weight."""
_LONGEST_NAME = 200  # every evaluated sample repeats it
_LONGEST_CONDITION = 2_000

COMMON_SCHEMA: Mapping[str, Any] = {
    "name": {
        "type": "string",
        "pattern": r"\S",
        "maxLength": _LONGEST_NAME,
        "description": (
            "The check's name in reports. By default, gatekeeper makes it from the parameters."
        ),
    },
    "severity": {
        "enum": ["error", "warn"],
        "default": "error",
        "description": (
            "error if the check affects the verdict, warn if gatekeeper only reports the check."
        ),
    },
    "must_pass": {
        "type": "boolean",
        "default": False,
        "description": (
            "True: the gate also tests this check separately on each fixture. The gate fails if "
            "the check fails in every sample of a fixture on head but not on base, or fails "
            "significantly more often on head."
        ),
    },
    "not": {
        "type": "boolean",
        "default": False,
        "description": (
            "True: gatekeeper reverses the result of the check, so that a pass becomes a failure "
            "and a failure becomes a pass."
        ),
    },
    "when": {
        "type": ["string", "object"],
        "pattern": r"\S",
        "maxLength": _LONGEST_CONDITION,
        "minProperties": 1,
        "additionalProperties": False,
        "properties": {
            "category": {
                "type": ["string", "integer", "array"],
                "minItems": 1,
                "items": {"type": ["string", "integer"]},
                "description": "A category, or a list of categories.",
            }
        },
        "description": (
            "Which fixtures the check applies to: {category: NAME}, or an expression with the "
            "fixture's variables, such as language == 'de'."
        ),
    },
    "turn": {
        "type": "integer",
        "minimum": 1,
        "description": (
            "The number of the answer that the check evaluates in a conversation. The first "
            "answer has the number 1. By default, the check evaluates the last answer."
        ),
    },
    "weight": {
        "type": "number",
        "minimum": LEAST_WEIGHT,
        "maximum": MOST_WEIGHT,
        "default": 1,
        "description": "The weight of the check's score in the weighted mean of the scores.",
    },
}
COMMON_KEYS = ("type", *COMMON_SCHEMA)
_OF_A_PART = ("type", "name", "not", "weight")


def key_problems(
    document: Document, key: KeyPath, item: Mapping[str, Any], *, part: bool
) -> Iterator[Problem]:
    """Yield the mistakes in the common keys of the check at `key`. A `part` of another check has
    only some of them: the others are those of the whole check."""
    own = {name: item[name] for name in COMMON_SCHEMA if name in item}
    for name in own if part else ():
        if name not in _OF_A_PART:
            what = f"a check inside another check cannot have `{name}`"
            fix = f"write `{name}` in the outer check"
            yield document.problem((*key, name), what, fix, at_key=True)
    yield from schema_problems(document, {"properties": COMMON_SCHEMA}, own, key)
    if own.get("must_pass") is True and own.get("severity") == "warn":
        what = "`must_pass` has no effect, because a check with `severity: warn` never decides"
        fix = "write `severity: error`, or remove `must_pass`"
        yield document.problem((*key, "must_pass"), what, fix)
    if isinstance(when := own.get("when"), str) and is_template(when):
        what = "the expression contains `{{` or `{%`"
        fix = "write the expression without `{{`, `}}`, `{%` and `%}`"
        yield document.problem((*key, "when"), what, fix)


def named_categories(when: str | Mapping[str, Any] | None) -> frozenset[str]:
    """Return the categories that a condition names."""
    if not isinstance(when, Mapping):
        return frozenset()
    written = when["category"]
    return frozenset(map(str, written if isinstance(written, list) else [written]))
