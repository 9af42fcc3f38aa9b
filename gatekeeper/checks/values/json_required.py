"""The output is JSON and has the required fields.

A field that is null counts as present, as in JSON Schema, unless `allow_null` is false.
"""

from __future__ import annotations

from typing import Any

from gatekeeper.checks.check import (
    PASSED,
    Check,
    Example,
    Files,
    Finding,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
)
from gatekeeper.checks.reading.field_path import Missing, find, parse_path
from gatekeeper.checks.reading.output import FIELD, on_json_part


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    paths = [parse_path(field) for field in params["fields"]]
    allow_null = params.get("allow_null", True)

    def inspect(value: Any) -> Finding:
        found = [(path.text, find(value, path)) for path in paths]
        missing = [text for text, part in found if isinstance(part, Missing)]
        null = [text for text, part in found if part is None and not allow_null]
        if not missing and not null:
            return PASSED
        return failed("; ".join(filter(None, (_said("missing", missing), _said("null", null)))))

    return on_json_part(params, inspect)


def _said(what: str, fields: list[str]) -> str:
    return f"{what}: {', '.join(f'`{field}`' for field in fields)}" if fields else ""


CHECK = Check(
    parameters(
        required=("fields",),
        fields={
            "x-looser": "subset",
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 1,
            "description": "A list of paths like `customer.name` or `items[0].id`.",
        },
        allow_null={
            "type": "boolean",
            "default": True,
            "description": "Whether a required field may be null.",
        },
        field=FIELD,
    ),
    _prepare,
    group="values",
    examples=(
        Example(
            "{type: json_required, fields: [category, customer.name]}",
            '{"category": "refund", "customer": {"name": "Ann"}}',
            '{"category": "refund", "customer": {}}',
        ),
        Example(
            "{type: json_required, fields: [priority], allow_null: false}",
            '{"priority": 1}',
            '{"priority": null}',
        ),
        Example(
            '{type: json_required, field: "$.items[*]", fields: [sku, price]}',
            '{"items": [{"sku": "A", "price": 3}]}',
            '{"items": [{"sku": "A", "price": 3}, {"sku": "B"}]}',
        ),
    ),
)
