"""The price list names the entry that litellm itself bills by, without importing litellm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request
from gatekeeper.providers.litellm import load_litellm
from gatekeeper.providers.models import price_list as module
from gatekeeper.providers.models.cost_estimate import expected_cost
from gatekeeper.providers.models.price_list import mistyped_model, price_entry, price_list

# What the list calls some providers by, next to the names that a contract uses for them.
_FAMILIES = ("vertex_ai-", "bedrock_", "ai21", "huggingface", "ollama")


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("gpt-4o-mini", "gpt-4o-mini"),
        ("openai/gpt-4o-mini", "gpt-4o-mini"),
        ("openai/GPT-4o-mini", "gpt-4o-mini"),
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4-5-20991231", "claude-sonnet-4-5"),
        ("openai/ft:gpt-4o-mini-2024-07-18:org::id", "ft:gpt-4o-mini-2024-07-18"),
        ("gemini/gemini-2.5-pro-001", "gemini/gemini-2.5-pro"),
        ("litellm_proxy/gpt-4o", "gpt-4o"),
        ("azure_ai/gpt-4o", "gpt-4o"),
        ("amazon-nova/nova-micro-v1", "amazon-nova/nova-micro-v1"),
        ("bedrock/converse/us.amazon.nova-lite-v1:0", "us.amazon.nova-lite-v1:0"),
        ("bedrock/us-east-1/global.amazon.nova-lite-v1:0", "amazon.nova-lite-v1:0"),
    ],
)
def test_a_model_has_the_entry_of_its_provider(model: str, key: str) -> None:
    found = price_entry(model)
    assert found is not None
    assert found["key"] == key


@pytest.mark.parametrize(
    "model",
    ["openai/a-server-of-our-own", "openai/claude-sonnet-4-5", "sample_spec", "", "/", "a/b/c/d"],
)
def test_another_providers_price_is_no_price(model: str) -> None:
    assert price_entry(model) is None


def test_a_price_outlives_the_list_and_other_prices_come_from_the_file_again() -> None:
    known = price_entry("openai/gpt-4o-mini")
    module.release_price_list()
    assert price_entry("openai/gpt-4o-mini") is known
    assert price_list.cache_info().currsize == 0
    price_entry.cache_clear()
    assert price_entry("openai/gpt-4o-mini") == known


def test_the_entries_are_litellms_own() -> None:
    litellm = load_litellm()
    compared = 0
    for name, entry in sorted(price_list().items())[::11]:
        provider = entry.get("litellm_provider", "")
        if entry.get("mode") != "chat" or provider.startswith(_FAMILIES):
            continue
        for model in {name, name if name.startswith(f"{provider}/") else f"{provider}/{name}"}:
            found = price_entry(model)
            try:
                theirs = litellm.get_model_info(model)["key"]
            except Exception:  # noqa: S112  it knows no provider of this name
                continue
            assert found is not None, model
            assert found["key"] == theirs, model
            compared += 1
    assert compared > 150


def test_the_expected_cost_is_what_litellm_would_bill() -> None:
    litellm = load_litellm()
    compared = 0
    for name, entry in sorted(price_list().items())[::29]:
        if entry.get("mode") != "chat" or entry.get("litellm_provider", "").startswith(_FAMILIES):
            continue
        found = expected_cost(
            Request(name, (Message("user", "x" * 4000),), {"max_tokens": 500}, None, 0)
        )
        try:
            billed = litellm.cost_per_token(model=name, prompt_tokens=1000, completion_tokens=500)
        except Exception:  # noqa: S112
            continue
        if found and "perplexity" not in name and "search" not in name:
            assert found == pytest.approx(sum(billed), rel=0.5), name
            compared += 1
    assert compared > 40


def test_without_a_list_no_price_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Found:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr(module, "find_spec", lambda _: Found)
    assert module.price_list.__wrapped__() == {}
    (tmp_path / module._FILE).write_text("{", "utf-8")
    assert module.price_list.__wrapped__() == {}
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    assert module.price_list.__wrapped__() == {}


def test_a_price_is_read_without_importing_litellm() -> None:
    program = (
        "import sys; from gatekeeper.providers.models.price_list import price_entry; "
        "assert price_entry('openai/gpt-4o-mini'); sys.exit('litellm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("model", ["gpt-4o-mni", "openai/gpt-4o-mni", "openai/gpt-4o-minni"])
def test_a_slip_of_a_well_known_name_is_told(model: str) -> None:
    assert mistyped_model(model) in ("gpt-4o-mini", "openai/gpt-4o-mini")


@pytest.mark.parametrize(
    "model",
    ["openai/gpt-4o-mini", "openai/gpt-4.9", "openai/llama3.2:1b", "local/smollm", "hosted_vllm/x"],
)
def test_new_models_and_own_servers_are_no_slip(model: str) -> None:
    assert mistyped_model(model) is None
