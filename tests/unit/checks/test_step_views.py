"""What a check sees of a chain: its step alone, and nothing of a step that an arm does not have."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.outcomes import contract, outcome, target

from gatekeeper.checks.evaluate import Evaluator, prepare
from gatekeeper.checks.step_views import StepViews, filler_sample
from gatekeeper.contract.calls.calls import MOST_TEXT
from gatekeeper.contract.values.call import SINGLE, Call, Chain, Draft, Output
from gatekeeper.contract.values.definition import CheckSpec, Message, PromptStep, Target
from gatekeeper.contract.values.trial import REFUSED, Arm, Completion, Sample, Turn
from gatekeeper.errors import ContractError

FIRST = (Message("user", "first"),)


def steps(name: str = "extract", outputs: int = 1) -> Chain:
    return Chain((name,), ((Draft("user", ("last ", *[Output(name)] * outputs)),),))


STEPS = steps()


def sample(arm: Arm = "head", call: Call = STEPS) -> Sample:
    turns = (Turn("", Completion("facts", 3.0)), Turn("", Completion("reply", 4.0)))
    made = outcome("a", arm, 0, True).sample
    trial = replace(made.trial, request=replace(made.trial.request, messages=FIRST, call=call))
    answer = Completion("reply", 7.0, turns=() if call == SINGLE else turns)
    return Sample(trial, answer, output="repaired", repairs=("strip_whitespace",))


def chain(*steps: tuple[str, str]) -> Target:
    prompts = [PromptStep(name, replace(target().prompt, path=path)) for name, path in steps]
    return replace(target(), steps=tuple(prompts))


def evaluator(head: Target) -> Evaluator:
    checks = (
        CheckSpec("contains", "e", {"value": "facts"}, step="extract"),
        CheckSpec("contains", "l", {"value": "repaired"}),
    )
    made = contract("a", target=chain(("extract", "e.md")), checks=checks)
    return prepare(made, targets={"head": head})


def test_a_step_is_a_sample_of_its_own() -> None:
    views = StepViews(sample(), {})
    first, last = views.of("extract"), views.of(None)
    assert first is not None
    assert last is not None
    assert first.completion is not None
    assert (first.output, first.repairs, first.completion.latency_ms) == ("facts", (), 3.0)
    assert first.trial.request.messages == (Message("user", "first"),)
    assert (last.output, last.trial.request.messages) == (
        "repaired",
        (Message("user", "last facts"),),
    )


def test_each_check_evaluates_its_step() -> None:
    found = evaluator(chain(("extract", "e.md"))).evaluate(sample())
    assert [(j.check, j.step, j.passed) for j in found] == [
        ("e", "extract", True),
        ("l", None, True),
    ]


@pytest.mark.parametrize(("arm", "expected"), [("base", [True]), ("head", [None, True])])
def test_a_step_that_an_arm_lacks_is_left_out_of_base_alone(
    arm: Arm, expected: list[bool | None]
) -> None:
    alone = sample(arm, SINGLE)
    found = evaluator(target()).evaluate(alone)
    assert [j.passed for j in found] == expected


@pytest.mark.parametrize(("path", "passed"), [("e.md", True), ("other.md", None)])
def test_a_step_with_a_new_name_is_known_by_its_prompt(path: str, passed: bool | None) -> None:
    found = evaluator(chain(("facts", path))).evaluate(sample("head", steps("facts")))
    assert found[0].passed is passed


def test_a_chain_that_ended_early_has_no_later_step() -> None:
    made = sample()
    assert made.completion is not None
    ended = replace(made, completion=replace(made.completion, turns=()))
    assert StepViews(ended, {}).of("extract") is None


def test_a_forecast_fills_every_output() -> None:
    views = StepViews(filler_sample(sample().trial, 5), {})
    last = views.of(None)
    assert last is not None
    assert last.trial.request.messages == (Message("user", "last xxxxx"),)


def test_a_comparison_in_pairs_cannot_be_about_a_step() -> None:
    params = {"judge": "prefer", "model": "openai/m"}
    checks = (CheckSpec("judge", "p", params, step="extract"),)
    with pytest.raises(ContractError, match="judge: prefer"):
        prepare(contract("a", target=chain(("extract", "e.md")), checks=checks))


def test_a_step_that_answered_is_evaluated_though_a_later_one_was_refused() -> None:
    made = sample()
    turns = (Turn("", Completion("facts")), Turn("", Completion("", finish_reason=REFUSED)))
    refused = replace(made, completion=Completion("", finish_reason=REFUSED, turns=turns))
    found = evaluator(chain(("extract", "e.md"))).evaluate(refused)
    assert [j.passed for j in found] == [True, False]
    first = replace(made, completion=Completion("", finish_reason=REFUSED, turns=turns[1:]))
    found = evaluator(chain(("extract", "e.md"))).evaluate(first)
    assert [j.passed for j in found] == [False, False]


def test_a_forecast_inserts_no_more_text_than_a_call_may_have() -> None:
    looped = sample("head", steps(outputs=1_000))
    views = StepViews(filler_sample(looped.trial, 50_000), {})
    last = views.of(None)
    assert last is not None
    assert len(last.trial.request.messages[0].content) <= MOST_TEXT + 10
