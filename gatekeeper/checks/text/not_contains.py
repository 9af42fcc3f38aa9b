"""The output, or one field of it, contains none of the given texts.

A text matches anywhere in the output, also inside a word.
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

_AROUND = 20


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    normalise = normaliser(params, strip=False)
    unwanted = [(text, normalise(text)) for text in wanted_texts(params)]

    def inspect(found: Any) -> Finding:
        text = normalise(found)
        for written, sought in unwanted:
            at = text.find(sought)
            if at >= 0:
                return failed(f"contains {quote(written)}: {_excerpt(as_text(found), at, sought)}")
        return PASSED

    return on_output(params, inspect)


def _excerpt(text: str, at: int, sought: str) -> str:
    """Quote the place in the output. Folding case can change lengths, so it is near, not exact."""
    start = max(0, at - _AROUND)
    end = at + len(sought) + _AROUND
    before, after = "…" if start else "", "…" if end < len(text) else ""
    return quote(f"{before}{text[start:end]}{after}", 3 * _AROUND + len(sought))


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
            "{type: not_contains, values: [as an AI, I cannot], ignore_case: true}",
            "Your parcel arrives on Monday.",
            "As an AI, I do not know.",
        ),
    ),
)
