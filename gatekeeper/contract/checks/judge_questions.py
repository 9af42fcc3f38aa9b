"""Identifies the questions to judges, so that equal questions share one answer. Pure."""

from __future__ import annotations

from gatekeeper.contract.meaning.digests import digest, request_digest
from gatekeeper.contract.values.trial import JudgeAnswer, QuestionId, Request, Sample


def question_id(question: Request) -> QuestionId:
    """Return what identifies the question: model, messages, parameters and repetition."""
    asked = request_digest(question.messages, question.params)
    return QuestionId(question.model, asked, question.repetition)


def question_key(asked: QuestionId) -> str:
    """Return the question's key in files that keep answers between runs. No key of a trial's
    request is equal to it."""
    return digest(["judge", *asked])


def answer_to(question: Request, sample: Sample) -> JudgeAnswer | None:
    """Return the answer that the sample carries; None if the question was not asked yet."""
    if not sample.judge_answers:
        return None
    asked = question_id(question)
    return next((a for a in sample.judge_answers if a.asked == asked), None)
