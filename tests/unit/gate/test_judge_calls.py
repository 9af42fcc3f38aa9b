"""The forecast of questions to judges."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from support.judges import judge
from support.outcomes import contract

from gatekeeper.checks.evaluate import Evaluator, PreparedCheck
from gatekeeper.contract.reading.size_limits import MOST_JUDGED, QuestionTally
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Arm, Request, Trial
from gatekeeper.gate.plan.questions import (
    family_notices,
    forecast_judges,
)


def trial(arm: Arm, text: str, repetition: int = 0, **params: Any) -> Trial:
    request = Request("openai/m", (Message("user", text),), params, None, repetition)
    return Trial("c", "f", arm, repetition, request)


def job(*trials: Trial, judged: bool = True, model: str = "openai/gpt-4o-mini") -> Any:
    evaluate: Any = judge(model=model) if judged else (lambda _: None)
    evaluator = Evaluator({"f": (PreparedCheck("c", "error", evaluate),)})
    head = SimpleNamespace(model="openai/gpt-4o")
    evaluation = SimpleNamespace(
        contract_from="head", evaluator=evaluator, base=None, head=head, contract=contract("f")
    )
    named = SimpleNamespace(name="c")
    return SimpleNamespace(trials=trials, evaluations=(evaluation,), contract=named)


def forecast(jobs: Any) -> Any:
    return forecast_judges(jobs, QuestionTally())


def test_each_call_has_its_questions_and_a_shared_one_once():
    apart = forecast([job(trial("base", "a"), trial("head", "b"))])
    shared = forecast([job(trial("base", "a"), trial("head", "a"))])
    again = forecast([job(trial("head", "a"), trial("head", "a", 1))])
    assert [len(found.most) for found in (apart, shared, again)] == [2, 1, 2]
    assert len(apart.about) == len(apart.most)


def test_a_call_that_mutants_share_is_judged_once():
    mutants = [job(trial("base", "a"), trial("head", text)) for text in "bc"]
    assert len(forecast(mutants).most) == 3
    assert sum(len(forecast([mutant]).most) for mutant in mutants) == 4


def test_a_contract_without_judges_has_none():
    assert forecast([job(trial("head", "a"), judged=False)]) == ((), ())


@pytest.mark.parametrize(
    ("params", "longest"),
    [({}, MOST_JUDGED), ({"max_tokens": 5}, 20), ({"max_tokens": -1}, MOST_JUDGED)],
)
def test_the_longest_output_is_as_long_as_an_answer_may_be(params: dict[str, Any], longest: int):
    (question,) = forecast([job(trial("head", "a", **params))]).most
    assert len(question.messages[-1].content) == longest


@pytest.mark.parametrize(
    ("model", "notices"), [("openai/gpt-4o-mini", 1), ("anthropic/claude-x", 0)]
)
def test_a_judge_of_the_graded_models_family_is_named(model: str, notices: int):
    assert len(family_notices(job(trial("head", "a"), model=model))) == notices
