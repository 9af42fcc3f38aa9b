"""What the HTML report says of a sample beside its output."""

from __future__ import annotations

from gatekeeper.contract.values.trial import Completion, Outcome, Request, Sample, Trial, Turn
from gatekeeper.reports.html.samples import _facts


def outcome(*answers: str, shared: bool = False, part_of: str | None = None) -> Outcome:
    turns = tuple(Turn("", Completion(answer)) for answer in answers)
    trial = Trial("c", "f", "head", 0, Request("m", (), {}, None, 0), part_of=part_of)
    completion = Completion(answers[-1], turns=turns if len(answers) > 1 else ())
    return Outcome(Sample(trial, completion, shared=shared))


def test_the_answers_before_the_last_one_are_shown() -> None:
    assert _facts(outcome("one\ntwo", "y" * 300, "last")).split(" · ") == [
        "answer 1: one two",
        "answer 2: " + "y" * 199 + "…",
    ]
    assert _facts(outcome("only")) == ""


def test_tokens_of_the_reasoning_are_a_part_of_the_output() -> None:
    request = Request("m", (), {}, None, 0)
    thought, silent = (
        Completion("a", None, 7, 300, reasoning_tokens=64),
        Completion("a", None, 7, 3),
    )
    facts = [
        _facts(Outcome(Sample(Trial("c", "f", "head", 0, request), completion)))
        for completion in (thought, silent)
    ]
    assert facts == ["7 → 300 tokens (64 for reasoning)", "7 → 3 tokens"]


def test_a_shared_answer_says_whose_it_is() -> None:
    assert "one answer counts for both" in _facts(outcome("a", shared=True))
    assert "sent before" in _facts(outcome("a", shared=True, part_of="c"))
