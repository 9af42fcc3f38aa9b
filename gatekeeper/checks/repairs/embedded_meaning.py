"""Compares what texts without JSON mean before and after a repair: by their embeddings.

Only if the contract says `repair: {similar: {model: …, min: …}}`. Without an answer it stays
unknown whether the repair changed the meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gatekeeper.checks.repairs.steps import Repaired
from gatekeeper.contract.checks.embeddings import (
    LONGEST,
    comparison_request,
    meaning_question,
    means_the_same,
)
from gatekeeper.contract.checks.judge_settings import question_id
from gatekeeper.contract.meaning.repair_policy import STEPS_ON_WORDS
from gatekeeper.contract.values.definition import Contract, RepairPolicy
from gatekeeper.contract.values.objectives import SimilarTexts
from gatekeeper.contract.values.trial import AppliedRepair, Meaning, Request, Sample


def meaning_questions(found: Repaired, policy: RepairPolicy, sample: Sample) -> tuple[Request, ...]:
    """Return what is still to be asked about the repairs of a sample."""
    if policy.similar is None:
        return ()
    answered = {answer.asked for answer in sample.judge_answers}
    asked = (question for _, question in _open_steps(found, policy.similar))
    return tuple(q for q in asked if question_id(q) not in answered)


def compared_ledger(
    found: Repaired, policy: RepairPolicy, sample: Sample
) -> tuple[AppliedRepair, ...]:
    """Return the ledger with what the embeddings say that the sample carries."""
    if policy.similar is None:
        return found.ledger
    ledger = list(found.ledger)
    answers = {answer.asked: answer for answer in sample.judge_answers}
    for place, question in _open_steps(found, policy.similar):
        same = means_the_same(policy.similar, question, answers)
        if same is not None:
            meaning: Meaning = "same" if same else "changed"
            ledger[place] = replace(ledger[place], meaning=meaning)
    return tuple(ledger)


def forecast_meanings(contract: Contract, characters: int) -> tuple[Request, ...]:
    """Return what is asked about the repairs of an answer of so many characters, if every step
    changes it."""
    policy = contract.repair
    if policy.similar is None or contract.mode == "observe":
        return ()
    text = "x" * min(characters, LONGEST)
    question = comparison_request(policy.similar.model, text, text)
    steps = min(policy.max_steps, sum(step in STEPS_ON_WORDS for step in policy.steps))
    return tuple(replace(question, repetition=number) for number in range(steps))


def _open_steps(found: Repaired, similar: SimilarTexts) -> Iterator[tuple[int, Request]]:
    """Yield the place in the ledger and the question of each step that JSON does not decide."""
    texts = (*found.texts, found.output)
    for place, step in enumerate(found.ledger):
        if step.meaning == "unknown" and step.step in STEPS_ON_WORDS:
            question = meaning_question(similar, texts[place], texts[place + 1])
            if question is not None:
                yield place, question
