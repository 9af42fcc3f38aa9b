"""The output differs from the given text by a small number of edits.

An edit inserts, removes or replaces one character: 3 edits turn `kitten` into `sitting`. The
**score** is 1 minus the edits divided by the length of the longer text. Set `max` (edits), `min`
(score) or both. If the product of both lengths exceeds 2,500,000,000, the check is undetermined.
"""

from __future__ import annotations

from typing import Any

from gatekeeper.checks.check import (
    Check,
    Example,
    Files,
    Finding,
    ParameterError,
    Parameters,
    SampleEvaluator,
    parameters,
    undetermined,
)
from gatekeeper.checks.reading.output import (
    FIELD,
    IGNORE_CASE,
    STRIP,
    as_text,
    normaliser,
    on_output,
    quote,
)
from gatekeeper.checks.text.overlap.references import REFERENCE, below, zero_without_output
from gatekeeper.checks.text.overlap.similarity import MAX_PRODUCT


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    if "max" not in params and "min" not in params:
        raise ParameterError(
            "neither `max` nor `min` is set",
            "set `max` (the highest number of edits) or `min` (the lowest score)",
        )
    normalise = normaliser(params, strip=True)
    wanted = normalise(params["value"])
    written = as_text(params["value"])
    most, least = params.get("max"), params.get("min", 0)

    def inspect(found: Any) -> Finding:
        from rapidfuzz.distance import Levenshtein

        text = normalise(found)
        if len(text) * len(wanted) > MAX_PRODUCT and text != wanted:
            return undetermined(
                f"texts of {len(text):,} and {len(wanted):,} characters are too long to compare"
            )
        edits = Levenshtein.distance(text, wanted)
        longer = max(len(text), len(wanted))
        score = (longer - edits) / longer if longer else 1.0
        if most is not None and edits > most:
            message = (
                f"needs {edits:,} edits to become {quote(written)}, but at "
                f"most {most:,} edits are allowed"
            )
            return Finding(False, f"{message}; got {quote(found)}", score)
        if score < least:
            return Finding(False, below(score, least, written, found), score)
        return Finding(passed=True, score=score)

    return zero_without_output(on_output(params, inspect))


CHECK = Check(
    parameters(
        required=("value",),
        value=REFERENCE,
        max={
            "x-looser": "up",
            "type": "integer",
            "minimum": 0,
            "description": "The highest number of edits that passes.",
        },
        min={
            "x-looser": "down",
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "The lowest score that passes, from 0 to 1.",
        },
        ignore_case=IGNORE_CASE,
        strip=STRIP,
        field=FIELD,
    ),
    _prepare,
    scores=True,
    group="text",
    examples=(
        Example(
            '{type: levenshtein, value: "{{ expected }}", max: 2}',
            "Müller & Söhne GmbH",
            "Meier & Söhne AG",
            expected="Mueller & Söhne GmbH",
        ),
        Example("{type: levenshtein, value: Lisbon, min: 0.6}", "Lisboa", "Porto"),
    ),
)
