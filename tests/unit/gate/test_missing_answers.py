"""How a single answer is missing, and how those of both arms are counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.judges import verdict
from support.outcomes import contract, outcome

from gatekeeper.checks.evaluate import prepare
from gatekeeper.contract.checks.judge_settings import question_id
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.contract.values.trial import (
    Completion,
    JudgeAnswer,
    MissingAnswer,
    Outcome,
    Sample,
    ToolCall,
)
from gatekeeper.gate.comparison.missing_answers import (
    missing_answers,
    missing_reasons,
    missing_warnings,
)
from gatekeeper.gate.measuring.monitor import evaluate_sample, judge_questions
from gatekeeper.gate.work import plan_run

CONTRACT = """\
contract: 1
name: words
prompt: ../prompts/words.md
model: openai/small
checks: [%s]
fixtures: [{id: a, vars: {word: red}, expected: red}]
"""
FORBIDS = "{type: not_contains, value: password}"
REFUSAL = "I'm sorry, but I can't help with that."


def missing(
    text: str,
    reason: str | None = "stop",
    checks: str = FORBIDS,
    judge: str | None = None,
    calls: tuple[ToolCall, ...] = (),
) -> MissingAnswer | None:
    """Return how an answer is missing for a contract. `judge` is what its judge says."""
    files = {
        "contracts/words.yaml": (CONTRACT % checks).encode(),
        "prompts/words.md": b"Say {{ word }}.",
    }
    work = plan_run(MemoryRevision(files), Policy())
    [job], trial = work.jobs, work.trials[0]
    answer = Completion(text, finish_reason=reason, tool_calls=calls)
    sample = Sample(trial, answer, output=text)
    evaluator = prepare(job.contract)
    answers = tuple(
        JudgeAnswer(question_id(question), Completion(judge or ""))
        for question in judge_questions(sample, job.contract, evaluator)
    )
    sample = replace(sample, judge_answers=answers)
    return evaluate_sample(sample, job.contract, evaluator).missing


@pytest.mark.parametrize(
    ("text", "reason", "way"),
    [
        ("It is red.", "stop", None),
        ("It is red.", None, None),
        ("It is red.", "eos_token", None),
        ("It is red.", "END_TURN", None),
        ("It is red.", "done", None),
        ("It is", "length", "cut off"),
        ("It is", "LENGTH", "cut off"),
        ("It is", "model_length", "cut off"),
        ("It is", "model_context_window_exceeded", "cut off"),
        ("It is", "abort", "cut off"),
        ("", "abort", "empty"),
        ("<think>It is red.</think>\n", "stop", "empty"),
        ("<think>It is</think>\n<think>red.</think>", "stop", "empty"),
        ("<think>It is r", "stop", "empty"),
        ("It is red.\n</think>\n\n", "stop", "empty"),
        ("<think>It is red.</think>red", "stop", None),
        ("It is red.</think>red", "stop", None),
        ("The tag <think> opens thoughts", "stop", None),
        ("red <think>It is.</think>", "stop", None),
        ("```\n```", "stop", "empty"),
        ("...", "stop", "empty"),
        ("\u2800\u3164", "stop", "empty"),
        ("👍", "stop", None),
        ("+", "stop", None),
        ("7", "stop", None),
        (REFUSAL, "stop", "refused in words"),
        ("Je ne peux pas répondre à cela.", "stop", "refused in words"),
        ('{"reply": "I cannot help with that."}', "stop", "refused in words"),
        (f"<think>{'The user asks. ' * 60}</think>{REFUSAL}", "stop", "refused in words"),
        (REFUSAL, "content_filter", "refused"),
        ("You cannot miss it. I can help you.", "stop", None),
    ],
)
def test_how_an_answer_is_missing(text: str, reason: str | None, way: MissingAnswer | None) -> None:
    assert missing(text, reason) == way


@pytest.mark.parametrize(
    ("text", "way"),
    [("", None), ("<think>I look.</think>", None), ("...", None), (REFUSAL, "refused in words")],
)
def test_an_answer_that_calls_a_tool_needs_no_words(text: str, way: MissingAnswer | None) -> None:
    assert missing(text, "tool_calls", calls=(ToolCall("find_order", "{}"),)) == way


@pytest.mark.parametrize(
    "check",
    [
        "{type: not_regex, pattern: '[A-Za-z]'}",
        "{type: not_regex, pattern: '[^0-9]'}",
        "{type: not_regex, pattern: '\\w'}",
        "{type: regex, pattern: '[a-z]', not: true}",
    ],
)
def test_a_check_that_forbids_letters_does_not_ask_for_nothing(check: str) -> None:
    assert missing("", checks=check) == "empty"


@pytest.mark.parametrize(
    ("check", "way"),
    [
        ("{type: refusal, expect: refusal}", None),
        ("{type: contains, values: [sorry, fine], match: any}", None),
        ("{type: json_valid, not: true}", "refused in words"),
        ("{type: length, min: 30, max: 60}", "refused in words"),
        ("{type: not_regex, pattern: 'x{3}'}", "refused in words"),
    ],
)
def test_a_check_that_sees_the_words_can_ask_for_a_refusal(
    check: str, way: MissingAnswer | None
) -> None:
    assert missing(REFUSAL, checks=check) == way


RUBRIC = "{judge: rubric, criteria: Is polite., model: openai/gpt-4o}"
FAITHFUL = '{judge: faithful, context: "{{ expected }}", model: openai/gpt-4o}'


@pytest.mark.parametrize(
    ("check", "says", "way"),
    [
        (RUBRIC, verdict("yes"), None),
        (FAITHFUL, '{"claims": []}', "refused in words"),
        (f"{RUBRIC[:-1]}, severity: warn}}, {FORBIDS}", verdict("yes"), "refused in words"),
    ],
    ids=["rubric", "no claims", "only a warning"],
)
def test_a_judge_that_passes_a_refusal_asks_for_it_unless_it_found_no_claim(
    check: str, says: str, way: MissingAnswer | None
) -> None:
    assert missing(REFUSAL, checks=check, judge=says) == way
    assert missing("", checks=check, judge=says) == "empty"


def outcomes(base: MissingAnswer | None, head: MissingAnswer | None, count: int) -> list[Outcome]:
    return [
        replace(outcome(f"f{number}", arm, 0, True), missing=way)
        for number in range(count)
        for arm, way in (("base", base), ("head", head))
    ]


@pytest.mark.parametrize(
    ("base", "head", "count", "found"),
    [
        ("cut off", "empty", 8, "worse"),
        ("cut off", "refused in words", 8, "worse"),
        ("cut off", "empty", 3, "undecided"),
        ("empty", "cut off", 8, "kept"),
        ("empty", "refused", 8, "kept"),
        (None, "cut off", 8, "worse"),
        (None, "empty", 1, "worse"),
        (None, "refused in words", 1, "undecided"),
        (None, "refused in words", 8, "worse"),
        ("refused in words", "refused in words", 8, "kept"),
    ],
)
def test_an_answer_of_which_nothing_is_left_is_worse_than_a_part(
    base: MissingAnswer | None, head: MissingAnswer | None, count: int, found: str
) -> None:
    names = [f"f{number}" for number in range(count)]
    result = missing_answers(contract(*names), outcomes(base, head, count), 0.05, {}, compares=True)
    assert result is not None
    assert result.found == found
    said = [reason.text for reason in missing_reasons(result)]
    assert bool(said) == (found != "kept")
    assert base is None or all(f"on base ({count} {base})" in text for text in said)
    assert not missing_warnings(result, missing_reasons(result))
