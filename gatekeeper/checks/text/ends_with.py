"""The output, or one field of it, ends with the given text, or with one of several given texts.

The check ignores white space around the output.
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
    as_text,
    normaliser,
    on_output,
    quote,
)
from gatekeeper.checks.text.substring import VALUE, VALUES, wanted_affixes

_SHOWN = 60


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    normalise = normaliser(params, strip=True)
    wanted = wanted_affixes(params, normalise)
    listed = " or ".join(quote(text) for text in wanted)

    def inspect(found: Any) -> Finding:
        if normalise(found).endswith(tuple(wanted.values())):
            return PASSED
        end = as_text(found).strip()[-_SHOWN:]
        unseen = "".join(unseen_difference(text, end) for text in wanted)
        return failed(
            f"expected a text that ends with {listed}; the text ends with {quote(end)}{unseen}"
        )

    return on_output(params, inspect)


CHECK = Check(
    parameters(
        value=VALUE,
        values=VALUES,
        ignore_case=IGNORE_CASE,
        exact_unicode=EXACT_UNICODE,
        field=FIELD,
    ),
    _prepare,
    group="text",
    examples=(
        Example(
            "{type: ends_with, values: [., '!', '?'], name: is a whole sentence}",
            "Your parcel is on its way.\n",
            "Your parcel is on its",
        ),
    ),
)
