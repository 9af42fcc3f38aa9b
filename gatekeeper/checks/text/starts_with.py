"""The output, or one field of it, begins with the given text, or with one of several given texts.

The check ignores white space around the output, unless `strip` is false.
"""

from __future__ import annotations

from typing import Any

from gatekeeper.checks.alike import unseen_difference
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
from gatekeeper.checks.output import (
    EXACT_UNICODE,
    FIELD,
    IGNORE_CASE,
    STRIP,
    as_text,
    normaliser,
    on_output,
    quote,
)
from gatekeeper.checks.text.substring import VALUE, VALUES, wanted_affixes


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    normalise = normaliser(params, strip=True)
    wanted = wanted_affixes(params, normalise)
    listed = " or ".join(quote(text) for text in wanted)

    def inspect(found: Any) -> Finding:
        if normalise(found).startswith(tuple(wanted.values())):
            return PASSED
        unseen = "".join(unseen_difference(text, as_text(found)) for text in wanted)
        return failed(f"expected a text that begins with {listed}; got {quote(found)}{unseen}")

    return on_output(params, inspect)


CHECK = Check(
    parameters(
        value=VALUE,
        values=VALUES,
        ignore_case=IGNORE_CASE,
        exact_unicode=EXACT_UNICODE,
        strip=STRIP,
        field=FIELD,
    ),
    _prepare,
    group="text",
    examples=(
        Example(
            '{type: starts_with, value: "Dear {{ customer }}"}',
            "Dear Ann, your parcel is on its way.",
            "Hello Ann, your parcel is on its way.",
            vars={"customer": "Ann"},
        ),
        Example('{type: starts_with, values: ["Yes", "No"]}', "No, it is late.", "It is late."),
    ),
)
