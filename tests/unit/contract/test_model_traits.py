"""Parameters that a model refuses: an error with the line, before any call."""

from __future__ import annotations

from typing import Any

import pytest
from support.foreign_files import loaded

from gatekeeper.contract.models.answer_params import answer_params
from gatekeeper.contract.reading.model_traits import refusal
from gatekeeper.errors import ContractError


def refused(model: str, **params: Any) -> list[str]:
    """Return the parameters that the model refuses."""
    return [name for name in params if refusal(model, params, name)]


@pytest.mark.parametrize(
    "model",
    [
        *("openai/gpt-5", "openai/gpt-5-mini", "gpt-5-nano", "azure/gpt-5", "openai/gpt-5-codex"),
        *("openai/o1", "openai/o3", "openai/o3-mini", "o4-mini", "openai/ft:o4-mini:org::id"),
        *("openai/gpt-5.1", "openai/gpt-5.2-pro", "openai/gpt-6", "azure_ai/gpt-5-mini"),
        *("openai/gpt-5.1-chat-latest", "openai/gpt-5-mini-2025-08-07", "openai/o3-2025-04-16"),
    ],
)
def test_models_that_reason_take_no_sampling_parameters(model: str) -> None:
    values = {"temperature": 0, "top_p": 0.5, "presence_penalty": 1, "frequency_penalty": 1}
    assert refused(model, **values, logprobs=True) == [*values, "logprobs"]
    assert not refused(model, temperature=1, max_tokens=5, reasoning_effort="low", seed=1)
    assert not refused(model, temperature=None)


@pytest.mark.parametrize(
    "model",
    [
        *("openai/gpt-4o", "openai/gpt-4.1-mini", "openai/gpt-5-chat-latest", "openai/gpt-oss-20b"),
        *("ollama_chat/gpt-5", "openrouter/openai/gpt-5", "hosted_vllm/o3", "recorded/gpt-5.jsonl"),
        *("openai/o300", "mistral/mistral-small-latest", "openai/omni-moderation", "local/gpt-5"),
    ],
)
def test_other_models_take_them(model: str) -> None:
    assert not refused(model, temperature=0, top_p=0.5, stop=["a"])


def test_a_model_that_need_not_reason_takes_them_without_reasoning() -> None:
    assert not refused("openai/gpt-5.1", temperature=0, top_p=0.5, reasoning_effort="none")
    assert refused("openai/gpt-5.1", temperature=0, reasoning_effort="low") == ["temperature"]
    assert refused("openai/gpt-5.1", stop=["a"], reasoning_effort="none") == ["stop"]
    assert not refused("openai/gpt-6-sol", temperature=0, reasoning_effort="none")
    for always in ("gpt-5", "gpt-5.2-pro", "gpt-5.1-codex", "gpt-5.1-chat-latest", "gpt-6-astra"):
        assert refused(f"openai/{always}", temperature=0, reasoning_effort="none")


def test_the_stop_sequence_is_refused_except_by_the_first_of_them() -> None:
    assert refused("openai/o3-mini", stop=["a"]) == ["stop"]
    assert not refused("openai/o1", stop=["a"])


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("anthropic/claude-opus-4-7", True),
        ("anthropic/claude-opus-4-7-20260416", True),
        ("anthropic/claude-sonnet-5", True),
        ("claude-haiku-5-20270101", True),
        ("anthropic/claude-opus-4-6", False),
        ("anthropic/claude-sonnet-4-20250514", False),
        ("anthropic/claude-sonnet-4-5-20250929", False),
        ("anthropic/claude-3-7-sonnet-latest", False),
        ("bedrock/anthropic.claude-opus-4-7", True),
        ("bedrock/us.anthropic.claude-sonnet-5-5-20270101-v1:0", True),
        ("bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0", False),
        ("vertex_ai/claude-opus-4-8@default", True),
        ("azure_ai/claude-fable-5", True),
        ("openrouter/anthropic/claude-opus-4-7", False),  # it leaves them out
    ],
)
def test_claude_takes_none_from_version_4_7(model: str, found: bool) -> None:
    assert refused(model, temperature=0, top_k=4) == (["temperature", "top_k"] if found else [])
    assert not refused(model, temperature=1, max_tokens=4)


