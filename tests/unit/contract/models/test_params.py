"""Parameters and modes that cannot do what they say are refused where they are written."""

from __future__ import annotations

import json

import pytest
from support.edited_text import edited
from support.two_contracts import FILES, SHAPES, contract, revision

from gatekeeper.contract.loading.load import load_contract
from gatekeeper.contract.models.params import HOSTED_PARAMS, LOCAL_PARAMS
from gatekeeper.errors import ContractError, Problem

PATH = "contracts/a.yaml"
HOSTED = "openai/gpt-4o-mini"
TOOL_VALUES: dict[str, object] = {
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    "tool_choice": {"type": "function", "function": {"name": "f"}},
    "parallel_tool_calls": False,
}


def problems(more: str = "", model: str = HOSTED, **files: str) -> list[Problem]:
    """What loading the contract complains of."""
    text = edited(contract("a", extra=more), "model: m\n", f"model: {model}\n" if model else "")
    prompt = {"prompts/a.md": files["prompt"]} if "prompt" in files else {}
    try:
        load_contract(revision({**FILES, PATH: text, **prompt}), PATH, SHAPES)
    except ContractError as error:
        return list(error.problems)
    return []


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("temprature", "`temperature`"),
        ("Temperature", "`temperature`"),
        ("maxTokens", "`max_tokens`"),
        ("max_token", "`max_tokens`"),
        ("topp", "`top_p`"),
        ("api_base", "environment"),
        ("base_url", "environment"),
        ("api_key", "environment"),
        ("extra_headers", "environment"),
        ("extra_body", "environment"),
        ("functions", "`tools`"),
        ("function_call", "`tools`"),
        ("zzz", "use one of"),
    ],
)
def test_a_parameter_that_cannot_be_sent_is_refused_with_its_line(name: str, fix: str) -> None:
    for model in (HOSTED, "local/smollm2"):
        (found,) = problems(f"params:\n  seed: 1\n  {name}: 1\n", model)
        assert (found.path, found.line, found.field) == (PATH, 9, f"params.{name}")
        assert fix in found.fix


@pytest.mark.parametrize("written", ["maxTokns", "max_tokns"])
def test_one_of_a_prompt_file_is_named_there(written: str) -> None:
    prompt = f"---\nmodel: {HOSTED}\nparameters:\n  {written}: 5\n---\nA {{{{ x }}}}"
    (found,) = problems(model="", prompt=prompt)
    assert (found.path, found.line, found.field) == ("prompts/a.md", 4, "max_tokns")
    assert "`max_tokens`" in found.fix


@pytest.mark.parametrize(
    ("model", "names"), [(HOSTED, HOSTED_PARAMS), ("local/smollm2", LOCAL_PARAMS)]
)
def test_every_known_parameter_is_taken(model: str, names: frozenset[str]) -> None:
    written = {name: TOOL_VALUES.get(name, 1) for name in names}
    assert problems(f"params: {json.dumps(written)}\n", model) == []


@pytest.mark.parametrize("name", TOOL_VALUES)
def test_the_embedded_model_takes_no_tools(name: str) -> None:
    (found,) = problems(f"params: {json.dumps({name: TOOL_VALUES[name]})}\n", "local/smollm2")
    assert found.field == f"params.{name}"


@pytest.mark.parametrize(
    "written",
    [
        {"tools": []},
        {"tools": TOOL_VALUES},
        {"tools": [{"type": "web_search"}]},
        {"tools": [{"type": "mcp", "server_url": "https://evil.example"}]},
        {"tools": [{"type": "function", "function": {"name": "f"}, "server_url": "x"}]},
        {"tools": [{"type": "function", "function": "f"}]},
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        {"tools": [{"type": "function", "function": {"name": "f", "input_schema": {}}}]},
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": []}}]},
        {"tools": [{"type": "function", "function": {"name": "f", "description": 1}}]},
        {"tools": [{"type": "function", "function": {"name": "f", "strict": 1}}]},
        {"tools": [1]},
        {"tool_choice": "any"},
        {"tool_choice": {"type": "function"}},
        {"tool_choice": []},
        {"parallel_tool_calls": "yes"},
    ],
)
def test_a_tool_that_is_no_function_is_refused(written: dict[str, object]) -> None:
    (found,) = problems(f"params: {json.dumps(written)}\n")
    assert (found.path, found.line) == (PATH, 7)
    assert found.fix


def test_a_recording_takes_what_it_was_recorded_with() -> None:
    assert problems(f"params: {json.dumps(TOOL_VALUES)}\n", "recorded/r.jsonl") == []
    for name in ("a_setting_of_our_own", "repeat_penalty"):
        assert problems(f"params: {{{name}: 1}}\n", "recorded/r.jsonl") == []
    (found,) = problems("params: {temprature: 1}\n", "recorded/r.jsonl")
    assert "`temperature`" in found.fix


def test_every_wrong_name_is_told_at_once() -> None:
    found = problems("params: {temprature: 0, tools: [], seed: 1}\n")
    assert [problem.field for problem in found] == ["params.temprature", "params.tools"]


@pytest.mark.parametrize(
    "written",
    [
        "temperature: hot",
        "temperature: '0'",
        "temperature: true",
        "max_tokens: 1.5",
        "seed: x",
        "top_p: .nan",
        "max_tokens: [1]",
        f"max_tokens: 1{'0' * 400}",
    ],
)
def test_a_value_that_is_no_such_number_is_refused_with_its_line(written: str) -> None:
    (found,) = problems(f"params:\n  stop: x\n  {written}\n")
    assert (found.line, found.field) == (9, f"params.{written.partition(':')[0]}")


@pytest.mark.parametrize(
    "written", ["temperature: 0", "temperature: 0.7", "seed: 7", "top_p: null"]
)
def test_numbers_and_nothing_are_taken(written: str) -> None:
    assert problems(f"params: {{{written}}}\n") == []


@pytest.mark.parametrize("mode", ["observe", "assist", "enforce", "auto", "repair"])
def test_the_modes_stand(mode: str) -> None:
    assert problems(f"mode: {mode}\n") == []


def test_an_unknown_mode_is_told_with_those_there_are() -> None:
    (found,) = problems("mode: repiar\n")
    assert "`repair`" in found.fix


def test_without_a_mode_outputs_are_repaired() -> None:
    loaded = load_contract(revision(FILES), PATH, SHAPES)
    assert loaded.mode == "repair"
