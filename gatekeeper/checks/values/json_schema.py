"""The output, or one field of it, is JSON and valid under a JSON Schema. Write the schema in the
check itself or in a file.

The message shows the most specific violation, the path of this violation in the JSON, and the
number of other violations.

- The path of a schema file is relative to the file that contains the check. A path with a leading
  `/` is relative to the repository root.
- `$schema` names the version of JSON Schema; the default is 2020-12. Gatekeeper supports the drafts
  4, 6, 7, 2019-09 and 2020-12.
- `$ref` can refer only to files of the repository and to the published meta-schemas, because
  gatekeeper fetches nothing from the network. If a `$ref` refers to an unknown schema, gatekeeper
  reports an error before it calls any model. Gatekeeper resolves a relative reference from the file
  that contains the reference, even if the `$id` of this file says otherwise.
- Each search for a pattern of the schema has a time limit of 250 ms. If a search takes longer than
  250 ms, the check is undetermined.
- A schema, together with the files to which it refers, may have at most 20,000 parts (mappings). If
  a schema has more than 20,000 parts, gatekeeper reports an error before it calls any model. The
  evaluation of one output may take at most 500,000 steps. Each keyword of the schema that
  gatekeeper applies counts as one step or more. Keywords that visit many names or items, and long
  error messages, count as additional steps. If an output needs more than 500,000 steps, the check
  is undetermined. Gatekeeper refuses a schema with both `patternProperties` and
  `unevaluatedProperties`, because gatekeeper cannot limit the time that these two keywords take
  together.
- By default, the check ignores the keyword `format`, as the JSON Schema standard provides. With
  `formats: true`, the check verifies formats. With `formats: true`, a format that gatekeeper cannot
  verify is an error.
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
            "description": (
                "A JSON Schema, or the path of a .json or .yaml file that contains a JSON Schema."
            ),
        },
        formats={
            "type": "boolean",
            "default": False,
            "description": (
                "True or false: whether the check also tests the `format` keywords of the schema."
            ),
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
