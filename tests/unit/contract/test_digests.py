"""Digests of meaning."""

from __future__ import annotations

from dataclasses import replace

from gatekeeper.contract.meaning.digests import file_meaning, request_digest, target_digest
from gatekeeper.contract.values.definition import Message, MessageTemplate, Prompt, Target

PROMPT = Prompt(
    "p/a.md", (MessageTemplate("user", "hi", 1),), "hi", includes={"p/x.md": "1", "p/y.md": "2"}
)
TARGET = Target(PROMPT, "m", {"a": 1, "b": 2})


def test_requests_are_the_same_whatever_the_order_of_params() -> None:
    messages = (Message("user", "hi"),)
    assert request_digest(messages, {"a": 1, "b": 2}) == request_digest(messages, {"b": 2, "a": 1})
    assert request_digest(messages, {}) != request_digest((Message("system", "hi"),), {})
    assert len(request_digest(messages, {})) == 64


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
