"""What a call cost: as litellm bills it, model by model."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from gatekeeper.providers.hosted import NATIVE_APIS
from gatekeeper.providers.litellm import load_litellm
from gatekeeper.providers.models.price_list import price_entry, price_list
from gatekeeper.providers.native.call_cost import (
    call_cost,
    is_billed_by_tokens,
    knows_off_peak,
    off_peak_prices,
)
from gatekeeper.providers.native.endings import TokenUsage

OPENAI = "openai/gpt-4o-mini"

USAGES = {
    "plain": TokenUsage(1_000, 100),
    "long": TokenUsage(300_000, 100),
    "cached": TokenUsage(1_000, 100, cached=600),
    "long and cached": TokenUsage(300_000, 100, cached=200_000),
    "written": TokenUsage(1_000, 100, cached=100, cache_writes=300),
    "reasoning": TokenUsage(1_000, 100, reasoning=64),
    "flex": TokenUsage(1_000, 100, cached=600, reasoning=64, tier="flex"),
    "priority": TokenUsage(1_000, 100, cached=600, tier="priority"),
    "long at priority": TokenUsage(300_000, 100, cached=600, tier="priority"),
}


def native_models() -> list[str]:
    """The chat models of the list that can be asked natively, by their full names."""
    found = []
    for key, entry in sorted(price_list().items()):
        provider = entry.get("litellm_provider")
        if provider not in NATIVE_APIS or entry.get("mode") != "chat":
            continue
        if provider in ("together_ai", "fireworks_ai") and "input_cost_per_token" not in entry:
            continue  # litellm guesses the price by the model's size, and is asked for it
        model = key if key.startswith(f"{provider}/") else f"{provider}/{key}"
        by_the_hour = "off_peak_pricing" in entry  # below, at hours of our own
        if is_billed_by_tokens(model) and "together-ai-" not in model and not by_the_hour:
            found.append(model)
    return found


def billed(litellm: Any, model: str, usage: TokenUsage) -> float:
    """What litellm makes of the same tokens."""
    details = {"cached_tokens": usage.cached, "cache_creation_tokens": usage.cache_writes}
    made = {"reasoning_tokens": usage.reasoning} if usage.reasoning else None
    response = litellm.ModelResponse(
        model=model,
        usage=litellm.Usage(
            prompt_tokens=usage.prompt,
            completion_tokens=usage.completion,
            total_tokens=usage.prompt + usage.completion,
            prompt_tokens_details=details,
            completion_tokens_details=made,
        ),
    )
    response.service_tier = usage.tier
    return float(litellm.completion_cost(completion_response=response, model=model))


@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.long)])
def test_as_litellm_bills_it(every: int) -> None:
    litellm = load_litellm()
    models = native_models()[::every]
    compared = 0
    wrong = []
    for number, model in enumerate(models):
        name, usage = list(USAGES.items())[number % len(USAGES)]
        if usage.tier and model.startswith("fireworks_ai/"):
            continue  # litellm bills every tier as the standard one, which it is not
        mine = call_cost(model, model.partition("/")[2], usage)
        try:
            theirs = billed(litellm, model, usage)
        except Exception:  # noqa: S112 - litellm takes some models of Azure for OpenAI's
            continue
        if mine is None and theirs == 0:
            continue  # no price is in the list: unknown, not free
        if mine is None or mine != pytest.approx(theirs, rel=1e-9, abs=1e-15):
            wrong.append((model, name, mine, theirs))
        compared += 1
    assert wrong == []
    assert compared > 200 / every


@pytest.mark.parametrize("name", USAGES)
def test_every_kind_of_token_has_its_price(name: str) -> None:
    litellm = load_litellm()
    for model in ("openai/gpt-5.1", "openai/gpt-5.4", "anthropic/claude-haiku-4-5", OPENAI):
        mine = call_cost(model, None, USAGES[name])
        assert mine == pytest.approx(billed(litellm, model, USAGES[name]), rel=1e-9), model


def test_a_model_without_a_price_is_unknown_and_never_free() -> None:
    assert call_cost("openai/a-server-of-our-own", None, USAGES["plain"]) is None
    assert call_cost("openrouter/some/model", "some/model", USAGES["plain"]) is None


def test_the_model_that_answered_is_billed() -> None:
    usage = USAGES["plain"]
    answered = call_cost("azure/a-deployment", "gpt-4o-mini-2024-07-18", usage)
    assert answered == call_cost("azure/gpt-4o-mini-2024-07-18", None, usage)
    assert answered is not None
    assert call_cost(OPENAI, "nobody-knows", usage) == call_cost(OPENAI, None, usage)
    assert call_cost(OPENAI, ["x"], usage) == call_cost(OPENAI, None, usage)


def test_an_answer_that_names_no_chat_model_does_not_choose_the_price() -> None:
    """Prices of embeddings and of sounds are a fraction of those of answers."""
    usage = USAGES["plain"]
    for named in ("text-embedding-3-small", "whisper-1", "tts-1"):
        assert price_entry(f"openai/{named}") is not None
        assert call_cost(OPENAI, named, usage) == call_cost(OPENAI, None, usage)


@pytest.mark.parametrize(
    "usage",
    [
        TokenUsage(1_000, 100, cached=1_001),
        TokenUsage(1_000, 100, cache_writes=1_001),
        TokenUsage(1_000, 100, cached=600, cache_writes=401),
    ],
)
def test_more_cached_than_the_prompt_has_is_no_known_cost(usage: TokenUsage) -> None:
    assert call_cost("anthropic/claude-haiku-4-5", None, usage) is None


def test_what_is_written_for_an_hour_is_dearer() -> None:
    model = "anthropic/claude-haiku-4-5"
    entry = price_entry(model)
    assert entry is not None
    dearer = entry["cache_creation_input_token_cost_above_1hr"]
    dear = entry["cache_creation_input_token_cost"]
    short = call_cost(model, None, TokenUsage(1_000, 0, cache_writes=300))
    long = call_cost(model, None, TokenUsage(1_000, 0, cache_writes=300, cache_writes_1h=200))
    assert short is not None
    assert long == pytest.approx(short + 200 * (dearer - dear))


def test_surcharges_make_every_token_dearer() -> None:
    model = "anthropic/claude-opus-4-8"
    plain = call_cost(model, None, TokenUsage(1_000, 100))
    assert plain is not None
    for names, factor in ((("us",), 1.1), (("us", "fast"), 2.2), (("mars",), 1.0)):
        found = call_cost(model, None, TokenUsage(1_000, 100, surcharges=names))
        assert found == pytest.approx(plain * factor)


@pytest.mark.parametrize(
    "moment",
    [
        "2026-11-20T00:30",  # a Friday
        "2026-11-20T01:00",
        "2026-11-20T03:59",
        "2026-11-20T04:00",
        "2026-11-20T23:59",
        "2026-11-21T03:00",  # a Saturday
        "2026-11-22T12:00",
    ],
)
def test_prices_by_the_hour(moment: str) -> None:
    from litellm.llms.deepseek.cost_calculator import generic_cost_per_token

    litellm = load_litellm()
    at = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    usage = litellm.Usage(1_000, 100, 1_100, prompt_tokens_details={"cached_tokens": 600})
    for model in ("deepseek-v4-pro", "deepseek-flash"):
        theirs = sum(generic_cost_per_token(model, usage, "deepseek", current_time=at))
        mine = call_cost(f"deepseek/{model}", model, TokenUsage(1_000, 100, cached=600), at)
        assert mine == pytest.approx(theirs, rel=1e-9)


def test_off_peak_hours() -> None:
    friday = datetime(2026, 11, 20, 3, 0, tzinfo=UTC)

    def cheap(**block: Any) -> bool:
        return bool(off_peak_prices({"off_peak_pricing": block}, friday))

    assert cheap(hours_utc="02:30-03:30")
    assert cheap(hours_utc=["22:00-23:00", "22:00-03:01"])
    assert cheap(hours_utc="00:00-00:00")
    assert not cheap(hours_utc="03:01-02:59")
    assert not cheap(hours_utc="22:00-03:00")
    assert cheap(windows=[{"hours_utc": "00:00-00:00", "weekdays": [5]}])
    assert not cheap(windows=[{"hours_utc": "00:00-00:00", "weekdays": [4, 6]}])
    assert not off_peak_prices({}, friday)
    assert not knows_off_peak({"off_peak_pricing": {"weekday_timezone": "Asia/Shanghai"}})


def test_kinds_of_tokens_with_other_prices_are_unknown() -> None:
    assert call_cost(OPENAI, None, TokenUsage(1_000, 100, other=True)) is None
    assert call_cost(OPENAI, None, TokenUsage(1_000, 100, images=200)) is None
    assert call_cost(OPENAI, None, TokenUsage(1_000, 100, audio=200)) is None


def test_sounds_have_their_own_price_where_the_list_has_it() -> None:
    model = "gemini/gemini-2.5-flash"
    text, sound = (call_cost(model, None, TokenUsage(1_000, 0, audio=n)) for n in (0, 200))
    assert text == pytest.approx(1_000 * 3e-7)
    assert sound == pytest.approx(800 * 3e-7 + 200 * 1e-6)
    assert call_cost(model, None, TokenUsage(1_000, 0, audio=1_001)) is None


@pytest.mark.parametrize(
    "model",
    ["dashscope/qwen-flash", "perplexity/sonar-deep-research", "openai/gpt-4o-search-preview"],
)
def test_what_is_billed_by_more_than_tokens(model: str) -> None:
    assert not is_billed_by_tokens(model)
    assert call_cost(model, None, USAGES["plain"]) is None
