"""The output is one of the given values.

Use it for classes, tags and yes-or-no answers (`one_of` elsewhere). The whole output or field must
be a value; for a text within it, use [contains](#contains).
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
from gatekeeper.checks.reading.alike import unseen_difference
from gatekeeper.checks.reading.output import (
    EXACT_UNICODE,
    FIELD,
    IGNORE_CASE,
    STRIP,
    as_text,
    normaliser,
    on_output,
    quote,
    shorten,
)
from gatekeeper.contract.reading.same_json import same_json

_SHOWN_VALUES = 200


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    values = params["values"]
    normalise = normaliser(params, strip=True)
    allowed = {normalise(value) for value in values}
    others = [value for value in values if not isinstance(value, str)]
    listed = shorten(", ".join(as_text(value) for value in values), _SHOWN_VALUES)

    def inspect(found: Any) -> Finding:
        if normalise(found) in allowed or any(same_json(found, value) for value in others):
            return PASSED
        unseen = "".join(unseen_difference(as_text(v), as_text(found)) for v in values)
        return failed(f"expected one of {listed}; got {quote(found)}{unseen}")

    return on_output(params, inspect)


CHECK = Check(
    parameters(
        required=("values",),
        values={
            "type": "array",
            "items": {"type": ["string", "number", "boolean"]},
            "minItems": 1,
            "description": "A list of the values that pass.",
        },
        ignore_case=IGNORE_CASE,
        strip=STRIP,
        exact_unicode=EXACT_UNICODE,
        field=FIELD,
    ),
    _prepare,
    group="text",
    examples=(
        Example(
            "{type: enum, values: [positive, negative, neutral]}", "positive", "rather positive"
        ),
        Example(
            "{type: enum, field: priority, values: [low, medium, high]}",
            '{"priority": "low"}',
            '{"priority": "urgent"}',
        ),
    ),
)
