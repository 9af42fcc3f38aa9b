"""The JSON Schemas of the contract and the policy, for the loader and for editors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gatekeeper.contract.meaning.check_keys import LEAST_WEIGHT, MOST_WEIGHT
from gatekeeper.contract.values.definition import SHORT_FORMS, CheckShape

_COMMON: Mapping[str, Any] = {
    "name": {
        "type": "string",
        "minLength": 1,
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
        "description": (
            "Which fixtures the check applies to: {category: NAME}, or an expression with the "
            "fixture's variables, such as language == 'de'."
        ),
        "oneOf": [
            {"type": "string", "minLength": 1},
            {
                "type": "object",
                "required": ["category"],
                "additionalProperties": False,
                "properties": {
                    "category": {
                        "type": ["string", "integer", "array"],
                        "minItems": 1,
                        "items": {"type": ["string", "integer"]},
                        "description": "A category, or a list of categories.",
                    }
                },
            },
        ],
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
        "properties": {"type": True, **_COMMON, **properties},
    }
    named: dict[str, Any] = {"properties": {"type": {"const": kind}}, "required": ["type"]}
    if kind in SHORT_FORMS:
        named = {"properties": {"type": {"const": kind}}, "required": [kind]}
    return {"if": named, "then": own}


def _load(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(Path(__file__).with_name(name).read_text("utf-8"))
    return schema
