"""How two texts are compared by a model's embeddings: as a request, and as its answer. Pure.

The request has two messages of a role of their own. Its answer is the cosine of the angle between
the two vectors, as text: the vectors themselves are not kept.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gatekeeper.contract.checks.judge_settings import question_id
from gatekeeper.contract.values.call import Embedding
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.objectives import SimilarTexts
from gatekeeper.contract.values.trial import JudgeAnswer, QuestionId, Request

LONGEST = 100_000
"""Characters of a text that is sent. Embedding models take about 8,000 tokens."""
_ROLE = "embed"


def comparison_request(model: str, one: str, other: str) -> Request:
    """Return the request for the cosine of two texts, neither of which is empty."""
    texts = (Message(_ROLE, one), Message(_ROLE, other))
    return Request(model, texts, {}, None, 0, call=Embedding())


def written_cosine(one: Sequence[float], other: Sequence[float]) -> str:
    """Return the cosine of two vectors as the text of an answer. Raises ValueError if they have no
    angle: they are empty, of different lengths, zero, or not finite."""
    if not one or len(one) != len(other):
        raise ValueError("the vectors are empty or differ in the number of dimensions")
    lengths = math.sqrt(math.fsum(x * x for x in one)) * math.sqrt(math.fsum(x * x for x in other))
    if not lengths or not math.isfinite(lengths):
        raise ValueError("the norm of a vector is zero or too large")
    cosine = math.fsum(x * y for x, y in zip(one, other, strict=True)) / lengths
    return f"{max(-1.0, min(1.0, cosine)):.6f}"


def read_cosine(text: str) -> float | None:
    """Return the cosine that an answer gives, from -1 to 1; None if it gives none."""
    try:
        cosine = float(text) if len(text) < 20 else math.nan
    except ValueError:
        return None
    return cosine if -1 <= cosine <= 1 else None


def meaning_question(similar: SimilarTexts, one: str, other: str) -> Request | None:
    """Return the question whether two texts mean the same, which does not depend on their order;
    None if no model can answer it: a text is empty or too long."""
    if not all(text.strip() and len(text) <= LONGEST for text in (one, other)):
        return None
    return comparison_request(similar.model, *sorted((one, other)))


def means_the_same(
    similar: SimilarTexts, question: Request, answers: Mapping[QuestionId, JudgeAnswer]
) -> bool | None:
    """Return whether the two texts of a question mean the same; None if there is no answer that can
    be read."""
    answer = answers.get(question_id(question))
    if answer is None or answer.completion is None:
        return None
    cosine = read_cosine(answer.completion.text)
    return None if cosine is None else cosine >= similar.min