@pytest.mark.parametrize("kind", ["enabled", "adaptive"])
@pytest.mark.parametrize(
    "model", ["anthropic/claude-sonnet-4-5", "bedrock/anthropic.claude-3-7-sonnet-v1:0"]
)
def test_claude_takes_no_temperature_while_it_thinks(model: str, kind: str) -> None:
    thinking = {"type": kind, "budget_tokens": 2048}
    assert refused(model, temperature=0, top_k=4, top_p=0.97, thinking=thinking)[:2] == [
        "temperature",
        "top_k",
    ]
    assert not refused(model, temperature=1, top_k=None, thinking=thinking)
    assert not refused(model, temperature=0, top_k=4, thinking={"type": "disabled"})


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("anthropic/claude-opus-4-1-20250805", True),
        ("claude-haiku-4-5", True),
        ("vertex_ai/claude-sonnet-4-5@20250929", True),
        ("anthropic/claude-sonnet-4-20250514", False),
        ("anthropic/claude-3-5-haiku-latest", False),
        ("openai/gpt-4o", False),
    ],
)
def test_newer_claudes_take_a_temperature_or_top_p(model: str, found: bool) -> None:
    assert refused(model, temperature=0, top_p=0.9) == (["top_p"] if found else [])
    assert not refused(model, top_p=0.9)


@pytest.mark.parametrize(
    ("model", "written", "temperature"),
    [
        ("openai/gpt-4o-mini", {}, 0),
        ("openai/gpt-5-mini", {}, None),
        ("openai/gpt-7", {}, None),
        ("anthropic/claude-sonnet-4-5", {}, 0),
        ("anthropic/claude-sonnet-4-5", {"top_p": 0.5}, None),
        ("anthropic/claude-sonnet-4-5", {"thinking": {"type": "enabled"}}, None),
        ("anthropic/claude-sonnet-5", {}, None),
        ("bedrock/anthropic.claude-opus-4-7", {}, None),
    ],
)
def test_a_judge_is_asked_without_a_temperature_that_it_refuses(
    model: str, written: dict[str, Any], temperature: int | None
) -> None:
    assert answer_params(model, written, 100, None).get("temperature") == temperature


def contract(params: str, prompt: str = "Say {{ x }}", more: str = "") -> dict[str, str]:
    return {
        "c.yaml": (
            f"contract: 1\nname: c\nprompt: p.md\n{params}"
            "fixtures: [{vars: {x: a}}]\nchecks: [{type: contains, value: a}]\n" + more
        ),
        "p.md": prompt,
    }


@pytest.mark.parametrize(
    ("files", "path", "line"),
    [
        (contract("model: openai/gpt-5.1\nparams: {temperature: 0}\n"), "c.yaml", 5),
        (
            contract(
                "model: openai/o3\nparams:\n  seed: 1\n  top_p: 0.2\n",
            ),
            "c.yaml",
            7,
        ),
        (
            contract("", "---\nmodel: openai/gpt-5\nparams:\n  temperature: 0.2\n---\nSay {{ x }}"),
            "p.md",
            4,
        ),
        (
            contract(
                "model: openai/gpt-5\n",
                more=(
                    "groups:\n  g:\n    params: {stop: [a]}\n"
                    "    checks: [{type: contains, value: a}]\n"
                ),
            ),
            "c.yaml",
            None,
        ),
        (
            contract(
                "model: openai/gpt-4o-mini\n"
                "user:\n  model: openai/gpt-5\n  goal: x\n  params:\n    top_p: 0.3\n"
            ),
            "c.yaml",
            9,
        ),
    ],
)
def test_the_error_names_the_line(files: dict[str, str], path: str, line: int | None) -> None:
    with pytest.raises(ContractError) as found:
        loaded(files, "c.yaml")
    (problem,) = found.value.problems
    assert problem.path == path
    assert line is None or problem.line == line
    assert "does not take" in problem.what
    assert problem.fix.startswith("remove `")
    assert problem.what.count("does not take") == 1


def test_the_keys_of_an_effort_are_checked() -> None:
    params = "params:\n  reasoning_effort: {effort: high, sumary: auto}\n"
    with pytest.raises(ContractError) as found:
        loaded(contract("model: openai/gpt-5-pro\n" + params), "c.yaml")
    (problem,) = found.value.problems
    assert (problem.line, "'sumary'" in problem.what) == (6, True)
    params = "params: {reasoning_effort: {effort: high, summary: auto}}\n"
    assert loaded(contract("model: openai/gpt-5-pro\n" + params), "c.yaml")


def test_a_group_takes_over_the_effort_of_its_contract() -> None:
    files = contract(
        "model: openai/gpt-5.1\nparams: {reasoning_effort: none}\n",
        more=(
            "groups:\n  g:\n    params: {temperature: 0}\n"
            "    checks: [{type: contains, value: a}]\n"
        ),
    )
    assert loaded(files, "c.yaml").groups
