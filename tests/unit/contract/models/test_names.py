from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.models.names import (
    ModelName,
    is_hosted,
    matches,
    read_model_name,
)
from gatekeeper.contract.reading.model_traits import MAX_CHARACTERS

REAL = (
    "openai/gpt-4o-mini",
    "openai/llama3.2:1b",
    "openai/ft:gpt-4o-mini:org::id",
    "together_ai/meta-llama/Llama-3.1-8B",
    "vertex_ai/claude-3-5-sonnet@20240620",
    "bedrock/anthropic.claude-3-haiku-20240307-v1:0",
    "bedrock/us-east-1/meta.llama3-8b-instruct-v1:0",
    "openrouter/deepseek/deepseek-r1:free",
    "fireworks_ai/accounts/fireworks/models/llama-v3p1-8b-instruct",
    "ollama/hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M",
    "azure/my_deployment",
    "nano-gpt/x",
)


@pytest.mark.parametrize("model", REAL)
def test_real_names(model: str) -> None:
    provider, _, name = model.partition("/")
    assert read_model_name(model) == ModelName(provider, name)
    assert str(read_model_name(model)) == model


@pytest.mark.parametrize(
    ("model", "read"),
    [
        ("gpt-4o-mini", "openai/gpt-4o-mini"),
        ("o3-mini", "openai/o3-mini"),
        ("o1", "openai/o1"),
        ("ft:gpt-4o-mini:org::id", "openai/ft:gpt-4o-mini:org::id"),
        ("claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("anthropic.claude-instant-v1", "bedrock/anthropic.claude-instant-v1"),
        ("us.amazon.nova-lite-v1:0", "bedrock/us.amazon.nova-lite-v1:0"),
        ("command-r-08-2024", "cohere_chat/command-r-08-2024"),
    ],
)
def test_bare_names(model: str, read: str) -> None:
    assert str(read_model_name(model)) == read


@pytest.mark.parametrize(
    "model",
    [
        "",
        "/",
        "openai/",
        "/gpt-4o",
        "llama-3",
        "o15-of-nobody",
        "openai//gpt-4o",
        "openai/https://evil.example/v1",
        "openai/../../evil",
        "openai/a..b",
        "openai/./a",
        "openai/gpt-4o ",
        " openai/gpt-4o",
        "openai/gpt 4o",
        "openai/gpt-4o\n",
        "openai/gpt\x004o",
        "openai/gpt?key=1",
        "openai/gpt#x",
        "openai/gpt%2e%2e",
        "openai/a\\b",
        "openai/@evil.example",
        "openai/gpt-4o-mini@evil.example",
        "openai/user@evil.example/x",
        "openai/evil.example:80/x",
        "openai/:8080",
        "openai/{x}",
        "openai/\uff0e\uff0e/x",
        "OpenAI/gpt-4o",
        "openai.com/x",
        "open:ai/x",
        "bedrock/agentcore/arn:aws:bedrock-agentcore:evil.example/:123456789012:runtime/x",
        "bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/x",
        "bedrock/ARN:aws:bedrock:us-east-1",
        "arn:aws:bedrock:us-east-1:1:x",
        "openai/x:arn:aws",
        "openai/" + "x" * MAX_CHARACTERS,
    ],
)
def test_what_is_no_name(model: str) -> None:
    with pytest.raises(ValueError, match="model"):
        read_model_name(model)


@given(st.text(max_size=60))
def test_a_name_that_is_read_holds_no_address(text: str) -> None:
    try:
        name = read_model_name(f"openai/{text}")
    except ValueError:
        return
    assert name.name == text
    assert text.isascii()
    assert not set(text) & set(" \t\r\n\\?#%")
    assert ".." not in text
    assert "//" not in text
    assert ":" not in text.rpartition("/")[0]


@pytest.mark.parametrize(
    ("model", "pattern", "fits"),
    [
        ("openai/gpt-4o", "openai/*", True),
        ("gpt-4o", "openai/*", True),
        ("openrouter/meta-llama/x:free", "openrouter/*", True),
        ("openrouter/meta-llama/x:free", "openrouter/meta-llama/*", True),
        ("anthropic/claude-3", "anthropic/claude-*", True),
        ("anthropic/other", "anthropic/claude-*", False),
        ("openai/gpt-4o", "openai/gpt-4o", True),
        ("openai/gpt-4o-mini", "openai/gpt-4o", False),
        ("text-completion-openai/x", "openai/*", False),
        ("openai/gptx4o", "openai/gpt.4o", False),
        ("groq/x", "*/x", True),
        ("groq/x", "*", True),
    ],
)
def test_patterns(model: str, pattern: str, fits: bool) -> None:
    assert matches(read_model_name(model), pattern) is fits


def test_what_takes_no_key() -> None:
    hosted = [is_hosted(m) for m in ("local/smollm2", "recorded/x.jsonl", "openai/x", "gpt-4o")]
    assert hosted == [False, False, True, True]
