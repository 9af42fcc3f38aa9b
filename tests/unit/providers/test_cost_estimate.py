"""The most that a request can cost: never less than what litellm would bill for it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from gatekeeper.contract.calls.calls import calls_of, sent_as
from gatekeeper.contract.values.call import Conversation
from gatekeeper.contract.values.definition import Attachment, Message, ToolCall
from gatekeeper.contract.values.trial import Completion, Request, Turn
from gatekeeper.providers.litellm import load_litellm
from gatekeeper.providers.models.cost_estimate import count_tokens, expected_cost, worst_cost

BAD_MAXIMA: list[dict[str, Any]] = [
    {"max_tokens": -1_000_000},
    {"max_tokens": "many"},
    {"max_tokens": True},
    {"max_tokens": [1]},
    {"max_tokens": 0},
    {"max_tokens": math.nan},
    {"max_completion_tokens": -1, "max_tokens": 1_000_000},
    {"max_completion_tokens": 1e300},
    {"max_completion_tokens": 10**400},
]


def request(model: str, text: str = "A sentence.", **params: Any) -> Request:
    return Request(model, (Message("user", text),), params, None, 0)


def worst(model: str, text: str = "A sentence.", **params: Any) -> float:
    found = worst_cost(request(model, text, **params))
    assert found is not None
    return found


@pytest.mark.parametrize("params", BAD_MAXIMA, ids=str)
@pytest.mark.parametrize("price", [worst_cost, expected_cost])
def test_no_parameter_makes_a_request_look_cheaper(price: Any, params: dict[str, Any]) -> None:
    """Not by nonsense, and not by a number that the price list cannot take."""
    plain = price(request("openai/gpt-4o-mini"))
    priced = price(request("openai/gpt-4o-mini", **params))
    assert plain is not None
    assert priced is not None
    assert priced >= plain


def test_an_answer_is_as_long_as_the_model_can_make_it() -> None:
    assert 6.0 < worst("o1") < 6.1
    assert worst("o1", max_tokens=1000) == pytest.approx(0.07, abs=0.01)
    assert worst("o1", max_completion_tokens=10, max_tokens=1000) > 0.06
    thinking = {"type": "enabled", "budget_tokens": 20_000}
    model = "anthropic/claude-sonnet-4-5"
    assert worst(model, max_tokens=100, thinking=thinking) > 0.3 > worst(model, max_tokens=100)


def test_the_dearest_tier_that_a_request_may_come_under_counts() -> None:
    long = "x" * 300_000
    model = "gemini/gemini-2.5-pro"
    rate = worst(model, long, max_tokens=1) / 300_000
    assert rate > 1.9 * worst(model, "x" * 100_000, max_tokens=1) / 100_000
    model = "openai/gpt-4o-mini"
    unset, flex = worst(model), worst(model, service_tier="flex")
    assert worst(model, service_tier="priority") == pytest.approx(unset, rel=0.001)
    assert unset > 1.5 * flex
    assert worst("dashscope/qwen-flash", "x" * 300_000) > 4 * worst("dashscope/qwen-flash")
    tier = {"service_tier": "something new"}
    assert worst("gpt-4o-mini", **tier) >= worst("gpt-4o-mini", service_tier="priority")


def test_tools_and_formats_are_input_too() -> None:
    tools = [{"type": "function", "function": {"name": "f", "description": "x" * 10_000}}]
    plain = worst("gpt-4o", max_tokens=1)
    assert worst("gpt-4o", max_tokens=1, tools=tools) > plain + 10_000 * 2.5e-6
    schema = {"type": "json_schema", "json_schema": {"schema": {"enum": ["é" * 1_000]}}}
    assert worst("gpt-4o", max_tokens=1, response_format=schema) > plain + 2_000 * 2.5e-6


@pytest.mark.parametrize(
    ("model", "params"),
    [
        ("perplexity/sonar-deep-research", {"max_tokens": 10}),
        ("gemini/gemini-2.5-pro", {"max_tokens": 10, "tools": [{"googleSearch": {}}]}),
    ],
)
def test_what_nothing_bounds_is_infinite(model: str, params: dict[str, Any]) -> None:
    assert worst(model, **params) == math.inf


def test_a_fine_tuned_model_has_a_price_with_a_maximum() -> None:
    found = worst("openai/ft:gpt-4o-mini-2024-07-18:org::id", max_tokens=100)
    assert 0 < found < 0.001


def test_a_search_is_billed_by_request() -> None:
    assert worst("perplexity/sonar", max_tokens=1) > 0.012


def test_what_has_no_price_is_unknown_and_what_runs_here_is_free(monkeypatch: Any) -> None:
    assert worst_cost(request("openai/a-server-of-our-own")) is None
    assert expected_cost(request("openai/a-server-of-our-own")) is None

    def refuse(*_: object) -> None:
        raise AssertionError("nobody is to be asked for a price")

    monkeypatch.setattr("socket.socket.connect", refuse)
    for model in ("local/smollm2", "recorded/a.jsonl", "ollama/llama3.3", "ollama_chat/x"):
        assert worst_cost(request(model)) == expected_cost(request(model)) == 0.0


def test_no_model_of_the_list_can_be_billed_more() -> None:
    """Each chat model's own maximum, asked at length and briefly, as litellm bills it."""
    litellm = load_litellm()
    checked = 0
    for model, entry in sorted(litellm.model_cost.items())[::7]:
        if entry.get("mode") != "chat" or model.startswith("ollama"):
            continue
        for text in ("Hello.", "word " * 60_000):
            most = worst_cost(request(model, text))
            if most is None or most == math.inf:
                continue
            answer = entry.get("max_output_tokens") or entry.get("max_tokens") or 0
            try:
                billed = litellm.cost_per_token(
                    model=model, prompt_tokens=len(text) // 4, completion_tokens=answer
                )
            except Exception:  # noqa: S112
                continue
            assert sum(billed) <= most, model
            checked += 1
    assert checked > 300


