"""The regular expression `pattern` matches nowhere in the output, or nowhere in one field of it.

The pattern has the same form and the same limits as the pattern of [regex](#regex). If a search
takes too long, the check is undetermined.
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
    undetermined,
)
from gatekeeper.checks.output import FIELD, IGNORE_CASE, as_text, on_output, quote, shorten
from gatekeeper.checks.text.regex_search import PATTERN, TIMEOUT_MS, matches_in, timed_pattern


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    pattern = timed_pattern(params)
    shown = shorten(params["pattern"])

    def inspect(found: Any) -> Finding:
        try:
            matches = matches_in(pattern, as_text(found))
        except TimeoutError as timeout:
            return undetermined(str(timeout))
        return failed(f"matches `{shown}`; got {quote(found)}") if matches else PASSED

    return on_output(params, inspect)


CHECK = Check(
    parameters(
        required=("pattern",),
        pattern={
            **PATTERN,
            "description": "A regular expression that must not match anywhere in the output.",
        },
        ignore_case=IGNORE_CASE,
        field=FIELD,
        timeout_ms=TIMEOUT_MS,
    ),
    _prepare,
    group="text",
    examples=(
        Example(
            r"{type: not_regex, pattern: '\{\{|\}\}', name: no placeholder is left}",
            "Dear Ann, your order is on its way.",
            "Dear {{ customer }}, your order is on its way.",
        ),
    ),
)
