"""The output is similar to a reference translation by BLEU for one sentence.

The **score** is sacrebleu's BLEU divided by 100. It counts the sequences of up to four words that
the output shares with a reference, and is lower for an output that is too short. The mean of scores
is not the BLEU of a test set. Needs the [extra `text`](#limits).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatekeeper.checks.check import (
    Check,
    Example,
    Files,
    Parameters,
    SampleEvaluator,
    parameters,
)
from gatekeeper.checks.extras import import_extra
from gatekeeper.checks.reading.output import FIELD, IGNORE_CASE
from gatekeeper.checks.text.overlap.references import (
    REFERENCES,
    least_score,
    reference_texts,
    scored_by,
)

_MIN = 0.3
_SMOOTHING: Mapping[str, Mapping[str, Any]] = {
    "exp": {"smooth_method": "exp"},
    "floor": {"smooth_method": "floor", "smooth_value": 1e-7},
}


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    references = reference_texts(params)
    metric = import_extra("sacrebleu.metrics", "bleu").BLEU(
        tokenize=params.get("tokenize", "13a"),
        lowercase=params.get("ignore_case", False),
        effective_order=True,
        **_SMOOTHING[params.get("smoothing", "exp")],
    )

    def score(text: str) -> float:
        return float(metric.sentence_score(text, references).score) / 100

    return scored_by(params, references, params.get("min", _MIN), score)


CHECK = Check(
    parameters(
        required=("value",),
        value=REFERENCES,
        min=least_score(_MIN),
        tokenize={
            "enum": ["13a", "intl", "zh", "char", "none"],
            "default": "13a",
            "description": "How sacrebleu splits a text into words: 13a, intl, zh, char or none.",
        },
        smoothing={
            "enum": ["exp", "floor"],
            "default": "exp",
            "description": (
                "For texts that share, for example, no four words in a row: exp lowers "
                "the score, floor makes it almost 0."
            ),
        },
        ignore_case=IGNORE_CASE,
        field=FIELD,
    ),
    _prepare,
    scores=True,
    group="text",
    examples=(
        Example(
            '{type: bleu, value: "{{ expected }}", min: 0.4}',
            "Your refund is on its way to your account.",
            "We have sent the money back.",
            expected=["Your refund is on its way to your bank account."],
        ),
    ),
)
