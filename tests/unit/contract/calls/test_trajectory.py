"""The trajectory of a sample: its answers, its calls with what they were answered, and its end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.outcomes import outcome

from gatekeeper.contract.calls.calls import as_called, next_messages, spoken
from gatekeeper.contract.calls.trajectory import AnsweredCall, trajectory
from gatekeeper.contract.values.call import Conversation
from gatekeeper.contract.values.definition import Message, ToolCall
from gatekeeper.contract.values.tools import Tools
from gatekeeper.contract.values.trial import REFUSED, Completion, Sample, ToolResult, Turn

FIND = ToolCall("find_order", '{"id": "A7"}', "call_9xQ")
REFUND = ToolCall("refund", '{"id": "A7"}')
FOUND, NONE = ToolResult('{"total": 40}'), ToolResult("", source="none")


def calling(*calls: ToolCall, results: tuple[ToolResult, ...] = (), state: str | None = None):
    return Turn("r", Completion("", finish_reason="tool_calls", tool_calls=calls), results, state)


def saying(text: str, reason: str | None = "stop") -> Turn:
    return Turn("r", Completion(text, finish_reason=reason))


def looped(*turns: Turn, call=None) -> Sample:
    made = outcome("f", "head", 0, True).sample
    tools = Tools(state={"open": 1})
    request = replace(made.trial.request, tools=tools, **({"call": call} if call else {}))
    completion = replace(turns[-1].completion, turns=turns)
    return replace(made, trial=replace(made.trial, request=request), completion=completion)


def test_a_trajectory_has_each_call_with_its_step_and_result() -> None:
    found = trajectory(
        looped(
            calling(FIND, REFUND, results=(FOUND, FOUND), state='{"open": 0}'), saying("Refunded.")
        )
    )

    assert found.calls == (AnsweredCall(0, FIND, FOUND), AnsweredCall(0, REFUND, FOUND))
    assert [answer.text for answer in found.answers] == ["", "Refunded."]
    assert (found.state, found.ended) == ({"open": 0}, "answered")


@pytest.mark.parametrize(
    ("last", "ended"),
    [
        (calling(FIND), "max_steps"),
        (calling(FIND, REFUND, results=(FOUND, NONE)), "unanswered"),
        (saying("", REFUSED), "refused"),
        (saying("Done."), "answered"),
    ],
)
def test_a_trajectory_says_why_it_ended(last: Turn, ended: str) -> None:
    found = trajectory(looped(calling(FIND, results=(FOUND,)), last))

    assert (found.ended, found.state) == (ended, {"open": 1})


def test_a_sample_without_a_loop_has_its_own_calls_and_no_results() -> None:
    single = replace(
        outcome("f", "head", 0, True).sample, completion=Completion("", tool_calls=(FIND,))
    )

    assert trajectory(single).calls == (AnsweredCall(0, FIND),)
    assert trajectory(single).ended == "answered"
    assert trajectory(replace(single, completion=None)).answers == ()


def test_the_model_sees_its_calls_and_their_results_under_ids_of_ours() -> None:
    made = looped(
        calling(FIND, results=(FOUND,)),
        saying("It cost 40."),
        calling(REFUND, results=(FOUND,)),
        saying("Done."),
        call=Conversation(("Refund it.",)),
    )

    sent = spoken(made).trial.request.messages[len(made.trial.request.messages) :]

    assert sent == (
        Message("assistant", "", (replace(FIND, id="call00001"),)),
        Message("tool", '{"total": 40}', answers="call00001"),
        Message("assistant", "It cost 40."),
        Message("user", "Refund it."),
        Message("assistant", "", (replace(REFUND, id="call00002"),)),
        Message("tool", '{"total": 40}', answers="call00002"),
    )
    assert next_messages(made.trial.request, made.completion.turns) is None
    assert as_called(made, 1).trial.request.messages[-1].role == "tool"
    assert trajectory(spoken(made)) == trajectory(made)
