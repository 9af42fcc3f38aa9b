"""The tokens of a run: of which answers they are counted, and when they are unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fake_client import trial

from gatekeeper.contract.values.trial import Completion, JudgeAnswer, QuestionId, Sample
from gatekeeper.gate.measuring.further_calls import count_calls
from gatekeeper.sampling.runner import Run

PAID = Completion("yes", prompt_tokens=100, completion_tokens=5)
GRADE = JudgeAnswer(QuestionId("m/judge", "0" * 64, 0), replace(PAID, prompt_tokens=300))


def tokens(*samples: Sample) -> tuple[int | None, int | None, int | None]:
    found = count_calls(Run(samples, len(samples), 0, 0, 0, None, "done"))
    return found.prompt_tokens, found.completion_tokens, found.tokens


def test_a_run_without_calls_takes_no_tokens() -> None:
    assert tokens() == (0, 0, 0)


def test_answers_that_were_paid_count_once() -> None:
    first, second = Sample(trial(0), PAID), Sample(trial(1), PAID)
    assert tokens(first, second) == (200, 10, 210)
    again = replace(second, shared=True)
    replayed = replace(second, completion=replace(PAID, replayed=True))
    failed = Sample(trial(2), None, "HTTP 500")
    assert tokens(first, again, replayed, failed) == (100, 5, 105)


def test_judges_and_simulated_users_count_once_for_all_samples() -> None:
    graded = [Sample(trial(n), PAID, judge_answers=(GRADE,)) for n in range(2)]
    assert tokens(*graded) == (500, 15, 515)
    user = replace(GRADE, asked=QuestionId("m/user", "0" * 64, 0))
    talk = Sample(trial(0), replace(PAID, users=(user,)), judge_answers=(GRADE,))
    assert tokens(talk) == (700, 15, 715)
    silent = replace(GRADE, completion=None, error="HTTP 500")
    assert tokens(replace(talk, judge_answers=(silent,))) == (400, 10, 410)


@pytest.mark.parametrize(
    ("unknown", "prompt", "answer"),
    [({"prompt_tokens": None}, None, 10), ({"completion_tokens": None}, 200, None)],
)
def test_one_unknown_number_makes_the_sum_unknown(
    unknown: dict[str, None], prompt: int | None, answer: int | None
) -> None:
    samples = Sample(trial(0), PAID), Sample(trial(1), replace(PAID, **unknown))
    assert tokens(*samples) == (prompt, answer, None)
