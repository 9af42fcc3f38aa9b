"""A node of a cluster answers with its own keys, and sends none of them away."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.event_loop import in_event_loop
from support.openai_server import OpenAIServer, rate_limited, unauthorized

from gatekeeper import __version__
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed, NotRecorded
from gatekeeper.providers import ModelRouter
from gatekeeper.runs.ray_node import NodeFailure, NodeModels, read_answer

KEY = "sk-0123456789abcdef"
REQUEST = Request("openai/gpt-4o-mini", (Message("user", "hello"),), {}, None, 0)


@pytest.fixture(autouse=True)
def keyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


async def answer(says: Any, monkeypatch: pytest.MonkeyPatch) -> Completion | NodeFailure:
    with OpenAIServer(lambda _: says):
        node = NodeModels(())
        try:
            return read_answer(json.loads(await node.complete(REQUEST)))
        finally:
            await node._models.aclose()


@in_event_loop
async def test_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await answer("positive", monkeypatch)
    assert isinstance(found, Completion)
    assert (found.text, found.prompt_tokens) == ("positive", 10)
    assert found.cost_usd


@in_event_loop
async def test_no_key_is_in_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await answer(f"my key is {KEY}", monkeypatch)
    assert isinstance(found, Completion)
    assert KEY not in found.text


@in_event_loop
async def test_no_key_is_in_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await answer(unauthorized(f"Incorrect API key provided: {KEY}"), monkeypatch)
    assert isinstance(found, NodeFailure)
    assert KEY not in found.message
    assert found.as_error().fatal


@in_event_loop
async def test_a_pause_that_a_provider_asks_for_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    found = await answer(rate_limited("7"), monkeypatch)
    assert isinstance(found, NodeFailure)
    error = found.as_error()
    assert (error.retryable, error.retry_after, error.throttled) == (True, 7.0, True)


@pytest.mark.parametrize("noted", [False, True])
@in_event_loop
async def test_a_failure_with_more_than_a_call_has_is_told(
    monkeypatch: pytest.MonkeyPatch, noted: bool
) -> None:
    failure = CallFailed("slow", retryable=True) if noted else NotRecorded("no", "samples.jsonl")
    if noted:
        failure.add_note("on this node")

    async def fail(*_: object) -> Completion:
        raise failure

    monkeypatch.setattr(ModelRouter, "complete", fail)
    found = read_answer(json.loads(await NodeModels(()).complete(REQUEST)))
    assert isinstance(found, NodeFailure)
    assert (found.message, found.retryable, found.unexpected) == (str(failure), noted, False)


@in_event_loop
async def test_an_error_that_nobody_foresaw_is_an_answer_too() -> None:
    node = NodeModels(())
    request = replace(REQUEST, model=None)  # type: ignore[arg-type]
    found = read_answer(json.loads(await node.complete(request)))
    assert isinstance(found, NodeFailure)
    assert found.unexpected
    assert "Traceback" in found.message


@in_event_loop
async def test_it_says_what_it_is_and_has(monkeypatch: pytest.MonkeyPatch) -> None:
    node = NodeModels(())
    assert json.loads(await node.version()) == __version__
    assert json.loads(await node.slots("local/smollm2"))
    assert await node.slots("openai/gpt-4o-mini") == b"null"
    assert await node.can_stream(REQUEST) == b"true"
    assert await node.find_missing_key(["openai/gpt-4o-mini"]) == b"null"
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "OPENAI_API_KEY" in json.loads(await node.find_missing_key(["openai/gpt-4o-mini"]))
    await node._models.aclose()
