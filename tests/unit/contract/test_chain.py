"""Chains as messages: outputs come into their places as they are, whatever they look like."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.calls.chain import (
    OUTPUT,
    REST,
    STEP,
    first_step,
    join_steps,
    markers,
    step_names,
    with_outputs,
    with_places,
)
from gatekeeper.contract.calls.conversation import calls_of, filled
from gatekeeper.contract.prompts.render import render_messages
from gatekeeper.contract.values.definition import (
    Message,
    MessageTemplate,
    Prompt,
    PromptStep,
    Target,
)
from gatekeeper.contract.values.trial import Request, SharedPrefix

TEXTS = st.text(max_size=30) | st.sampled_from(
    ["{{ a }}", "{% if a %}", "(output)", "a", "{{ word }}", "((output))a;"]
)


def prompt(*messages: str) -> Prompt:
    return Prompt("p", tuple(MessageTemplate("user", text, 1) for text in messages), "")


TARGET = Target(
    prompt("{{ a }}-{{ word }}-{{ b }}{{ a }}"),
    "m",
    {},
    steps=(PromptStep("a", prompt("{{ word }}")), PromptStep("b", prompt("x", "{{ a }}"))),
)


def chain(word: str) -> tuple[Message, ...]:
    values = {"word": word, **markers(TARGET)}
    rendered = [with_places(render_messages(one, values)) for one in TARGET.prompts]
    return join_steps(["a", "b"], rendered)


@given(TEXTS, TEXTS, TEXTS)
def test_each_call_has_the_outputs_as_they_are(word: str, a: str, b: str) -> None:
    messages = chain(word)
    assert step_names(messages) == ("a", "b")
    calls = calls_of(Request("m", messages, {}, None, 0))
    sent = [
        [m.content for m in filled(call.messages, [a, b][:number], ("a", "b"))]
        for number, call in enumerate(calls)
    ]
    assert sent == [[word], ["x", a], [f"{a}-{word}-{b}{a}"]]


def test_a_chain_is_the_same_in_every_process_and_has_no_marker() -> None:
    assert chain("w") == (
        *(Message("user", "w"), Message(STEP, "a")),
        *(Message("user", "x"), Message("user", ""), Message(OUTPUT, "a"), Message(STEP, "b")),
        *(Message("user", ""), Message(OUTPUT, "a"), Message(REST, "-w-")),
        *(Message(OUTPUT, "b"), Message(OUTPUT, "a")),
    )


def test_an_output_that_is_not_known_is_left_out() -> None:
    messages = (Message("user", "x "), Message(OUTPUT, "a"), Message(REST, " y"))
    assert with_outputs(messages, {}) == (Message("user", "x  y"),)


def test_only_the_first_step_shares_a_prefix() -> None:
    messages = chain("w")
    assert first_step(messages) == (Message("user", "w"),)
    request = Request("m", messages, {}, None, 0, shared_prefix=SharedPrefix(1, 10))
    assert [call.shared_prefix for call in calls_of(request)] == [SharedPrefix(1, 10), None, None]
