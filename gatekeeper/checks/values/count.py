"""The number of values that a JSONPath selects is in the given range.

`{type: count, path: "$.items[?@.status == 'open']", min: 1}` requires one open item, where a
`field` in another check requires that every selected item passes. A plain path selects one value or
none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gatekeeper import numbers
from gatekeeper.checks.check import (
    PASSED,
    Check,
    Example,
    Files,
    Finding,
    ParameterError,
    Parameters,
    SampleEvaluator,
    failed,
    parameters,
    require_range,
    undetermined,
)
from gatekeeper.checks.reading.field_path import Missing, find, is_query, parse_path
from gatekeeper.checks.reading.json_path import JsonPath, QueryError
from gatekeeper.checks.reading.output import on_json


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    path = params["path"]
    exactly = params.get("exactly")
    low, high = params.get("min", exactly), params.get("max", exactly)
    _require_sense(params, low, high)
    count = _counter(path)

    def inspect(value: Any) -> Finding:
        try:
            counted = count(value)
        except QueryError as error:
            return undetermined(str(error))
        for bound, number, is_met in (
            ("", exactly, counted == exactly),
            ("at least ", low, low is None or counted >= low),
            ("at most ", high, high is None or counted <= high),
        ):
            if number is not None and not is_met:
                wanted = numbers.count(number, "value")
                return failed(f"expected {bound}{wanted} at `{path}`; got {counted:,}")
        return PASSED

    return on_json(inspect)


def _counter(path: str) -> Callable[[Any], int]:
    if is_query(path):
        return JsonPath(path).count
    steps = parse_path(path)
    return lambda value: int(not isinstance(find(value, steps), Missing))


def _require_sense(params: Parameters, low: int | None, high: int | None) -> None:
    if low is None and high is None:
        raise ParameterError(
            "none of `min`, `max` and `exactly` is set", "set `min`, `max` or `exactly`"
        )
    if "exactly" in params and {"min", "max"} & params.keys():
        raise ParameterError(
            "`exactly` cannot be combined with `min` or `max`",
            "remove `exactly`, or remove `min` and `max`",
        )
    require_range(low, high)


_COUNT = {"type": "integer", "minimum": 0}

CHECK = Check(
    parameters(
        required=("path",),
        path={
            "type": "string",
            "minLength": 1,
            "description": "A JSONPath (RFC 9535) like `$.items[*]`, or a path like `items[0]`.",
        },
        min={
            "x-looser": "down",
            **_COUNT,
            "description": "The smallest number of selected values that passes.",
        },
        max={
            "x-looser": "up",
            **_COUNT,
            "description": "The largest number of selected values that passes.",
        },
        exactly={
            "x-looser": "change",
            **_COUNT,
            "description": "The only number of selected values that passes.",
        },
    ),
    _prepare,
    group="values",
    examples=(
        Example(
            '{type: count, path: "$.items[*]", min: 1, max: 3}',
            '{"items": [{"id": 1}, {"id": 2}]}',
            '{"items": []}',
        ),
        Example(
            """{type: count, path: "$.items[?@.price > 100]", exactly: 0}""",
            '{"items": [{"price": 20}]}',
            '{"items": [{"price": 20}, {"price": 120}]}',
        ),
    ),
)
