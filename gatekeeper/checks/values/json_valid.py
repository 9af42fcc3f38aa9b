"""The whole output is one JSON value by the strict rules of RFC 8259.

There is no text around it, no `NaN`, no trailing comma, no number that is too large for a double,
and there are no more than 200 levels. The message gives the position of the first mistake.
"""

from __future__ import annotations

from gatekeeper.checks.check import (
    PASSED,
    Check,
    Example,
    Files,
    Parameters,
    SampleEvaluator,
    parameters,
)
from gatekeeper.checks.output import on_json


def _prepare(_params: Parameters, _files: Files) -> SampleEvaluator:
    return on_json(lambda _value: PASSED)


CHECK = Check(
    parameters(),
    _prepare,
    group="values",
    examples=(Example("{type: json_valid}", '{"intent": "refund"}', '{"intent": "refund",}'),),
)
