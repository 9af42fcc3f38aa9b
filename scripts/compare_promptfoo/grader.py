"""Answers as the model that grades, for both programs.

A graded text ends with its grade, such as `[grade: 2 of 3]`. Every answer of the grader says that
the text has this grade, in the form that the question asks for.
"""

from __future__ import annotations

import json
import re
import zlib

from gatekeeper.contract.checks.embeddings import written_cosine
from gatekeeper.contract.values.call import Embedding
from gatekeeper.contract.values.trial import Completion, Request

QUERY = "What is worth knowing about this place?"
"""The question of every test."""
_GRADE = re.compile(r"\[grade: (\d) of (\d)\]")
_DIMENSIONS = 64
_OTHER_QUESTION = "Blue bananas sing"


def embed(text: str) -> list[float]:
    """Return how often each word of the text occurs. Texts without a word are alike."""
    vector = [0.0] * _DIMENSIONS + [0.1]
    for word in re.findall(r"\w+", text.lower()):
        vector[zlib.crc32(word.encode()) % _DIMENSIONS] += 1
    return vector


def answer_judge(question: Request) -> Completion:
    """Return the answer to a question of gatekeeper: a cosine, or a verdict of a judge."""
    texts = [message.content for message in question.messages]
    if isinstance(question.call, Embedding):
        return Completion(written_cosine(*map(embed, texts)))
    got, most = _grade("\n".join(texts))
    if "claims" not in json.dumps(question.params, default=str):
        verdict = "yes" if got == most else "no"
        return Completion(json.dumps({"reason": "graded", "verdict": verdict}))
    claims = [
        {"claim": f"Claim {n}", "evidence": "none", "supported": n < got} for n in range(most)
    ]
    return Completion(json.dumps({"claims": claims}))


def answer_promptfoo(prompt: str) -> str:
    """Return the answer to a prompt of promptfoo for grading, recognised by its own words."""
    if "generate 3-4 concise evaluation steps" in prompt:
        return json.dumps({"steps": ["Read the reply."]})
    got, most = _grade(prompt)
    passed = got == most
    if "Generate question for the given answer" in prompt:
        return QUERY if passed else _OTHER_QUESTION
    if "create one or more statements" in prompt:
        return "\n".join(f"Claim {n} [grade: {got} of {most}]" for n in range(most))
    if "Natural language inference" in prompt:
        verdicts = " ".join("Yes." if n < got else "No." for n in range(most))
        return f"Final verdict for each statement in order: {verdicts}"
    if "precise factuality evaluator" in prompt:
        return json.dumps({"category": "C" if passed else "D", "reason": "graded"})
    if "You are assessing a submitted answer" in prompt:
        return "Graded.\nY" if passed else "Graded.\nN"
    if "rate the Reply on one metric" in prompt:
        return json.dumps({"score": 10 if passed else 0, "reason": "graded"})
    return json.dumps({"reason": "graded", "pass": passed, "score": float(passed)})


def _grade(text: str) -> tuple[int, int]:
    found = _GRADE.search(text)
    if found is None:
        raise ValueError(f"no grade in {text!r}")
    return int(found[1]), int(found[2])
