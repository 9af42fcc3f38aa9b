"""Which models can be made to answer in a form, known without a call."""

from __future__ import annotations

import pytest

from gatekeeper.providers.native.dialects import find_enforcement


@pytest.mark.parametrize(
    ("model", "schema", "choices"),
    [
        ("local/smollm2", True, True),
        ("recorded/samples.jsonl", True, False),
        ("openai/gpt-4o-mini", True, False),
        ("openai/gpt-3.5-turbo", False, False),
        ("openai/gpt-4", False, False),
        ("openai/of-tomorrow", True, False),
        ("hosted_vllm/own", True, False),
        ("anthropic/claude-haiku-4-5", True, False),
        ("anthropic/claude-3-haiku-20240307", True, False),
        ("ollama/llama3.2", True, False),
        ("gemini/gemini-2.5-flash", True, False),
        ("cerebras/llama3.1-8b", False, False),
        ("groq/of-tomorrow", False, False),
        ("/of-nobody", False, False),
    ],
)
def test_what_a_model_takes(model: str, schema: bool, choices: bool) -> None:
    found = find_enforcement(model)
    assert (found.schema, found.choices) == (schema, choices)
    assert found.reason
