"""Calls: what is sent next, from the answers so far, and what a forecast counts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.calls.calls import (
    calls_of,
    chain_of,
    count_calls,
    known_messages,
    markers,
    next_messages,
    reached_steps,
    step_names,
    up_to,
    written_by_prompts,
)
from gatekeeper.contract.prompts.render import render_messages
from gatekeeper.contract.values.call import SINGLE, Chain, Conversation, Draft, Embedding, Output
from gatekeeper.contract.values.definition import (
    Message,
    MessageTemplate,
    Prompt,
    PromptStep,
    SimulatedUser,
    Target,
)
from gatekeeper.contract.values.tools import Tools
from gatekeeper.contract.values.trial import Completion, Request, SharedPrefix, Turn

TEXTS = st.text(max_size=30) | st.sampled_from(
    ["{{ a }}", "{% if a %}", "(output)", "a", "{{ word }}", "((output))a;"]
)
FIRST = (Message("system", "Be brief."), Message("user", "one"))


def test_the_requests_of_a_long_loop_share_their_messages() -> None:
    """So that a forecast of many turns with many steps takes neither long nor much memory."""
    call = Conversation(("two", "three"))
    loop = Request("m", FIRST, {}, None, 0, call=call, tools=Tools(max_steps=4))
    calls = calls_of(loop)
    assert [len(made.messages) for made in calls] == [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24]
    assert all(
        message is other
        for earlier in calls
        for message, other in zip(earlier.messages, calls[-1].messages, strict=False)
    )


def said(*texts: str) -> list[Turn]:
    return [Turn("", Completion(text)) for text in texts]


def prompt(*messages: str) -> Prompt:
    return Prompt("p", tuple(MessageTemplate("user", text, 1) for text in messages), "")


TARGET = Target(
    prompt("{{ a }}-{{ word }}-{{ b }}{{ a }}"),
    "m",
    {},
    steps=(PromptStep("a", prompt("{{ word }}")), PromptStep("b", prompt("x", "{{ a }}"))),
)


def chain(word: str) -> Request:
    values = {"word": word, **markers(TARGET)}
    first, *later = (render_messages(one, values) for one in TARGET.prompts)
    return Request("m", first, {}, None, 0, call=chain_of(["a", "b"], later))


@given(TEXTS, TEXTS, TEXTS)
def test_each_call_of_a_chain_has_the_outputs_as_they_are(word: str, a: str, b: str) -> None:
    request = chain(word)
    sent = [next_messages(request, said(a, b)[:n]) or () for n in range(3)]
    texts = [[m.content for m in messages] for messages in sent]
    assert texts == [[word], ["x", a], [f"{a}-{word}-{b}{a}"]]
    assert next_messages(request, said(a, b, "c")) is None
    assert "".join(written_by_prompts(request)) == f"{word}x-{word}-"


def test_a_chain_is_the_same_in_every_process_and_has_no_marker() -> None:
    a, b = Output("a"), Output("b")
    steps = (Draft("user", ("x",)), Draft("user", (a,))), (Draft("user", (a, "-w-", b, a)),)
    assert chain("w").call == Chain(("a", "b"), steps)
    assert step_names(chain("w")) == ("a", "b")
    shown = [message.content for message in known_messages(chain("w"))]
    assert shown == ["w", "x", "{{ a }}", "{{ a }}-w-{{ b }}{{ a }}"]


def test_only_the_first_step_shares_a_prefix() -> None:
    request = replace(chain("w"), shared_prefix=SharedPrefix(1, 10))
    assert [call.shared_prefix for call in calls_of(request)] == [SharedPrefix(1, 10), None, None]
    talk = replace(request, call=Conversation(("two",)))
    assert [call.shared_prefix for call in calls_of(talk)] == [SharedPrefix(1, 10)] * 2


@pytest.mark.parametrize(
    ("call", "inserted"),
    [
        (SINGLE, [0]),
        (Embedding(), [0]),
        (Conversation(("two", "three")), [0, 1, 2]),
        (SimulatedUser("u", "g", 2), [0, 1, 2]),
        (chain("w").call, [0, 1, 3]),
    ],
)
def test_a_forecast_has_each_request_and_counts_what_is_inserted(
    call: object, inserted: list[int]
) -> None:
    request = Request("m", FIRST, {}, None, 0, call=call)  # type: ignore[arg-type]
    calls = calls_of(request)
    assert [one.inserted for one in calls] == inserted
    assert len(calls) == count_calls(request)
    assert calls[0].messages == FIRST


@given(st.lists(TEXTS, max_size=4), st.integers(0, 4))
def test_a_part_of_a_call_sends_the_same_until_it_ends(turns: list[str], number: int) -> None:
    request = Request("m", FIRST, {}, None, 0, call=Conversation(tuple(turns)))
    for whole in (request, chain("w")):
        part = up_to(whole, number)
        for answered in range(count_calls(part)):
            answers = said("answer") * answered
            assert next_messages(part, answers) == next_messages(whole, answers)
        assert next_messages(part, said("answer") * count_calls(part)) is None


@pytest.mark.parametrize(
    ("used", "reached"),
    [({"b": "a", "": "b"}, {"a", "b"}), ({"b": "", "": "b"}, {"b"}), ({"b": "a", "": ""}, set())],
)
def test_an_output_may_reach_the_last_prompt_through_others(
    used: dict[str, str], reached: set[str]
) -> None:
    steps = tuple(
        (Draft("user", (text, *([Output(used[name])] if used[name] else []))),)
        for name, text in (("b", "y"), ("", "z"))
    )
    request = Request("m", (Message("user", "x"),), {}, None, 0, call=Chain(("a", "b"), steps))
    assert reached_steps(request) == reached
