"""The output is similar to a reference translation by chrF, which compares sequences of characters.

The **score** is sacrebleu's chrF divided by 100: an F-measure over sequences of one to six
characters in which recall counts twice. `word_order: 2` is chrF++. chrF agrees better with people
than [bleu](#bleu) where words have many endings. Needs the [extra `text`](#limits).
"""

from __future__ import annotations

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

_MIN = 0.5


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    references = reference_texts(params)
    metric = import_extra("sacrebleu.metrics", "chrf").CHRF(
        word_order=params.get("word_order", 0), lowercase=params.get("ignore_case", False)
    )

    def score(text: str) -> float:
        return float(metric.sentence_score(text, references).score) / 100

    return scored_by(params, references, params.get("min", _MIN), score)


CHECK = Check(
    parameters(
        required=("value",),
        value=REFERENCES,
        min=least_score(_MIN),
        word_order={
            "x-looser": "change",
            "type": "integer",
            "minimum": 0,
            "maximum": 4,
            "default": 0,
            "description": (
                "The longest word sequence to compare besides characters: 0 for chrF, 2 for chrF++."
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
            '{type: chrf, value: "{{ expected }}", min: 0.6}',
            "Ihre Rückzahlung ist unterwegs.",
            "Wir melden uns.",
            expected="Ihre Rückzahlung ist schon unterwegs.",
        ),
    ),
)
