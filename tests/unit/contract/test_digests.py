"""Digests of meaning."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from gatekeeper.contract.meaning.digests import (
    file_meaning,
    prompt_digest,
    request_digest,
    target_digest,
)
from gatekeeper.contract.values.call import SINGLE, Chain, Conversation, Draft, Output
from gatekeeper.contract.values.definition import (
    Attachment,
    Message,
    MessageTemplate,
    Prompt,
    SimulatedUser,
    Target,
    ToolCall,
)
from gatekeeper.contract.values.trial import Request

PROMPT = Prompt(
    "p/a.md", (MessageTemplate("user", "hi", 1),), "hi", includes={"p/x.md": "1", "p/y.md": "2"}
)
HI = (Message("user", "hi"),)
TARGET = Target(PROMPT, "m", {"a": 1, "b": 2})


def test_requests_are_the_same_whatever_the_order_of_params() -> None:
    one, other = Request("m", HI, {"a": 1, "b": 2}, 1, 0), Request("n", HI, {"b": 2, "a": 1}, 2, 3)
    assert request_digest(one) == request_digest(other) != prompt_digest(one)
    bare = replace(one, params={})
    assert request_digest(bare) == prompt_digest(one) == prompt_digest(other)
    assert request_digest(bare) != request_digest(replace(bare, messages=(Message("x", "hi"),)))


def test_a_single_request_keeps_the_digest_by_which_answers_are_kept() -> None:
    """A recording, a cache and a history hold it: it must not change with the house."""
    asked = Request("m", HI, {"temperature": 0}, None, 0)
    sent = '{"messages":[{"content":"hi","role":"user"}],"params":{"temperature":0}}'
    assert request_digest(asked) == hashlib.sha256(sent.encode()).hexdigest()


CALLS = [
    SINGLE,
    *(Conversation(turns) for turns in [("a",), ("b",), ("a", "b"), ("ab",)]),
    *(Chain((n,), ((Draft("user", p),),)) for n in "ab" for p in [("a",), (Output("a"),), ()]),
    Chain(("a",), ((Draft("user", ()), Draft("user", ())),)),
    *(SimulatedUser("m", goal, turns) for goal in "ab" for turns in (1, 2)),
]


def test_requests_that_go_on_otherwise_have_other_digests() -> None:
    asked = [Request("m", HI, {}, None, 0, call=call) for call in CALLS]
    assert len({request_digest(one) for one in asked}) == len(CALLS)


def test_calls_results_and_files_of_messages_are_part_of_what_is_sent() -> None:
    one, other = (Attachment(p, "image/png", d, b"") for p, d in (("a.png", "1"), ("b.png", "2")))
    messages = [
        Message("tool", "hi"),
        *(Message("tool", "hi", answers=name) for name in "ab"),
        *(Message("tool", "hi", calls=(ToolCall(*call),)) for call in [("f", "1"), ("f", "2")]),
        *(Message("tool", "hi", files=files) for files in [(one,), (other,), (one, other)]),
    ]
    asked = [Request("m", (message,), {}, None, 0) for message in messages]
    assert len({request_digest(each) for each in asked}) == len(messages)
    moved = Message("tool", "hi", files=(replace(one, path="c.png"),))
    assert request_digest(replace(asked[0], messages=(moved,))) == request_digest(asked[5])


def test_a_target_is_what_is_sent_and_not_where_it_is_kept() -> None:
    moved = replace(PROMPT, path="q/a.md", text="other", includes={"q/x.md": "1", "q/y.md": "2"})
    swapped = replace(PROMPT, includes={"p/x.md": "2", "p/y.md": "1"})
    assert target_digest(replace(TARGET, prompt=moved)) == target_digest(TARGET)
    assert target_digest(replace(TARGET, prompt=swapped)) != target_digest(TARGET)
    assert target_digest(replace(TARGET, model="n")) != target_digest(TARGET)
    assert target_digest(replace(TARGET, params={"a": 1})) != target_digest(TARGET)


def test_a_file_is_its_data_where_it_has_any() -> None:
    assert file_meaning("a.json", '{"b": 1}') == file_meaning("a.yaml", "b: 1 # note") == {"b": 1}
    assert file_meaning("a.json", "{") == "{"
    assert file_meaning("a.txt", "{}") == "{}"
