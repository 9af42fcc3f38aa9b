"""A regular expression matches somewhere in the output, or in one field of it.

A search that runs out of time is undetermined, not failed, because the pattern is at fault and not
the model.
"""

from __future__ import annotations

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
from gatekeeper.checks.output import FIELD, IGNORE_CASE, as_text, on_output, quote, shorten
from gatekeeper.checks.pattern import DEFAULT_TIMEOUT_MS, TimedPattern


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    pattern = TimedPattern(
        params["pattern"],
        ignore_case=params.get("ignore_case", False),
        timeout_ms=params.get("timeout_ms", DEFAULT_TIMEOUT_MS),
    )
    shown = shorten(params["pattern"])

    def inspect(found: Any) -> Finding:
        try:
            matches = pattern.search(as_text(found))
        except TimeoutError as timeout:
            return undetermined(str(timeout))
        return PASSED if matches else failed(f"does not match `{shown}`; got {quote(found)}")

    return on_output(params, inspect)


CHECK = Check(
    parameters(
        required=("pattern",),
        pattern={
            "type": "string",
            "minLength": 1,
            "description": "A regular expression that must match somewhere in the output.",
        },
        ignore_case=IGNORE_CASE,
        field=FIELD,
        timeout_ms={
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 10_000,
            "default": DEFAULT_TIMEOUT_MS,
            "description": "The milliseconds that one search may take, at most 10000.",
        },
    ),
    _prepare,
)
