"""The output is JSON and valid under a JSON Schema, in the check or in a file.

The message has the most specific violation, its path, and the number of others.

- A path is relative to the file with the check; a leading `/` is the repository root.
- `$schema` names the draft: 4, 6, 7, 2019-09 or 2020-12 (default).
- `$ref` reaches files of the repository and the published meta-schemas, nothing else; it is
  resolved from its file, whatever `$id` says. An unknown reference is an error before any call.
- Searching a pattern may take 250 ms, and evaluating an output 500,000 steps (a step for each
  keyword applied, more for many names, items or long messages); else the check is undetermined.
- A schema with its files has at most 20,000 mappings, and not both `patternProperties` and
  `unevaluatedProperties`.
- `format` is ignored, as in the standard. `formats: true` verifies it; an unknown format is then an
  error.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
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
    undetermined,
)
from gatekeeper.checks.reading.output import FIELD, on_json_part, shorten
from gatekeeper.checks.schemas.schema import compile_schema, load_schema

_SHOWN = 200

# A long list can have an error in every item; one is shown.
_LOOKED_AT = 50


def _prepare(params: Parameters, files: Files) -> SampleEvaluator:
    schema, path = _schema(params["schema"], files)
    validator = compile_schema(schema, path, files, formats=params.get("formats", False))

    def inspect(value: Any) -> Finding:
        from jsonschema.exceptions import best_match

        try:
            errors = list(islice(validator.iter_errors(value), _LOOKED_AT))
        except TimeoutError as timeout:
            return undetermined(str(timeout))
        except RecursionError:
            return failed("the JSON is nested too deeply to be validated")
        except OverflowError:
            return failed("the JSON contains a number that is too large to be validated")
        if not errors:
            return PASSED
        worst = best_match(errors)
        others = len(errors) - 1
        count = "many" if len(errors) == _LOOKED_AT else str(others)
        more = f" (and {count} more {'error' if others == 1 else 'errors'})" if others else ""
        return failed(f"{worst.json_path}: {shorten(worst.message, _SHOWN)}{more}")

    return on_json_part(params, inspect)


def _schema(given: str | Mapping[str, Any], files: Files) -> tuple[Any, str]:
    """Return the schema, and the path to which its references are relative."""
    if not isinstance(given, str):
        return given, files.written_in
    return load_schema(given, files), given


_ORDER_SCHEMA = r"""
type: json_schema
schema:
  type: object
  required: [order_id]
  properties: {order_id: {type: string, pattern: '^A-\d+$'}}
  additionalProperties: false
""".strip()

CHECK = Check(
    parameters(
        required=("schema",),
        schema={
            "type": ["string", "object"],
            "description": "A JSON Schema, or the path of a .json or .yaml file with one.",
        },
        formats={
            "type": "boolean",
            "default": False,
            "description": "Whether `format` keywords are tested.",
        },
        field=FIELD,
    ),
    _prepare,
    paths=("schema",),
    group="values",
    examples=(
        Example(
            _ORDER_SCHEMA,
            '{"order_id": "A-17"}',
            '{"order_id": "17"}',
        ),
        Example(
            "{type: json_schema, schema: {properties: {date: {format: date}}}, formats: true}",
            '{"date": "2026-11-22"}',
            '{"date": "tomorrow"}',
        ),
        Example(
            "{type: json_schema, schema: /schemas/order.yaml}",
            "[1, 2]",
            "{}",
            files={"schemas/order.yaml": "type: array"},
        ),
        Example(
            '{type: json_schema, field: "$.items[*]", schema: {required: [sku]}}',
            '{"items": [{"sku": "A"}, {"sku": "B"}]}',
            '{"items": [{"sku": "A"}, {"name": "B"}]}',
        ),
    ),
)
