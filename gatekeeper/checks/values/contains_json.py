"""The output contains a JSON object, alone or within other text; with `schema`, one that is valid
under it.

The check looks for an object at each `{` from left to right; a list does not count. If there are
several objects, one must be valid. The limits are those of [json_schema](#json_schema). With more
than 1,000 opening braces, the check is undetermined. If the whole output must be JSON, use
[json_valid](#json_valid).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NoReturn

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
from gatekeeper.checks.reading.output import FIELD, as_text, on_output, quote, shorten
from gatekeeper.checks.schemas.schema import compile_schema, load_schema

_LONGEST = 100_000
_MOST_BRACES = 1_000
_SHOWN = 200


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


_DECODER = json.JSONDecoder(parse_constant=_refuse)


def _prepare(params: Parameters, files: Files) -> SampleEvaluator:
    schema = params.get("schema")
    path = files.written_in
    if isinstance(schema, str):
        schema, path = load_schema(schema, files), schema
    validator = (
        compile_schema(schema, path, files, formats=params.get("formats", False))
        if schema is not None
        else None
    )

    def inspect(found: Any) -> Finding:
        text = as_text(found)
        if len(text) > _LONGEST or text.count("{") > _MOST_BRACES:
            return undetermined("the output has too many characters or braces to look for JSON")
        fault = "does not contain a JSON object"
        for value in _objects(text):
            try:
                error = next(validator.iter_errors(value), None) if validator else None
            except TimeoutError as timeout:
                return undetermined(str(timeout))
            except (RecursionError, OverflowError):
                fault = "contains a JSON object that gatekeeper cannot validate"
                continue
            if error is None:
                return PASSED
            message = shorten(error.message, _SHOWN)
            fault = f"the JSON object does not fit the schema: {error.json_path}: {message}"
        return failed(f"{fault}; got {quote(text)}")

    return on_output(params, inspect)


def _objects(text: str) -> Iterator[Any]:
    """Yield the JSON objects of a text that do not stand in another one."""
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield value
        at = text.find("{", end)


CHECK = Check(
    parameters(
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
            "{type: contains_json, schema: {required: [intent]}}",
            'Here it is: {"intent": "refund"}',
            'Here it is: {"topic": "refund"}',
        ),
        Example("{type: contains_json}", 'It is {"a": 1}.', "It is {a}."),
    ),
)
