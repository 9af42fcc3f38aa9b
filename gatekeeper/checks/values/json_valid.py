"""The whole output is one JSON value by the strict rules of RFC 8259.

Text around it, `NaN`, a trailing comma, a number too large for a 64-bit float, or more than 200
levels fail; the message gives the position. With `field`, a part that is text must itself be such a
value; any other part passes.
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
from gatekeeper.checks.reading.output import FIELD, NotJson, on_json, on_output, parse_json


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    return on_output(params, _inspect_part) if "field" in params else on_json(lambda _value: PASSED)


def _inspect_part(part: Any) -> Finding:
    value = parse_json(part) if isinstance(part, str) else None
    return failed(value.message) if isinstance(value, NotJson) else PASSED


CHECK = Check(
    parameters(field=FIELD),
    _prepare,
    group="values",
    examples=(
        Example("{type: json_valid}", '{"intent": "refund"}', '{"intent": "refund",}'),
        Example(
            "{type: json_valid, field: query}", r'{"query": "{\"id\": 4}"}', '{"query": "id: 4"}'
        ),
    ),
)
