"""Which models are of one family, and which tests get a proposed answer."""

from __future__ import annotations

import json

import pytest

from gatekeeper.author.generation.files import FixtureRow
from gatekeeper.author.quality.judges import (
    accept_answers,
    lacks_answer,
    model_family,
    require_other_families,
)
from gatekeeper.errors import UsageError


@pytest.mark.parametrize(
    ("models", "family"),
    [
        (("openai/gpt-4o", "azure/gpt-5", "o3-mini", "openrouter/openai/chatgpt-4o"), "GPT"),
        (("anthropic/claude-sonnet-4-5", "bedrock/anthropic.claude-v2"), "Claude"),
        (("gemini/gemini-2.5-pro", "ollama/gemma2:9b"), "Gemini"),
        (("groq/llama-3.3-70b", "ollama/llama3.2:1b", "bedrock/meta.llama3-70b"), "Llama"),
        (("mistral/mistral-large", "mistral/codestral", "together_ai/Mixtral-8x7B"), "Mistral"),
        (("openrouter/qwen/qwen-2.5", "ollama/qwq"), "Qwen"),
        (("bedrock/amazon.titan-text", "other/titan-2"), "titan"),
        (("azure/4711",), "4711"),
    ],
)
def test_the_family_of_a_model_does_not_depend_on_who_serves_it(models, family):
    assert {model_family(model) for model in models} == {family}


def test_judges_are_several_and_of_other_families():
    require_other_families("openai/gpt-4o", ["anthropic/claude-opus-4-1", "gemini/gemini-2.5-pro"])
    for judges in (["anthropic/claude-1"], ["anthropic/claude-1"] * 2):
        with pytest.raises(UsageError, match="at least two"):
            require_other_families("openai/gpt-4o", judges)
    with pytest.raises(UsageError, match="azure/gpt-5"):
        require_other_families("openai/gpt-4o", ["anthropic/claude-1", "azure/gpt-5"])


@pytest.mark.parametrize(
    ("more", "lacks"),
    [
        ({}, True),
        ({"expected": ""}, False),
        ({"expected": None}, True),
        ({"metadata": {"valid": False}}, False),
        ({"metadata": {"valid": True}}, True),
        ({"metadata": None}, True),
        ({"turns": [{"user": "hi"}]}, False),
        ({"vars": None}, False),
    ],
)
def test_only_single_tests_without_an_expected_output_lack_an_answer(more, lacks):
    row = FixtureRow("a", json.dumps({"id": "a", "vars": {"x": "1"}} | more))
    assert lacks_answer(row) is lacks


def test_accepting_keeps_what_else_a_fixture_says():
    proposed = {"answer": "yes \ud800", "model": "m", "score": 1.0}
    data = {"vars": {"x": "1"}, "note": 1, "metadata": {"k": "v", "proposed": proposed}}
    other = FixtureRow("b", json.dumps({"id": "b", "vars": {}, "metadata": {"proposed": 1}}))
    rows, changed = accept_answers([FixtureRow("line 1", json.dumps(data)), other], None)
    assert changed == ("line 1",)
    assert rows[1] == other
    rows[0].line.encode("utf-8")
    assert rows[0].data == {
        "vars": {"x": "1"},
        "note": 1,
        "expected": "yes \ud800",
        "metadata": {"k": "v", "ground_truth": {"model": "m", "score": 1.0}},
    }
