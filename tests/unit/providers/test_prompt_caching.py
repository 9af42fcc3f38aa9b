"""Which prompts are marked for Anthropic's cache, what that costs, and what answers say of it and
of their reasoning."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.native_clients import CLAUDE, KEY, chat, counted, messages, used

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request, SharedPrefix
from gatekeeper.providers.http.http_client import Exchange
from gatekeeper.providers.models.cost_estimate import worst_cost
from gatekeeper.providers.models.endpoint import endpoint_of
from gatekeeper.providers.models.price_list import price_entry
from gatekeeper.providers.native import anthropic, openai_compatible
from gatekeeper.providers.native.prompt_caching import is_marked, marked_message

LONG = "word " * 4_000
MESSAGES = (Message("system", LONG), Message("user", "Hi"))
ENOUGH = SharedPrefix(1, len(LONG))


def request(model: str = CLAUDE, shared: SharedPrefix | None = ENOUGH) -> Request:
    return Request(model, MESSAGES, {"max_tokens": 5}, None, 0, shared_prefix=shared)


@pytest.mark.parametrize(
    ("model", "least"),
    [("claude-haiku-4-5", 4096), ("claude-opus-4-7", 2048), ("claude-sonnet-4-5", 1024)],
)
def test_a_prefix_is_marked_from_the_model_s_length_on(model: str, least: int) -> None:
    model = f"anthropic/{model}"
    assert (price_entry(model) or {})["prompt_cache_min_tokens"] == least
    assert is_marked(request(model, SharedPrefix(1, 4 * least)))
    assert not is_marked(request(model, SharedPrefix(1, 4 * least - 1)))
    assert marked_message(request(model, SharedPrefix(2, 4 * least))) == 1


@pytest.mark.parametrize(
    ("model", "shared"),
    [
        (CLAUDE, None),
        ("openai/gpt-4o", ENOUGH),  # keeps prefixes without a mark
        ("anthropic/claude-of-tomorrow", ENOUGH),  # nobody knows what writing costs
        ("bedrock/anthropic.claude-haiku-4-5-20251001-v1:0", ENOUGH),
    ],
)
def test_others_are_not_marked(model: str, shared: SharedPrefix | None) -> None:
    assert not is_marked(request(model, shared))
    assert marked_message(request(model, shared)) is None


def body(asked: Request) -> dict[str, Any]:
    endpoint = endpoint_of(asked.model, {"ANTHROPIC_API_KEY": KEY})
    sent = anthropic.build_request(endpoint, asked)
    assert sent is not None
    document: dict[str, Any] = json.loads(sent.body)
    return document


def test_the_mark_stands_at_the_end_of_the_shared_messages_and_changes_nothing_else() -> None:
    plain, marked = body(request(shared=None)), body(request())
    assert marked["system"][0].pop("cache_control") == {"type": "ephemeral"}
    assert marked == plain
    turns = (Message("user", LONG), Message("assistant", "Yes?"), Message("user", "a"))
    asked = Request(CLAUDE, turns, {}, None, 0, shared_prefix=SharedPrefix(2, len(LONG)))
    blocks = [turn["content"][0] for turn in body(asked)["messages"]]
    assert ["cache_control" in block for block in blocks] == [False, True, False]


def test_the_worst_price_counts_what_writing_costs() -> None:
    entry = price_entry(CLAUDE) or {}
    dear = entry["cache_creation_input_token_cost"]
    assert dear > entry["input_cost_per_token"]
    worst = worst_cost(request())
    assert worst is not None
    assert worst >= len(LONG) * dear


def test_what_is_written_and_read_is_billed_and_told() -> None:
    entry = price_entry(CLAUDE) or {}
    usage = counted(cache_creation_input_tokens=5_000, cache_read_input_tokens=7_000)
    answer = messages(usage=usage)
    found = anthropic.read_answer(CLAUDE, Exchange(body=json.dumps(answer).encode()))
    assert (found.cached_tokens, found.cache_write_tokens) == (7_000, 5_000)
    assert found.prompt_tokens == 13_000
    assert found.cost_usd == pytest.approx(
        1_000 * entry["input_cost_per_token"]
        + 5_000 * entry["cache_creation_input_token_cost"]
        + 7_000 * entry["cache_read_input_token_cost"]
        + 100 * entry["output_cost_per_token"]
    )
    worst = worst_cost(request())
    assert worst is not None


@pytest.mark.parametrize(
    ("more", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 600}}, 600),
        ({"prompt_cache_hit_tokens": 600}, 600),
        ({"prompt_tokens_details": {"cached_tokens": 0}}, 0),
        ({"prompt_cache_hit_tokens": 0, "prompt_tokens_details": {"cached_tokens": 600}}, 600),
        ({"prompt_cache_hit_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}, 0),
        ({"prompt_tokens_details": {}}, None),
        ({"prompt_tokens_details": {"cached_tokens": -1}}, None),
        ({}, None),
    ],
)
def test_what_openai_read_from_its_cache(more: dict[str, Any], cached: int | None) -> None:
    answer = chat(usage=used(1000, 100, **more))
    exchange = Exchange(body=json.dumps(answer).encode())
    found = openai_compatible.read_answer("openai/gpt-4o-mini", exchange)
    assert (found.cached_tokens, found.cache_write_tokens) == (cached, None)


@pytest.mark.parametrize(
    ("more", "reasoning"),
    [
        ({"completion_tokens_details": {"reasoning_tokens": 0}, "reasoning_tokens": 60}, 0),
        ({"completion_tokens_details": {"reasoning_tokens": 40}, "reasoning_tokens": 60}, 40),
        ({"completion_tokens_details": {"reasoning_tokens": -1}, "reasoning_tokens": 60}, 60),
        ({"completion_tokens_details": None, "reasoning_tokens": 0}, 0),
        ({"reasoning_tokens": 600}, 100),
        ({}, None),
    ],
)
def test_what_openai_says_of_its_reasoning(more: dict[str, Any], reasoning: int | None) -> None:
    answer = chat(usage=used(1000, 100, **more))
    exchange = Exchange(body=json.dumps(answer).encode())
    found = openai_compatible.read_answer("openai/gpt-4o-mini", exchange)
    assert found.reasoning_tokens == reasoning
