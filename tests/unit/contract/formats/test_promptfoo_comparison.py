"""The generated cases of the comparison with promptfoo: gatekeeper decides each of them."""

from __future__ import annotations

import pytest

from gatekeeper.contract.formats.promptfoo.assertion_types import MAPPED
from scripts.compare_promptfoo.__main__ import report
from scripts.compare_promptfoo.cases import generate
from scripts.compare_promptfoo.grader import answer_promptfoo, embed
from scripts.compare_promptfoo.programs import gatekeeper_results

NOT_COMPARED = {
    "is-valid-function-call",
    "is-valid-openai-function-call",
    "pi",
    "select-best",
    *(kind for kind in MAPPED if kind.startswith("trajectory:")),
}
"""docs/formats.md says why."""


@pytest.mark.long
def test_every_case_is_decided() -> None:
    cases = generate(120, seed=3)
    found = gatekeeper_results(cases)
    assert sorted(found) == list(range(120))
    assert None not in found.values()
    assert set(found.values()) == {True, False}


def test_the_cases_use_every_type_that_both_programs_can_run() -> None:
    kinds = {case.kind for case in generate(120, seed=3)}
    assert {kind for kind in kinds if "`" not in kind} == MAPPED - NOT_COMPARED


def test_each_disagreement_is_reported() -> None:
    cases = generate(3, seed=1)
    kinds = [case.kind for case in cases]
    lines = list(report(cases, {0: True, 1: True, 2: False}, {0: True, 1: False}))
    assert lines[-3].split() == ["in", "all", "1", "of", "3", "agree"]
    assert lines[-2].startswith("  promptfoo True, here False: ")
    assert lines[-1].startswith("  promptfoo False, here not run: ")
    assert all(any(line.startswith(kind) for line in lines) for kind in kinds)


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("generate 3-4 concise evaluation steps", '{"steps": ["Read the reply."]}'),
        ("create one or more statements [grade: 1 of 1]", "Claim 0 [grade: 1 of 1]"),
        ("Natural language inference [grade: 1 of 2]", "order: Yes. No."),
        ("precise factuality evaluator [grade: 0 of 3]", '"category": "D"'),
        ("You are assessing a submitted answer [grade: 3 of 3]", "Y"),
        ("rate the Reply on one metric [grade: 3 of 3]", '"score": 10'),
        ("Generate question for the given answer [grade: 0 of 3]", "bananas"),
        ("user-specified rubric [grade: 2 of 3]", '"pass": false'),
    ],
)
def test_the_grader_answers_in_the_form_of_the_question(prompt: str, answer: str) -> None:
    assert answer in answer_promptfoo(prompt)


def test_a_text_without_a_grade_has_no_answer() -> None:
    with pytest.raises(ValueError, match="no grade"):
        answer_promptfoo("Which city?")


def test_texts_of_the_same_words_have_the_same_embedding() -> None:
    assert embed("The fox!") == embed("fox, the")
    assert embed("?") != embed("fox")
