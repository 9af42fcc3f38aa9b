"""The key `turn`: a check sees one answer of a conversation, with what was said before it."""

from __future__ import annotations

from dataclasses import replace

from gatekeeper.checks.check import Finding, failed
from gatekeeper.checks.evaluate import TurnCheck
from gatekeeper.contract.calls.calls import spoken
from gatekeeper.contract.calls.trajectory import trajectory
from gatekeeper.contract.values.call import Conversation
from gatekeeper.contract.values.definition import Message, ToolCall
from gatekeeper.contract.values.tools import Tools
from gatekeeper.contract.values.trial import (
    Completion,
    Request,
    Sample,
    ToolResult,
    Trial,
    Turn,
)


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


def calling(*names: str, state: str | None = None) -> Turn:
    calls = tuple(ToolCall(name, "{}") for name in names)
    results = tuple(ToolResult(f"{name} done") for name in names)
    return Turn("", Completion("", tool_calls=calls, latency_ms=10), results, state)


def saying(text: str) -> Turn:
    return Turn("", Completion(text, latency_ms=1))


def looped(*turns: Turn) -> Sample:
    first = (Message("system", "s"), Message("user", "u1"))
    call = Conversation(("u2", "u3"))
    request = Request("m", first, {}, None, 0, call=call, tools=Tools(state={"at": "first"}))
    completion = replace(turns[-1].completion, turns=turns)
    trial = Trial("c", "f", "head", 0, request)
    return spoken(Sample(trial, completion, output="repaired"))


def worked(sample: Sample) -> Finding:
    """What a check of a turn sees: what was said before, the calls, the state and the time."""
    found, completion = trajectory(sample), sample.completion
    calls = ", ".join(one.call.name for one in found.calls)
    took = completion.latency_ms if completion else None
    return failed(f"{seen(sample).message} [{calls}] {found.state['at']} {took}")


def test_a_turn_of_an_agent_is_its_steps_since_the_answer_before() -> None:
    sample = looped(
        *(calling("look", "find", state='{"at": "found"}'), saying("a1")),
        saying("a2"),
        *(calling("pay"), calling("pay", state='{"at": "paid"}'), saying("a3")),
    )
    said = [TurnCheck(worked, turn, 3)(sample).message for turn in (1, 2, 3)]
    assert said == [
        "answer 1: s u1  look done find done -> a1 [look, find] found 11.0",
        "answer 2: s u1  look done find done a1 u2 -> a2 [] found 1.0",
        "answer 3: s u1  look done find done a1 u2 a2 u3  pay done  pay done -> repaired "
        "[pay, pay] paid 21.0",
    ]


def test_an_agent_that_never_answers_is_judged_by_what_it_did() -> None:
    sample = looped(saying("a1"), calling("look"), calling("look"))
    assert TurnCheck(worked, 1, 3)(sample).message == "answer 1: s u1 -> a1 [] first 1.0"
    assert "[look, look]" in TurnCheck(worked, 2, 3)(sample).message
    assert TurnCheck(worked, 3, 3)(sample).passed is None


def test_a_pass_has_no_message() -> None:
    check = TurnCheck(lambda _: Finding(passed=True, score=0.5), 1, 3)
    assert check(conversation("a", "b", "c")) == Finding(passed=True, score=0.5)
