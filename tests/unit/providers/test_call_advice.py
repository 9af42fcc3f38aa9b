"""What validate says of calls to a model: refused parameters and unknown prices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gatekeeper.contract.models.params import HOSTED_PARAMS
from gatekeeper.contract.reading.model_traits import refusal
from gatekeeper.providers.call_advice import REFUSED, advise_on_calls, takes_no_seed


def advised(
    model: str, params: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None
) -> list[str | None]:
    """The parameters that advice is about; None for the price."""
    return [advice.param for advice in advise_on_calls(model, params or {}, environ or {})]


@pytest.mark.parametrize(
    ("model", "params", "found"),
    [
        ("openai/gpt-4o-mini", {"temperature": 0, "top_p": 0.5, "seed": 1}, []),
        ("openai/gpt-4o-mini", {"top_k": 4, "min_p": 0.1}, ["top_k", "min_p"]),
        ("gpt-4o-mini", {"top_k": 4}, ["top_k"]),
        ("openai/gpt-4o-mini", {"top_k": None}, []),
        ("anthropic/claude-sonnet-4-5", {"seed": 1, "top_k": 4}, ["seed"]),
        (
            "openai/gpt-4o",
            {"reasoning_effort": "low", "verbosity": "low"},
            ["reasoning_effort", "verbosity"],
        ),
        ("azure/gpt-4o", {"reasoning_effort": "low"}, ["reasoning_effort"]),
        ("openai/gpt-5-mini", {"reasoning_effort": "minimal", "verbosity": "low"}, []),
        ("openai/gpt-5-mini", {"reasoning_effort": "none"}, ["reasoning_effort"]),
        ("openai/gpt-5-mini", {"reasoning_effort": {"effort": "xhigh"}}, ["reasoning_effort"]),
        ("openai/gpt-6-astra", {"reasoning_effort": "none"}, ["reasoning_effort"]),
        ("openai/gpt-6-sol", {"reasoning_effort": "none"}, []),
        ("openai/o3", {"reasoning_effort": "low"}, []),
        ("openai/gpt-5-pro", {"seed": 1, "stop": ["x"], "max_tokens": 9}, ["seed", "stop"]),
        ("openai/responses/gpt-4o", {"seed": 1, "top_p": 0.5}, ["seed"]),
        ("openai/gpt-5.4", {"seed": 1}, []),
        ("openai/gpt-5.4", {"seed": 1, "tools": [{}]}, ["seed"]),
        (
            "xai/grok-4.3",
            {"stop": "x", "frequency_penalty": 1, "reasoning_effort": "low"},
            ["stop", "frequency_penalty"],
        ),
        ("xai/grok-code-fast-1", {"stop": "x"}, ["stop"]),
        ("openai/gpt-17", {}, [None]),
        ("github/meta/Llama-3.3-70B-Instruct", {"top_k": 4}, []),
        ("hosted_vllm/mine", {"top_k": 4}, []),
        ("ollama/llama3", {"top_k": 4}, []),
        ("recorded/a.jsonl", {"top_k": 4}, []),
        ("local/smollm2", {"top_k": 4}, []),
        ("no-such-provider/x", {"top_k": 4}, []),
        ("no such name", {"top_k": 4}, []),
    ],
)
def test_advice_names_what_a_provider_refuses_and_unknown_prices(model, params, found):
    assert advised(model, params) == found


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_BASE"])
def test_nothing_is_said_of_a_server_of_ones_own(name):
    assert advised("openai/mine", {"top_k": 4}, {name: "http://localhost:8000/v1"}) == []


def test_the_address_of_azure_is_no_server_of_ones_own() -> None:
    at = {"AZURE_API_BASE": "https://mine.openai.azure.com"}
    assert advised("azure/gpt-4o", {"top_k": 4}, at) == ["top_k"]
    assert advised("azure/of-my-own", {"temperature": 0}, at) == []


def test_the_effort_that_a_model_refuses_is_named() -> None:
    (advice,) = advise_on_calls("openai/gpt-5-pro", {"reasoning_effort": "none"}, {})
    assert "does not take `reasoning_effort: none`" in advice.what
    assert advice.fix == "use another effort, such as `high`"


def test_the_parameter_that_was_meant_is_proposed_if_the_provider_takes_it():
    (advice,) = advise_on_calls("openai/gpt-4o-mini", {"top_k": 4}, {})
    assert "`top_p`" in advice.fix
    (advice,) = advise_on_calls("mistral/mistral-small-latest", {"repetition_penalty": 1}, {})
    assert "did you mean" not in advice.fix


# A model of each provider that takes as much as any other of it.
MODELS = {
    "openai": ("gpt-4o-mini", "gpt-5-mini"),
    "azure": ("gpt-4o", "gpt-5-mini"),
    "anthropic": ("claude-3-5-haiku-20241022", "claude-sonnet-4-5"),
    "mistral": ("mistral-small-latest", "magistral-medium-latest"),
    "groq": ("llama-3.3-70b-versatile",),
    "deepseek": ("deepseek-chat", "deepseek-reasoner"),
    "xai": ("grok-3",),
    "perplexity": ("sonar",),
    "cerebras": ("llama3.1-8b",),
}


@pytest.mark.long
@pytest.mark.parametrize("provider", sorted(REFUSED))
def test_litellm_does_not_take_what_the_table_refuses(provider):
    import litellm

    for model in MODELS[provider]:
        taken = set(litellm.get_supported_openai_params(model, provider) or ())
        # Anthropic's own `top_k` is no parameter of OpenAI, and litellm passes it on.
        assert not REFUSED[provider] & taken, model
        assert REFUSED[provider] <= HOSTED_PARAMS
    if provider in ("openai", "azure"):
        for param in litellm.get_supported_openai_params("gpt-5-mini", provider) or ():
            assert param == "temperature" or not refusal(
                f"{provider}/gpt-5-mini", {param: 1}, param
            )


@pytest.mark.parametrize(
    ("model", "leaves_out"),
    [
        ("openai/gpt-4o-mini", False),
        ("gpt-4o-mini", False),
        ("mistral/mistral-small", False),
        ("ollama/llama3", False),
        ("local/smollm2", False),
        ("no such name", False),
        ("anthropic/claude-sonnet-4-5", True),
        ("perplexity/sonar", True),
        ("sambanova/Llama-3.3", True),
    ],
)
def test_a_seed_is_left_out_for_providers_that_take_none(model, leaves_out):
    assert takes_no_seed(model) is leaves_out
