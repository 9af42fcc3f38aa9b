"""The output has many words in common with a reference, such as a good summary.

`variant` is the unit: `rouge1` single words, `rouge2` pairs of words, `rougeL` the longest
sequence that both have in the same order. `measure` is the **score**: `recall` (the share of
the reference that the output has), `precision` (the share of the output that the reference has)
or `f1`. Of several references, the best score counts.

Words are letters and digits in lower case, without stemming. Chinese, Japanese, Thai, Lao, Khmer
and Burmese need the [extra `text`](#limits). ROUGE compares words, not meanings: choose `min` from
the scores of outputs that you accept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gatekeeper.checks.check import (
    Check,
    Example,
    Files,
    ParameterError,
    Parameters,
    SampleEvaluator,
    parameters,
)
from gatekeeper.checks.reading.output import FIELD
from gatekeeper.checks.text.overlap.references import (
    REFERENCES,
    least_score,
    reference_texts,
    scored_by,
)
from gatekeeper.checks.text.words import lettered_words

_MIN = 0.5
VARIANTS = ("rouge1", "rouge2", "rougeL")
MEASURES = ("f1", "precision", "recall")


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    references = reference_texts(params)
    variant = params.get("variant", "rougeL")
    measure = params.get("measure", "f1")
    wanted = [lettered_words(text, "rouge") for text in references]
    if any(len(found) < (2 if variant == "rouge2" else 1) for found in wanted):
        raise ParameterError(
            f"`value` has too few words for `{variant}`",
            "write a longer `value`, or set `variant: rouge1`"
            if variant == "rouge2"
            else "write a longer `value`",
        )

    def score(text: str) -> float:
        found = lettered_words(text, "rouge")
        return max(rouge(found, reference, variant)[measure] for reference in wanted)

    return scored_by(params, references, params.get("min", _MIN), score)


def rouge(found: Sequence[str], wanted: Sequence[str], variant: str) -> dict[str, float]:
    """Return `precision`, `recall` and `f1` of one of VARIANTS, from 0 to 1.

    Definition: Lin, C.-Y. (2004), ROUGE: A Package for Automatic Evaluation of Summaries, Text
    Summarization Branches Out, 74-81; of rouge-L the sentence-level form.
    """
    if variant == "rougeL":
        from rapidfuzz.distance import LCSseq

        common, given, needed = LCSseq.similarity(found, wanted), len(found), len(wanted)
    else:
        size = int(variant[-1])
        left, right = _runs(found, size), _runs(wanted, size)
        common, given, needed = (left & right).total(), left.total(), right.total()
    precision = common / given if given else 0.0
    recall = common / needed if needed else 0.0
    both = precision + recall
    f1 = 2 * precision * recall / both if both else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def _runs(tokens: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[at:] for at in range(size)), strict=False))


CHECK = Check(
    parameters(
        required=("value",),
        value=REFERENCES,
        variant={
            "enum": list(VARIANTS),
            "default": "rougeL",
            "description": "The units to compare: single words (rouge1), pairs of words (rouge2), "
            "or the longest common sequence of words (rougeL).",
        },
        measure={
            "enum": list(MEASURES),
            "default": "f1",
            "description": "The score to use: f1, precision or recall.",
        },
        min=least_score(_MIN),
        field=FIELD,
    ),
    _prepare,
    scores=True,
    group="text",
    examples=(
        Example(
            '{type: rouge, value: "{{ expected.summary }}", min: 0.6}',
            "The customer wants a refund for a parcel that came late.",
            "A question about opening hours.",
            expected={"summary": "The customer wants a refund because the parcel came late."},
        ),
        Example(
            "{type: rouge, value: refund within 14 days, variant: rouge1, measure: recall, min: 1}",
            "You get your refund within 14 days.",
            "You get your refund within a month.",
        ),
    ),
)
