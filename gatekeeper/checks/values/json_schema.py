"""The output is JSON and valid under a JSON Schema, given in place or as a file.

`$ref` reaches files of the repository and the published meta-schemas, never the network.
`format` is verified only with `formats: true`, as the standard says.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from gatekeeper.checks.check import (
    PASSED,
    Check,
    Files,
    Finding,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
    undetermined,
)
from gatekeeper.checks.output import on_json, shorten
from gatekeeper.checks.schema import compile_schema, load_schema

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
            return failed("nested too deeply to be validated")
        except OverflowError:
            return failed("holds a number too large to be validated")
        if not errors:
            return PASSED
        worst = best_match(errors)
        count = "many" if len(errors) == _LOOKED_AT else len(errors) - 1
        more = f" (and {count} more)" if len(errors) > 1 else ""
        return failed(f"{worst.json_path}: {shorten(worst.message, _SHOWN)}{more}")

    return on_json(inspect)


def _schema(given: str | Mapping[str, Any], files: Files) -> tuple[Any, str]:
    """Return the schema, and the path to which its references are relative."""
    if not isinstance(given, str):
        return given, files.written_in
    return load_schema(given, files), given


CHECK = Check(
    parameters(
        required=("schema",),
        schema={
            "type": ["string", "object"],
            "description": "A JSON Schema, or the path of one (.json or .yaml).",
        },
        formats={
            "type": "boolean",
            "default": False,
            "description": "True or false: whether `format` is verified too.",
        },
    ),
    _prepare,
    paths=("schema",),
)
