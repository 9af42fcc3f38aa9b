"""Code that checks share which score an output by how much it is like a reference text."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gatekeeper.checks.check import (
    Finding,
    ParameterError,
    Parameters,
    SampleEvaluator,
    undetermined,
)
from gatekeeper.checks.reading.output import as_text, on_output, quote
from gatekeeper.contract.values.trial import Sample

_SCALAR = ["string", "number", "boolean"]
LONGEST = 100_000
"""The most characters of a text that is compared word by word. A metric takes a tenth of a
second for such a text."""

REFERENCE: Parameters = {"type": _SCALAR, "description": "The text to compare the output with."}
REFERENCES: Parameters = {
    "type": [*_SCALAR, "array"],
    "items": {"type": _SCALAR},
    "minItems": 1,
    "description": (
        "The text to compare the output with, or a list of texts. If there are several texts, "
        "the most similar text counts."
    ),
}


def least_score(default: float) -> Parameters:
    """Return the schema of a parameter `min` with this default."""
    return {
        "x-looser": "down",
        "type": "number",
        "minimum": 0,
        "maximum": 1,
        "default": default,
        "description": "The lowest score that passes, from 0 to 1.",
    }


def reference_texts(params: Parameters) -> list[str]:
    """Return the texts of `value`. Raises ParameterError for one that is empty or too long."""
    value = params["value"]
    texts = [as_text(one) for one in (value if isinstance(value, list | tuple) else [value])]
    for text in texts:
        if not text.strip():
            raise ParameterError("`value` is empty", "write the text to compare with")
        if len(text) > LONGEST:
            raise ParameterError(
                f"`value` has {len(text):,} characters", f"write at most {LONGEST:,} characters"
            )
    return texts


def scored_by(
    params: Parameters, references: list[str], least: float, score: Callable[[str], float]
) -> SampleEvaluator:
    """Return an evaluator that gives the output's score, from 0 to 1, and passes from `least` on.

    An output of more than LONGEST characters is undetermined.
    """

    def inspect(found: Any) -> Finding:
        text = as_text(found)
        if len(text) > LONGEST:
            return undetermined(f"a text of {len(text):,} characters is too long to compare")
        try:
            value = min(max(score(text), 0.0), 1.0)
        except ParameterError as missing:
            return undetermined(str(missing))
        if value >= least:
            return Finding(passed=True, score=value)
        return Finding(False, below(value, least, references[0], found), value)

    return zero_without_output(on_output(params, inspect))


def zero_without_output(evaluate: SampleEvaluator) -> SampleEvaluator:
    """Return an evaluator that gives the score 0 to an output that is not JSON or lacks the
    field."""

    def scored(sample: Sample) -> Finding:
        finding = evaluate(sample)
        if finding.score is None and finding.passed is False:
            return replace(finding, score=0.0)
        return finding

    return scored


def below(score: float, least: float, wanted: str, found: Any) -> str:
    """Say that a score is too low, and how the texts differ."""
    # Rounded down, so that a score that is too low never looks high enough.
    shown = math.floor(score * 1000) / 1000
    return (
        f"the score is {shown:g}, less than {least:g}; expected a text like "
        f"{quote(wanted)}; got {quote(found)}"
    )
