"""The key `turn`: a check sees one answer of a conversation, with what was said before it."""

from __future__ import annotations

from gatekeeper.checks.check import Finding, failed
from gatekeeper.checks.evaluate import TurnCheck
from gatekeeper.contract.calls.calls import spoken
from gatekeeper.contract.values.call import Conversation
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request, Sample, Trial, Turn


def conversation(*answers: str) -> Sample:
    first = (Message("system", "s"), Message("user", "u1"))
    request = Request("m", first, {}, None, 0, call=Conversation(("u2", "u3")))
    turns = tuple(Turn("", Completion(answer)) for answer in answers)
    completion = Completion(answers[-1], turns=turns)
    trial = Trial("c", "f", "head", 0, request)
    return spoken(Sample(trial, completion, output="repaired"))


def seen(sample: Sample) -> Finding:
    said = " ".join(message.content for message in sample.trial.request.messages)
    return failed(f"{said} -> {sample.output}")


def test_it_sees_the_answer_and_what_was_said_before() -> None:
    sample = conversation("a1", "a2", "a3")
    said = [TurnCheck(seen, turn, 3)(sample).message for turn in (1, 2, 3)]
    assert said == [
        "answer 1: s u1 -> a1",
        "answer 2: s u1 a1 u2 -> a2",
        "answer 3: s u1 a1 u2 a2 u3 -> repaired",
    ]


def test_an_answer_that_never_came_is_undetermined() -> None:
    sample = conversation("a1")
    assert TurnCheck(seen, 2, 3)(sample).passed is None
    assert TurnCheck(seen, 1, 3)(sample).message == "answer 1: s u1 -> a1"


def test_a_pass_has_no_message() -> None:
    check = TurnCheck(lambda _: Finding(passed=True, score=0.5), 1, 3)
    assert check(conversation("a", "b", "c")) == Finding(passed=True, score=0.5)
