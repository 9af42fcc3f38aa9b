"""Which requests are for OpenAI's Responses API, and where they go."""

from __future__ import annotations

from typing import Any

import pytest

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request
from gatekeeper.providers.models.endpoint import endpoint_of
from gatekeeper.providers.models.price_list import price_entry
from gatekeeper.providers.native.responses import build_request, is_asked_here, refused_params

OPENAI = "https://api.openai.com/v1"
IN_A_REGION = "https://eu.privatelink.api.openai.com/v1"
OTHER = "http://localhost:8000/v1"
TOOLS: dict[str, Any] = {"tools": [{"type": "function", "function": {"name": "now"}}]}
SUMMARY: dict[str, Any] = {"reasoning_effort": {"effort": "low", "summary": "auto"}}


def with_effort(effort: str) -> dict[str, Any]:
    return {**TOOLS, "reasoning_effort": effort}


@pytest.mark.parametrize(
    ("model", "params", "address", "here"),
    [
        ("openai/gpt-5-pro", {}, OPENAI, True),
        ("openai/gpt-5-pro", {}, OTHER, True),
        ("openai/o3-pro-2025-06-10", {}, OPENAI, True),
        ("openai/responses/anything", {}, OTHER, True),
        ("azure/responses/my-deployment", {}, "https://mine.openai.azure.com", True),
        ("openai/gpt-5.4", TOOLS, OPENAI, True),
        ("openai/gpt-5.4", TOOLS, IN_A_REGION, True),
        ("openai/gpt-5.4", TOOLS, "https://api.openai.com.evil.example/v1", False),
        ("openai/gpt-5.4", TOOLS, OTHER, False),
        ("openai/gpt-5.4", with_effort("low"), OTHER, True),
        ("openai/gpt-5.4", with_effort("none"), OPENAI, False),
        ("openai/gpt-5.4", {}, OPENAI, False),
        ("openai/gpt-5.6-terra", TOOLS, OPENAI, True),
        ("openai/gpt-6-sol", with_effort("none"), OPENAI, False),
        ("openai/gpt-6-astra", with_effort("none"), OPENAI, True),  # it always reasons
        ("openai/gpt-7", TOOLS, OPENAI, True),
        ("azure/gpt-5.5", TOOLS, "https://mine.openai.azure.com", True),
        ("openai/gpt-5.1", with_effort("low"), OPENAI, False),
        ("openai/gpt-5-mini", TOOLS, OPENAI, False),
        ("openai/o4-mini", TOOLS, OPENAI, False),
        ("openai/gpt-4o", TOOLS, OPENAI, False),
        ("openai/gpt-5-mini", SUMMARY, OPENAI, True),
        ("openai/o4-mini", SUMMARY, OPENAI, True),
        ("openai/gpt-5-mini", SUMMARY, OTHER, False),
        ("openai/gpt-5-mini", {"reasoning_effort": {"effort": "low"}}, OPENAI, False),
        ("openrouter/openai/gpt-5-pro", {}, None, False),
        ("github/openai/gpt-5.4", TOOLS, None, False),
        ("mistral/responses/x", {}, None, False),
    ],
)
def test_the_api_is_chosen_by_model_and_parameters(
    model: str, params: dict[str, Any], address: str | None, here: bool
) -> None:
    assert is_asked_here(model, params, address) is here


@pytest.mark.parametrize(
    ("model", "address", "url"),
    [
        ("openai/gpt-5-pro", None, f"{OPENAI}/responses"),
        ("openai/gpt-5-pro", f"{OTHER}/", f"{OTHER}/responses"),
        ("openai/gpt-5-pro", f"{OTHER}/responses", f"{OTHER}/responses"),
        ("openai/gpt-5-pro", f"{OTHER}?key=1", None),
        ("azure/x", "https://a.openai.azure.com", "https://a.openai.azure.com/openai/v1/responses"),
        ("azure/x", "https://a.example/openai/v1/", "https://a.example/openai/v1/responses"),
        ("azure/x", "https://a.example/elsewhere", None),
    ],
)
def test_requests_go_to_the_address_of_the_provider(
    model: str, address: str | None, url: str | None
) -> None:
    variable = "AZURE_API_BASE" if model.startswith("azure/") else "OPENAI_BASE_URL"
    key = "AZURE_API_KEY" if model.startswith("azure/") else "OPENAI_API_KEY"
    endpoint = endpoint_of(model, {variable: address or "", key: "sk-0123456789abcdef"})
    sent = build_request(endpoint, Request(model, (Message("user", "Hi"),), {}, None, 0))
    assert (sent.url.partition("?")[0] if sent else None) == url
    assert sent is None or endpoint.refusal(sent.url, [sent.body]) is None


def test_the_price_is_that_of_the_model_behind_the_prefix() -> None:
    for provider in ("openai", "azure"):
        assert price_entry(f"{provider}/responses/gpt-4o") == price_entry(f"{provider}/gpt-4o")
    assert price_entry("openai/responses/nobody-knows") is None
    assert price_entry("mistral/responses/mistral-small-latest") is None


def test_parameters_without_a_value_are_not_refused() -> None:
    assert refused_params({"stop": None, "temperature": 0, "seed": 3}) == ["seed"]
