"""The output, or one field of it, is similar to a reference translation, measured by the metric
chrF, which compares runs of characters.

The library sacrebleu computes the value of chrF. The **score** is this value divided by 100. chrF
is an F-measure over sequences of one to six characters; recall counts twice as much as precision.
`word_order: 2` adds words and pairs of words (chrF++). chrF does not need to split a text into
words. For languages in which words have many endings, chrF agrees with people better than
[bleu](#bleu) does. If the output has more than 100,000 characters, the check is undetermined.

The check needs the extra `text`: `pip install "gatekeeper[text]"`. The action's image does not have
this extra. In the action, add `sacrebleu` and its dependencies to the file that the input
[`requirements`](adding-a-check.md#checks-in-a-package) names.
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
from gatekeeper.checks.output import FIELD, IGNORE_CASE
from gatekeeper.checks.text.references import REFERENCES, least_score, reference_texts, scored_by

_MIN = 0.5


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    references = reference_texts(params)
    metric = import_extra("sacrebleu.metrics", "text", "chrf").CHRF(
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
            "type": "integer",
            "minimum": 0,
            "maximum": 4,
            "default": 0,
            "description": "The longest word sequence that is compared, in addition to characters: "
            "0 for chrF, 2 for chrF++.",
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
