"""The output equals the given value.

Text is compared as text. With a number, boolean, list or mapping, the output is read as JSON: the
order of keys and spacing do not matter, `4` equals `4.0`, and `1` does not equal `true`.
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
    NotJson,
    as_text,
    normaliser,
    on_output,
    parse_json,
    quote,
)
from gatekeeper.contract.reading.same_json import same_json


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    wanted = params["value"]
    normalise = normaliser(params, strip=True)
    wanted_text = normalise(wanted)
    whole_output = "field" not in params

    def inspect(found: Any) -> Finding:
        if isinstance(wanted, str):
            same = normalise(found) == wanted_text
        else:
            same = _same_value(parse_json(found) if whole_output else found, wanted)
        return PASSED if same else failed(_message(wanted, found))

    return on_output(params, inspect)


def _same_value(found: Any, wanted: Any) -> bool:
    return not isinstance(found, NotJson) and same_json(found, wanted)


def _message(wanted: Any, found: Any) -> str:
    if isinstance(wanted, str) and isinstance(found, str) and _differ_in_case(wanted, found):
        return (
            f"expected {quote(wanted)}; got {quote(found)}, which differs only "
            "in upper and lower case"
        )
    unseen = unseen_difference(as_text(wanted), as_text(found))
    return f"expected {quote(wanted)}; got {quote(found)}{unseen}"


def _differ_in_case(wanted: str, found: str) -> bool:
    return wanted.strip().casefold() == found.strip().casefold() and wanted.strip() != found.strip()


CHECK = Check(
    parameters(
        required=("value",),
        value={
            "type": ["string", "number", "boolean", "object", "array"],
            "description": "The value that passes: a text, or any JSON value except null.",
        },
        ignore_case=IGNORE_CASE,
        strip=STRIP,
        exact_unicode=EXACT_UNICODE,
        field=FIELD,
    ),
    _prepare,
    group="values",
    examples=(
        Example(
            '{type: equals, value: "{{ expected }}"}', "refund", "complaint", expected="refund"
        ),
        Example(
            '{type: equals, field: order_id, value: "{{ expected.order_id }}"}',
            '{"order_id": "A-1", "note": "sent"}',
            '{"order_id": "A-2"}',
            expected={"order_id": "A-1"},
        ),
        Example(
            "{type: equals, value: {intent: refund, urgent: false}}",
            '{"urgent": false, "intent": "refund"}',
            '{"urgent": true, "intent": "refund"}',
        ),
    ),
)
