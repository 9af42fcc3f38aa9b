"""The family of a model by its name."""

from __future__ import annotations

import pytest

from gatekeeper.contract.models.names import family_of


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("openai/gpt-4o-mini", "GPT"),
        ("azure/my-gpt-4", "GPT"),
        ("openai/o3-mini", "GPT"),
        ("gpt-4o", "GPT"),
        ("openrouter/openai/gpt-4o", "GPT"),
        ("anthropic/claude-haiku-4-5", "Claude"),
        ("bedrock/anthropic.claude-3-haiku-20240307-v1:0", "Claude"),
        ("gemini/gemini-2.0-flash", "Gemini"),
        ("groq/llama-3.1-8b-instant", "Llama"),
        ("mistral/mistral-small", "Mistral"),
        ("groq/mixtral-8x7b", "Mistral"),
        ("deepseek/deepseek-chat", "DeepSeek"),
        ("groq/deepseek-r1-distill-llama-70b", "DeepSeek"),
        ("local/smollm2", "SmolLM"),
        ("ollama/phi3", "Phi"),
        ("ollama/llama3.2", "Llama"),
        ("ollama/our-own", None),
        ("openai/ft:gpt-4o-mini:us", "GPT"),
        ("openrouter/pixtral-12b", "Mistral"),
        ("cohere/command", "Command"),
        ("hosted_vllm/our-own", None),
        ("llamafile/our-own", None),
        ("recorded/contracts/gpt-4o.jsonl", None),
        ("mistral/mistral-embed", None),
        ("gemini/gemini-embedding-001", None),
    ],
)
def test_a_family_is_read_from_the_name(model, family):
    assert family_of(model) == family
