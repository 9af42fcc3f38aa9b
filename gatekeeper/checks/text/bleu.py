"""The output, or one field of it, is like a reference translation, by BLEU of one sentence.

The **score** is the BLEU of sacrebleu divided by 100, for one output against all its references:
runs of up to four words that also stand in a reference, with a penalty for an output that is
shorter. It uses exponential smoothing and, for an output of fewer than four words, only the runs
that it can have. `tokenize` says what a word is: `13a` is right for European languages, `zh` for
Chinese, `char` takes single characters. The mean of these scores is not the BLEU of a whole test
set. The output may have 100,000 characters; a longer one is undetermined.

It needs the extra `text`: `pip install "gatekeeper[text]"`. The action's image does not have it:
name `sacrebleu` and what it needs in the file of the input
[`requirements`](adding-a-check.md#checks-in-a-package).
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

_MIN = 0.3


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    references = reference_texts(params)
    metric = import_extra("sacrebleu.metrics", "text", "bleu").BLEU(
        tokenize=params.get("tokenize", "13a"),
        lowercase=params.get("ignore_case", False),
        effective_order=True,
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
            "description": "How sacrebleu finds words: 13a, intl, zh, char or none.",
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
