"""The output, or one field of it, contains the given text. If several texts are given, `match`
decides whether the output must contain all of the texts or at least one text."""

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
from gatekeeper.checks.text.substring import VALUE, VALUES, wanted_texts


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    normalise = normaliser(params, strip=False)
    wanted = [(text, normalise(text)) for text in wanted_texts(params)]
    any_is_enough = params.get("match", "all") == "any"

    def inspect(found: Any) -> Finding:
        text = normalise(found)
        absent = [quote(written) for written, sought in wanted if sought not in text]
        if not absent or (any_is_enough and len(absent) < len(wanted)):
            return PASSED
        unseen = "".join(unseen_difference(written, as_text(found)) for written, _ in wanted)
        which = "any of " if any_is_enough and len(wanted) > 1 else ""
        return failed(f"does not contain {which}{', '.join(absent)}; got {quote(found)}{unseen}")

    return on_output(params, inspect)


CHECK = Check(
    parameters(
        value=VALUE,
        values=VALUES,
        match={
            "enum": ["all", "any"],
            "default": "all",
            "description": (
                "`all` if the output must contain every text, `any` if one of the texts is enough."
            ),
        },
        ignore_case=IGNORE_CASE,
        exact_unicode=EXACT_UNICODE,
        field=FIELD,
    ),
    _prepare,
    group="text",
    examples=(
        Example(
            '{type: contains, value: "{{ expected.order_id }}", ignore_case: true}',
            "Your order a-17 is on its way.",
            "Your order is on its way.",
            expected={"order_id": "A-17"},
        ),
        Example(
            "{type: contains, values: [refund, money back], match: any}",
            "You get your money back.",
            "You get a voucher.",
        ),
    ),
)