@pytest.mark.parametrize("price", [worst_cost, expected_cost])
def test_a_conversation_costs_what_its_calls_cost(price: Any) -> None:
    """An answer that comes back as input is as long as it may be."""
    params = {"max_tokens": 100}
    call = Conversation(("And another.", "Thank you."))
    conversation = Request(
        "openai/gpt-4o-mini", (Message("user", "A sentence."),), params, None, 0, call=call
    )
    answers = [Turn("", Completion(text * 100)) for text in "xy"]
    for number, step in enumerate(calls_of(conversation)):
        said = replace(sent_as(conversation, answers[:number]), inserted=0)
        assert price(step) >= price(said)
        assert (price(step) > price(replace(step, inserted=0))) is (number > 0)


def sending(model: str, *kinds: str) -> Request:
    files = tuple(Attachment(f"a{kind[-3:]}", kind, "0" * 64, b"x") for kind in kinds)
    return Request(
        model, (Message("user", "A sentence.", files=files),), {"max_tokens": 9}, None, 0
    )


def test_a_picture_is_priced_by_a_usual_size_and_at_most_by_the_largest() -> None:
    plain, one, two = (sending("openai/gpt-5-mini", *["image/png"] * count) for count in (0, 1, 2))
    about = [expected_cost(each) or 0.0 for each in (plain, one, two)]
    assert about[1] - about[0] == pytest.approx(1_600 * 2.5e-7)
    most = [worst_cost(each) or 0.0 for each in (plain, one, two)]
    assert most[1] - most[0] >= 50_000 * 2.5e-7
    assert most[2] - most[1] == pytest.approx(most[1] - most[0])
    assert count_tokens(one)[0][0] - count_tokens(plain)[0][0] == 1_600


@pytest.mark.parametrize("kind", ["application/pdf", "audio/wav"])
def test_a_document_or_a_sound_has_no_known_price_but_a_bound(kind: str) -> None:
    found = sending("openai/gpt-5-mini", kind)
    assert expected_cost(found) is None
    assert (worst_cost(found) or 0.0) >= 272_000 * 2.5e-7  # all that the model reads
    assert worst_cost(sending("gemini/gemini-2.5-flash", kind)) is not None
    assert worst_cost(sending("openrouter/nobody/knows", kind)) is None


def test_the_price_of_sounds_counts_where_it_is_higher() -> None:
    found = worst_cost(sending("gemini/gemini-2.5-flash", "audio/wav"))
    assert (found or 0.0) >= 1_048_576 * 1e-6  # three times the price of text


def test_calls_and_thoughts_that_go_back_count_as_input() -> None:
    said = Message("assistant", "", (ToolCall("f", "x" * 4_000, "call00001"),), opaque="y" * 8_000)
    plain = request("openai/gpt-5-mini")
    longer = replace(plain, messages=(*plain.messages, said))
    assert count_tokens(longer)[0][0] - count_tokens(plain)[0][0] == 3_000
    assert count_tokens(longer)[1][0] - count_tokens(plain)[1][0] > 12_000
