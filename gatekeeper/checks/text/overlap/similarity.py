"""The output is similar to the given text, by characters. The score is from 0 (no character in
common) to 1 (the same).

It is rapidfuzz's `fuzz.ratio` divided by 100, without white space around the texts. It compares
characters, not meanings: `not allowed` and `now allowed` score 0.91. Use it for answers with nearly
fixed wording, and [similar](#similar) for meaning. `slo: {judge_score: …}` sets a target for the
mean score ([objectives](objectives.md)), also with `severity: warn`. If the product of both lengths
exceeds 2,500,000,000, the check is undetermined.
"""

from __future__ import annotations

from typing import Any

from gatekeeper.checks.check import (
    Check,
    Example,
    Files,
    Finding,
    Parameters,
    SampleEvaluator,
    parameters,
    undetermined,
)
from gatekeeper.checks.reading.output import FIELD, IGNORE_CASE, as_text, normaliser, on_output
from gatekeeper.checks.text.overlap.references import (
    REFERENCE,
    below,
    least_score,
    zero_without_output,
)

_MIN = 0.8

# The work is the product of both lengths: 50,000 characters twice take a tenth of a second.
MAX_PRODUCT = 2_500_000_000


def _prepare(params: Parameters, _files: Files) -> SampleEvaluator:
    normalise = normaliser(params, strip=True)
    wanted = normalise(params["value"])
    least = params.get("min", _MIN)

    def inspect(found: Any) -> Finding:
        text = normalise(found)
        if len(text) * len(wanted) > MAX_PRODUCT and text != wanted:
            return undetermined(
                f"texts of {len(text):,} and {len(wanted):,} characters are too long to compare"
            )
        score = similarity(text, wanted)
        if score >= least:
            return Finding(passed=True, score=score)
        return Finding(False, below(score, least, as_text(params["value"]), found), score)

    return zero_without_output(on_output(params, inspect))


def similarity(one: str, other: str) -> float:
    """Return how similar two texts are, from 0 to 1; 1 if both are empty.

    Algorithm: Hyyrö, H. (2004), Bit-Parallel LCS-length Computation Revisited, Proc. 15th
    Australasian Workshop on Combinatorial Algorithms, 16-27.
    """
    from rapidfuzz.distance import Indel

    length = len(one) + len(other)
    # Counted, then divided once: 1 less a distance would put 9/20 below 0.45.
    return Indel.similarity(one, other) / length if length else 1.0


CHECK = Check(
    parameters(
        required=("value",),
        value=REFERENCE,
        min=least_score(_MIN),
        ignore_case=IGNORE_CASE,
        field=FIELD,
    ),
    _prepare,
    scores=True,
    group="text",
    examples=(
        Example(
            '{type: similarity, value: "{{ expected.title }}", min: 0.9}',
            "Refund for order A-17.",
            "Complaint about A-17",
            expected={"title": "Refund for order A-17"},
        ),
        Example(
            '{type: similarity, value: "{{ customer }}", field: name, ignore_case: true}',
            '{"name": "ann smith"}',
            '{"name": "Bob"}',
            vars={"customer": "Ann Smith"},
        ),
    ),
)
