"""A tool loop: which row answers a call, when the loop ends, and what hostile rows do."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import pytest

from gatekeeper.contract.calls.trajectory import Trajectory, trajectory, why_unfinished
from gatekeeper.contract.tools import answers, worker
from gatekeeper.contract.values.call import SINGLE, Call, Conversation
from gatekeeper.contract.values.definition import Message, SimulatedUser, ToolCall
from gatekeeper.contract.values.tools import (
    MOST_CALLS,
    Simulator,
    ToolAnswer,
    ToolRow,
    Tools,
    Unanswered,
)
from gatekeeper.contract.values.trial import (
    Completion,
    JudgeAnswer,
    QuestionId,
    Request,
    Sample,
    ToolResult,
    Trial,
)
from gatekeeper.errors import CallFailed
from gatekeeper.providers.http.http_client import encode_json
from gatekeeper.providers.native.chat_messages import chat_messages
from gatekeeper.sampling.completion_record import completion_record, read_completion
from gatekeeper.sampling.conversations import converse
from gatekeeper.sampling.stored_text import answer_text, is_long, stored_completion


def row(
    returns: Any = "ok", tool: str = "find", then: Sequence[Any] = (), **fields: Any
) -> ToolRow:
    when = fields.pop("when", {})
    given = (ToolAnswer(returns, **fields), *(ToolAnswer(each) for each in then))
    return ToolRow(tool, given, when)


def calls(*arguments: Any, tool: str = "find") -> Completion:
    written = (each if isinstance(each, str) else json.dumps(each) for each in arguments)
    return Completion("", 10.0, tool_calls=tuple(ToolCall(tool, text, "x") for text in written))


class Model:
    """Gives its answers in order, the last one again and again, and notes what it was sent."""

    def __init__(self, *said: Completion | str) -> None:
        self.said = [Completion(s, 10.0) if isinstance(s, str) else s for s in said]
        self.sent: list[tuple[Message, ...]] = []
        self.played: list[str] = []
        self.plays = '{"result": "shipped", "is_error": false}'

    async def ask(self, request: Request) -> Completion:
        assert request.tools is None
        self.sent.append(request.messages)
        return self.said.pop(0) if len(self.said) > 1 else self.said[0]


def run(model: Model, *rows: ToolRow, call: Call = SINGLE, **fields: Any) -> Sample:
    offered = {"tools": [{"type": "function", "function": {"name": "find"}}]}
    tools, first = Tools(rows, **fields), (Message("user", "Go."),)
    request = Request("m", first, offered, None, 0, call=call, tools=tools)

    async def user(asked: Request) -> JudgeAnswer:
        said = '{"message": "More.", "done": false, "reached": false}'
        if "play a tool" in asked.messages[0].content:
            model.played.append(asked.messages[1].content)
            said = model.plays
        return JudgeAnswer(QuestionId("u", "d", asked.repetition), Completion(said))

    completion = asyncio.run(converse(request, model.ask, user))
    return Sample(Trial("c", "f", "head", 0, request), completion, output=completion.text)


def ran(model: Model, *rows: ToolRow, **fields: Any) -> Trajectory:
    return trajectory(run(model, *rows, **fields))


@pytest.mark.parametrize(
    ("when", "args", "matches"),
    [
        ({}, {"id": 1}, True),
        ({"equals": {"id": 1}}, {"id": 1, "other": 2}, True),
        ({"equals": {"id": 1}}, {"id": True}, False),
        ({"equals": {"id": 1}}, {}, False),
        ({"equals": {"id": "caf\u00e9"}}, {"id": "cafe\u0301"}, True),
        ({"equals": {"at": {"x": [1, 2]}}}, {"at": {"x": [1, 2]}}, True),
        ({"equals": {"id": "{{ order }}"}}, {"id": "A7"}, True),
        ({"equals": {"id": "{{ order | replace('A', 'B') }}"}}, {"id": "B7"}, True),
        ({"schema": {"required": ["id"]}}, {"id": 1}, True),
        ({"schema": {"properties": {"id": {"type": "string"}}}}, {"id": 1}, False),
        ({"path": "$.items[?@.n > 3]"}, {"items": [{"n": 4}]}, True),
        ({"path": "$.items[?@.n > 3]"}, {"items": [{"n": 3}]}, False),
        ({"pattern": '"id": "A\\d+"'}, {"id": "A77"}, True),
        ({"pattern": '"id": "A\\d+"'}, {"id": "B"}, False),
    ],
)
def test_the_first_row_that_matches_answers(when: dict, args: dict, matches: bool) -> None:
    found = ran(
        Model(calls(args), "Done."),
        row("first", when=when),
        row("second"),
        variables={"order": "A7"},
    )

    assert found.calls[0].result is not None
    assert found.calls[0].result.text == ("first" if matches else "second")


def test_a_row_answers_in_sequence_and_repeats_its_last_answer() -> None:
    model = Model(calls({"id": 1}, {"id": 2}), calls({"id": 1}), calls({"id": 1}), "Done.")
    found = ran(model, row({"n": 1}, then=["two", "three"]))

    assert [c.result and c.result.text for c in found.calls] == [
        '{"n": 1}',
        "two",
        "three",
        "three",
    ]
    assert [c.step for c in found.calls] == [0, 0, 1, 2]


def test_the_state_changes_by_patches_that_later_rows_read() -> None:
    sets = ({"op": "add", "path": "/log/-", "value": "{{ args.id }}"},)
    model = Model(calls({"id": "A"}, {"id": "B"}), "Thanks.", calls({"id": "C"}), "Done.")
    made = run(
        model,
        row("{{ state.log | join('') }}", sets=sets),
        state={"log": ["0"]},
        call=Conversation(("More.",)),
    )
    found = trajectory(made)

    assert [c.result and c.result.text for c in found.calls] == ["0A", "0AB", "0ABC"]
    assert found.state == {"log": ["0", "A", "B", "C"]}
    assert made.completion is not None
    assert read_completion(completion_record(made.completion)) == made.completion


def test_errors_and_delays_of_tools() -> None:
    made = run(
        Model(calls({"id": 1}, {"id": 2}), "Sorry."),
        row("gone", is_error=True, delay_ms=300.0, when={"equals": {"id": 1}}),
        row("ok", delay_ms=200.0),
    )

    first = trajectory(made).calls[0].result
    assert first is not None
    assert (first.text, first.is_error) == ("Error: gone", True)
    # Two answers of 10 ms; the tools are called together, so the slower one counts.
    assert made.completion is not None
    assert made.completion.latency_ms == 320.0


def test_a_call_that_no_row_answers_ends_the_run_and_names_the_row() -> None:
    model = Model(calls({"id": "A7"}, {"id": "B"}), "never asked")
    made = run(model, row(when={"equals": {"id": "A7"}}))

    assert (trajectory(made).ended, len(model.sent)) == ("unanswered", 1)
    said = why_unfinished(made)
    assert said is not None
    assert said.startswith('No row answers find({"id": "B"}).')
    assert '{"tool": "find", "when": {"id": "B"}, "returns": "…"}' in said

    unknown = run(Model(calls({}, tool="drop")), row())
    assert why_unfinished(unknown) == "The model called drop({}), but `tools` has no such tool."


def test_a_call_without_a_row_is_told_from_one_with_broken_arguments() -> None:
    made = run(Model(calls("{", {"id": "B"})), row(when={"equals": {"id": "A7"}}))

    assert str(why_unfinished(made)).startswith('No row answers find({"id": "B"}).')


def test_an_unanswered_call_can_be_an_error_of_the_tool() -> None:
    model = Model(calls({"id": "B"}, tool="other"), "Sorry.")
    made = run(model, row(), unanswered="error")

    assert trajectory(made).ended == "answered"
    assert model.sent[1][-1] == Message(
        "tool", "Error: this tool is not available at the moment", answers="call00001"
    )


@pytest.mark.parametrize(
    "arguments", ['{"id": ', "[1]", '{"a": NaN}', "[" * 100_000, '{"a":1,"a":2}']
)
def test_arguments_that_are_no_json_object_are_an_error_that_the_model_sees(arguments: str) -> None:
    found = ran(Model(calls(arguments), "Sorry."), row())

    assert found.ended == "answered"
    assert found.calls[0].result is not None
    assert found.calls[0].result.is_error


@pytest.mark.parametrize(
    "said", [calls('{"id": "\\ud800"}'), calls('{"id": "A\ud800"}'), calls({}, tool="\udfff")]
)
@pytest.mark.parametrize("unanswered", ["error", "simulate"])
def test_half_a_character_of_a_model_or_a_tool_can_be_sent_back(
    said: Completion, unanswered: Unanswered
) -> None:
    model = Model(said, "A\udfff", said, "Done.")
    model.plays = '{"result": "\\ud800", "is_error": false}'
    echo, turns = row("{{ args.id }}", when={"pattern": "A"}), Conversation(("More.",))
    played = {"simulator": Simulator("s")} if unanswered == "simulate" else {}
    run(model, echo, call=turns, unanswered=unanswered, **played)
    assert len(model.sent) == 4
    assert encode_json({"messages": chat_messages(model.sent[-1], "openai")})


def test_a_model_that_never_stops_is_ended_in_each_turn_of_the_user() -> None:
    model = Model(calls({}))
    made = run(model, row(), max_steps=3)
    assert (trajectory(made).ended, len(model.sent)) == ("max_steps", 3)
    assert "max_steps" in str(why_unfinished(made))

    model = Model(calls({}), "Yes.", calls({}), calls({}), "Yes.")
    made = run(model, row(), max_steps=3, call=Conversation(("More.",)))
    assert (trajectory(made).ended, len(model.sent)) == ("answered", 5)


def test_a_simulated_user_goes_on_after_an_answer_without_calls() -> None:
    model = Model(calls({}), "Yes.", calls({}), "No.")
    made = run(model, row(), call=SimulatedUser("u", "g", 1))

    assert [m.role for m in model.sent[-1]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
        "tool",
    ]
    assert why_unfinished(made) is None


def test_a_model_can_play_a_tool_whose_call_no_row_answers() -> None:
    simulated = {"unanswered": "simulate", "simulator": Simulator("openai/s"), "state": {"n": 1}}
    model = Model(calls({"id": "A"}, {"id": "B"}), "Done.")
    made = run(model, row("paid", when={"equals": {"id": "A"}}), **simulated)

    results = [call.result for call in trajectory(made).calls]
    assert results == [ToolResult("paid"), ToolResult("shipped", source="simulated")]
    (asked,) = model.played
    assert all(text in asked for text in ('{"id": "B"}', '"returns": "paid"', '{"n": 1}'))
    assert made.completion is not None
    assert len(made.completion.users) == 1
    assert read_completion(completion_record(made.completion)) == made.completion

    model = Model(calls({"id": "B"}), "never asked")
    model.plays = "I refuse."
    with pytest.raises(CallFailed, match="the simulator openai/s gave no readable answer"):
        run(model, row(when={"equals": {"id": "A"}}), **simulated)


def test_people_read_every_call_with_what_the_tool_answered() -> None:
    waiting = replace(calls({"id": "B"}), text="Wait.")
    model = Model(calls({"id": "A7"}), waiting)
    made = run(model, row({"n": 1}, when={"equals": {"id": "A7"}}))

    assert answer_text(replace(made, output="Wait!")).splitlines() == [
        'tool call: find({"id": "A7"})',
        '-> {"n": 1}',
        "Wait!",
        'tool call: find({"id": "B"})',
        "-> no row",
    ]


@pytest.mark.parametrize("user", [Conversation(("More.",)), SimulatedUser("u", "g", 1)])
def test_people_read_where_the_user_goes_on(user: Conversation | SimulatedUser) -> None:
    made = run(Model(calls({}), "Yes.", "No."), row("done"), call=user)

    *before, said, last = answer_text(made).splitlines()
    assert before == ["tool call: find({})", "-> done", "Yes."]
    assert (said.startswith("user: "), last) == (True, "No.")


def test_an_answer_with_too_many_calls_ends_the_run() -> None:
    made = run(Model(calls(*[{}] * (MOST_CALLS + 1)), "never asked"), row())

    assert trajectory(made).ended == "max_steps"
    assert why_unfinished(made) == "One answer calls 65 tools; at most 64 are answered."


def test_a_conversation_that_grows_without_end_ends() -> None:
    model = Model(calls({"x": "y" * 300_000}))
    found = ran(model, row(), max_steps=50)

    assert (found.ended, len(model.sent)) == ("max_steps", 4)


def test_long_results_are_cut_after_the_evaluation() -> None:
    completion = run(Model(calls({}, {}), "Done."), row("y" * 60_000)).completion
    assert completion is not None
    assert is_long(completion)
    kept = stored_completion(completion)

    assert kept.is_part
    assert len(kept.turns[0].results[0].text) < 3_000
    assert (kept.text, stored_completion(kept)) == ("Done.", kept)


DOUBLE = {"op": "copy", "from": "/l", "path": "/l/-"}


@pytest.mark.parametrize(
    ("hostile", "said"),
    [
        (row(when={"pattern": "(?:a|aa)+c"}), "too much"),
        (row(when={"path": "$..[?count($..[?count($..*) > 99999]) > 1]"}), "too much"),
        (row(when={"schema": {"properties": {"x": {"pattern": "^(a+)+$"}}}}), "too much"),
        (
            row(
                "{% for x in range(100000) %}{% for y in range(100000) %}a{% endfor %}{% endfor %}"
            ),
            "",
        ),
        (row("{{ 'a' * 999999999 }}"), ""),
        (row(sets=(DOUBLE,) * 60), "too much"),
        (row(sets=({"op": "add", "path": "/a/b", "value": "{{ 'x' * 1000000 }}"},)), "state"),
        (row(sets=({"op": "remove", "path": "/none"},)), "`sets` cannot change the state"),
        (row("y" * 100_001), "result would have more than 100,000"),
        (row("{{ nothing }}"), "row 1 of `find`"),
    ],
)
@pytest.mark.long
def test_hostile_rows_are_failed_calls_within_limits(hostile: ToolRow, said: str) -> None:
    args = {"x": "a" * 40 + "!", "deep": [[[i] for i in range(100)] for _ in range(60)]}
    with pytest.raises(CallFailed, match=said or "row 1"):
        run(Model(calls(args), "never asked"), hostile, state={"a": {}, "l": ["x" * 1000]})


SLOW_FAULT = {"fault": "the text would be too long", "is_slow": True}
ANSWERS = answers.Answers([], "it takes too much time"), answers.Answers([SLOW_FAULT], None)


@pytest.mark.parametrize("answer", ANSWERS)
def test_rows_that_take_too_long_are_given_up(
    answer: answers.Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    class Slow:
        def ask(self, request: Any) -> Any:
            asked.append(request)
            return answer

    monkeypatch.setattr(answers, "_CHILD", Slow())
    monkeypatch.setattr(answers, "_overruns", defaultdict(list))
    for _ in range(5):
        with pytest.raises(CallFailed, match=r"too much time|too long"):
            run(Model(calls({})), row(when={"pattern": "given up"}))
    assert len(asked) == 3


@pytest.mark.parametrize(("slow_seconds", "is_slow"), [(0.0, True), (1e9, False)])
def test_the_child_says_whether_a_fault_took_long(
    slow_seconds: float, is_slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_SLOW_SECONDS", slow_seconds)
    asked: dict[str, Any] = {"args": {}, "state": None, "variables": {}, "counts": {}}
    (said,) = worker.answer({"rows": [asdict(row("{{ nothing }}"))], "asked": asked})
    assert said["is_slow"] is is_slow
