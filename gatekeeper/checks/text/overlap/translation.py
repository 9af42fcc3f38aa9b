"""The checks that compare the output with a reference translation, by sacrebleu's scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

_SMOOTHING: Mapping[str, Mapping[str, Any]] = {
    "exp": {"smooth_method": "exp"},
    "floor": {"smooth_method": "floor", "smooth_value": 1e-7},
}


def _check(
    about: str,
    default: float,
    metric: Callable[[Parameters], Any],
    example: Example,
    **own: Parameters,
) -> Check:
    """Return a check of the score of a `metric`, which passes from `default` on."""

    def prepare(params: Parameters, _files: Files) -> SampleEvaluator:
        references = reference_texts(params)
        made = metric(params)

        def score(text: str) -> float:
            return float(made.sentence_score(text, references).score) / 100

        return scored_by(params, references, params.get("min", default), score)

    properties = {"value": REFERENCES, "min": least_score(default), **own}
    schema = parameters(required=("value",), **properties, ignore_case=IGNORE_CASE, field=FIELD)
    return Check(schema, prepare, scores=True, group="text", examples=(example,), about=about)


BLEU = _check(
    """
The output is similar to a reference translation by BLEU for one sentence.

The **score** is sacrebleu's BLEU divided by 100. It counts the sequences of up to four words that
the output shares with a reference, and is lower for an output that is too short. The mean of scores
is not the BLEU of a test set. Needs the [extra `text`](#limits).
""",
    0.3,
    lambda params: import_extra("sacrebleu.metrics", "bleu").BLEU(
        tokenize=params.get("tokenize", "13a"),
        lowercase=params.get("ignore_case", False),
        effective_order=True,
        **_SMOOTHING[params.get("smoothing", "exp")],
    ),
    Example(
        '{type: bleu, value: "{{ expected }}", min: 0.4}',
        "Your refund is on its way to your account.",
        "We have sent the money back.",
        expected=["Your refund is on its way to your bank account."],
    ),
    tokenize={
        "enum": ["13a", "intl", "zh", "char", "none"],
        "default": "13a",
        "description": "How sacrebleu splits a text into words: 13a, intl, zh, char or none.",
    },
    smoothing={
        "enum": ["exp", "floor"],
        "default": "exp",
        "description": (
            "For texts that share, for example, no four words in a row: exp lowers the score, "
            "floor makes it almost 0."
        ),
    },
)
CHRF = _check(
    """
The output is similar to a reference translation by chrF, which compares sequences of characters.

The **score** is sacrebleu's chrF divided by 100: an F-measure over sequences of one to six
characters in which recall counts twice. `word_order: 2` is chrF++. chrF agrees better with people
than [bleu](#bleu) where words have many endings. Needs the [extra `text`](#limits).
""",
    0.5,
    lambda params: import_extra("sacrebleu.metrics", "chrf").CHRF(
        word_order=params.get("word_order", 0), lowercase=params.get("ignore_case", False)
    ),
    Example(
        '{type: chrf, value: "{{ expected }}", min: 0.6}',
        "Ihre Rückzahlung ist unterwegs.",
        "Wir melden uns.",
        expected="Ihre Rückzahlung ist schon unterwegs.",
    ),
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
)
