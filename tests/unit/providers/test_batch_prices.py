"""What a request costs in a batch: the list's price for batches, else half that of a call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request
from gatekeeper.providers.models import cost_estimate as prices
from gatekeeper.providers.models.cost_estimate import (
    expected_cost,
    worst_cost,
)
from gatekeeper.providers.models.price_list import price_list
from gatekeeper.providers.native import call_cost as costs
from gatekeeper.providers.native.call_cost import call_cost
from gatekeeper.providers.native.endings import TokenUsage

MODEL = "openai/gpt-4o-mini"
USAGE = TokenUsage(1_000, 100)
BATCHED = replace(USAGE, batched=True)


def models() -> list[str]:
    """The chat models of OpenAI and Anthropic in the list."""
    providers = ("openai", "anthropic")
    return [
        f"{entry['litellm_provider']}/{key.removeprefix(entry['litellm_provider'] + '/')}"
        for key, entry in sorted(price_list().items())
        if entry.get("litellm_provider") in providers and entry.get("mode") == "chat"
    ]


def test_the_list_has_prices_of_batches() -> None:
    listed = price_list()["gpt-4o-mini"]
    expected = 1_000 * listed["input_cost_per_token_batches"]
    expected += 100 * listed["output_cost_per_token_batches"]
    assert call_cost(MODEL, None, BATCHED) == pytest.approx(expected)


@pytest.mark.parametrize("batches", [{}, {"input_cost_per_token_batches": 9.0}])
def test_without_both_prices_it_is_half(
    batches: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"input_cost_per_token": 4e-6, "output_cost_per_token": 8e-6, "key": "m", **batches}
    monkeypatch.setattr(costs, "price_entry", lambda model: entry)
    assert call_cost(MODEL, None, BATCHED) == pytest.approx(0.5 * (1_000 * 4e-6 + 100 * 8e-6))


@pytest.mark.parametrize("tier", ["batch", "batches", "_batches", "flex"])
def test_what_an_answer_says_of_itself_makes_no_single_call_a_batch(tier: str) -> None:
    alone = call_cost("anthropic/claude-haiku-4-5", None, replace(USAGE, tier=tier))
    assert alone == call_cost("anthropic/claude-haiku-4-5", None, USAGE)


def test_no_batch_costs_more_than_its_worst_price() -> None:
    asked = [Message("user", "x" * 1_000)]
    for model in models():
        request = Request(model, tuple(asked), {"max_tokens": 100}, None, 0)
        cost, worst = call_cost(model, None, BATCHED), worst_cost(request, batched=True)
        if cost is not None:
            assert worst is not None
            assert cost <= worst <= (worst_cost(request) or 0.0)


@pytest.mark.parametrize("tier", [None, "auto", "flex", "priority"])
def test_the_worst_price_of_a_batch_is_no_other_tiers(tier: str | None) -> None:
    params = {"max_tokens": 100, **({"service_tier": tier} if tier else {})}
    request = Request(MODEL, (Message("user", "Hi"),), params, None, 0)
    plain = Request(MODEL, (Message("user", "Hi"),), {"max_tokens": 100}, None, 0)
    found, usual = worst_cost(request, batched=True), worst_cost(plain, batched=True)
    assert found is not None
    assert usual is not None
    assert found == pytest.approx(usual, rel=0.1)  # the parameter itself is sent as text


def test_an_unknown_price_stays_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prices, "price_entry", lambda model: None)
    assert worst_cost(Request(MODEL, (), {}, None, 0), batched=True) is None
    assert expected_cost(Request(MODEL, (), {}, None, 0), batched=True) is None


@pytest.mark.parametrize(
    ("batches", "share"),
    [
        ({}, 0.5),
        ({"input_cost_per_token_batches": 9.0}, 0.5),
        ({"input_cost_per_token_batches": 1e-6, "output_cost_per_token_batches": 2e-6}, 0.25),
    ],
)
def test_the_expected_price_is_that_of_the_bill(
    batches: dict[str, float], share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"input_cost_per_token": 4e-6, "output_cost_per_token": 8e-6, "key": "m", **batches}
    for module in (costs, prices):
        monkeypatch.setattr(module, "price_entry", lambda model: entry)
    request = Request("openai/of-this-test-only", (Message("user", "x" * 400),), {}, None, 0)
    prices._plain_rates.cache_clear()
    alone = expected_cost(request)
    assert alone == pytest.approx(100 * 4e-6 + 256 * 8e-6)
    assert expected_cost(request, batched=True) == pytest.approx(share * alone)
    usage = TokenUsage(100, 256, batched=True)
    assert call_cost(request.model, None, usage) == pytest.approx(share * alone)
