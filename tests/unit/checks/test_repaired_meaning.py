"""Whether a repair changed the meaning of a text without JSON: asked, answered, forecast."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.outcomes import contract, outcome

from gatekeeper.checks.evaluate import prepare
from gatekeeper.checks.repairs.embedded_meaning import forecast_meanings
from gatekeeper.contract.checks.judge_settings import question_id
from gatekeeper.contract.values.definition import RepairPolicy
from gatekeeper.contract.values.objectives import SimilarTexts, read_objectives
from gatekeeper.contract.values.trial import Completion, JudgeAnswer
from gatekeeper.gate.measuring.monitor import evaluate_sample, judge_questions
from gatekeeper.gate.samples.consistency import AnswerComparisons, agreeing_pairs
from tests.unit.checks.test_hostile_outputs import HOSTILE

SIMILAR = SimilarTexts("openai/embed", 0.9)
STEPS = ("strip_whitespace", "strip_markdown_fences", "lowercase")


def repairing(**fields):
    policy = RepairPolicy(STEPS, 3, similar=SIMILAR)
    return contract("f", **({"repair": policy} | fields))


def meanings(text: str, says: str | None, tested=None) -> tuple[list[str], list[str]]:
    """The texts that are compared, and the meanings in the ledger after the answer."""
    tested = tested or repairing()
    evaluator, sample = prepare(tested), outcome("f", "head", 0, True, text).sample
    asked = judge_questions(sample, tested, evaluator)
    said = None if says is None else Completion(says)
    answers = tuple(JudgeAnswer(question_id(question), said) for question in asked)
    answered = replace(sample, judge_answers=answers)
    assert judge_questions(answered, tested, evaluator) == ()
    ledger = evaluate_sample(answered, tested, evaluator).sample.ledger
    return [m.content for q in asked for m in q.messages], [step.meaning for step in ledger]


@pytest.mark.parametrize(
    ("says", "meaning"),
    [("0.950000", "same"), ("0.890000", "changed"), (None, "unknown"), ("nan", "unknown")],
)
def test_the_cosine_says_whether_the_meaning_changed(says, meaning):
    asked, found = meanings(" ```\nIt is Ready\n```", says)
    assert asked == ["It is Ready", "```\nIt is Ready\n```", "It is Ready", "it is ready"]
    assert found == ["same", meaning, meaning]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [(' {"A": 1}', ["same", "changed"]), ("```\n```", ["unknown"]), ("ready", [])],
)
def test_json_and_no_text_are_never_asked_about(text, meaning):
    assert meanings(text, "1.000000") == ([], meaning)


def test_without_the_key_nothing_is_asked():
    plain = repairing(repair=RepairPolicy(STEPS, 3))
    assert meanings("Ready", "1.000000", plain) == ([], ["unknown"])
    assert meanings("Ready", "1.000000", repairing(mode="observe")) == ([], [])


def test_the_forecast_has_a_question_for_each_step_that_may_leave_it_open():
    assert len(forecast_meanings(repairing(), 9)) == 2
    policy = RepairPolicy(STEPS, 1, similar=SIMILAR)
    assert len({question_id(q) for q in forecast_meanings(repairing(repair=policy), 9)}) == 1
    assert forecast_meanings(repairing(mode="observe"), 9) == ()
    assert forecast_meanings(repairing(repair=RepairPolicy(STEPS)), 9) == ()


@pytest.mark.parametrize(
    "label", ["unicode", "half a surrogate pair", "1 MB of JSON", "deep JSON", "not a number"]
)
def test_hostile_outputs_are_compared(label):
    """Before the checks: what a repair changed, and whether the answers to a fixture agree."""
    similar = {"consistency": {"target": 1, "similar": {"model": "openai/embed", "min": 0.9}}}
    tested = repairing(slo=read_objectives(similar))
    evaluator, comparisons = prepare(tested), AnswerComparisons(tested)
    texts = (HOSTILE[label], "no" + HOSTILE[label].upper())
    outcomes = [outcome("f", "head", n, True, text) for n, text in enumerate(texts)]
    asked = [
        (*judge_questions(o.sample, tested, evaluator), *comparisons.questions(o.sample))
        for o in outcomes
    ]
    agreeing_pairs(outcomes, SIMILAR)
    assert sum(len(m.content) for qs in asked for q in qs for m in q.messages) < 1_000_000
