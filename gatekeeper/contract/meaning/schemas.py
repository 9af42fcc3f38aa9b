"""The JSON Schemas of the contract and the policy, for the loader and for editors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gatekeeper.contract.meaning.check_keys import COMMON_SCHEMA
from gatekeeper.contract.values.definition import SHORT_FORMS, CheckShape


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
