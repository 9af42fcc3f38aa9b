"""Prompts, providers, tests and variables of promptfoo: what each form means, and what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.foreign_files import loaded

from gatekeeper.contract.formats.promptfoo.variables import script_number, script_text
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.templates.rendering import render_prompt
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError

PATH = "evals/promptfooconfig.json"
IS_A: dict[str, Any] = {"type": "equals", "value": "a"}
TEST: dict[str, Any] = {"vars": {"q": "a"}, "assert": [IS_A]}


def read(more: dict[str, Any], **files: str) -> Contract:
    data = {"prompts": ["Say {{q}}"], "providers": ["openai:gpt-4o-mini"], "tests": [TEST]} | more
    texts = {f"evals/{name.replace('__', '.')}": text for name, text in files.items()}
    return loaded({PATH: json.dumps(data), **texts}, PATH)


def words(contract: Contract) -> list[Any]:
    """The variable `q` of each fixture."""
    return [fixture.vars["q"] for fixture in contract.fixtures]


def with_vars(**variables: Any) -> dict[str, Any]:
    return {"tests": [{"vars": variables, "assert": [IS_A]}]}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (with_vars(q=["a", "b"]), ["a", "b"]),
        (with_vars(q="file://q.txt"), ["from a file"]),
        (with_vars(q="file://q.yaml"), ['{"a":1}']),
        (with_vars(q=["x", "file://q.txt"]), ["x", "from a file"]),
        (with_vars(q="{{ r }}!", r="{{ s }}", s="yes"), ["yes!"]),
        (with_vars(q=4.0), [4]),
        (with_vars(q=None), [""]),
        ({"tests": "t.csv"}, ["one"]),
        ({"tests": ["file://t.jsonl", TEST]}, ["two", "a"]),
        ({"tests": [{"path": "t.json"}]}, ["three"]),
        ({"tests": [{"vars": "v.yaml", "assert": [IS_A]}]}, ["four"]),
        ({"tests": [{"vars": ["v.{yaml,yml}"], "assert": [IS_A]}]}, ["four"]),
        ({"tests": None, "defaultTest": TEST}, ["a"]),
        ({"tests": [{"vars": {"q": "b"}}], "defaultTest": "file://d.json"}, ["b"]),
        (
            {"tests": None, "scenarios": [{"config": [{"vars": {"q": q}} for q in "xy"],
                                           "tests": [{"assert": [IS_A]}]}]},
            ["x", "y"],
        ),
        ({"tests": None, "scenarios": [{"config": ["s.json"]}]}, ["five"]),
    ],
)  # fmt: skip
def test_tests_and_variables_have_many_forms(more: dict[str, Any], expected: list[Any]) -> None:
    contract = read(
        more,
        q__txt="from a file\n",
        q__yaml="a: 1\n",
        t__csv="q,__expected\none,equals:a\n",
        t__jsonl=json.dumps({**TEST, "vars": {"q": "two"}}) + "\n\n",
        t__json=json.dumps([{**TEST, "vars": {"q": "three"}}]),
        v__yaml="q: four\n",
        d__json=json.dumps({"assert": [IS_A]}),
        s__json=json.dumps([{"vars": {"q": "five"}, "assert": [IS_A]}]),
    )
    assert words(contract) == expected


@pytest.mark.parametrize(
    "more",
    [
        {"prompts": [3]},
        {"prompts": []},
        {"prompts": [{"label": "a"}]},
        {"prompts": {"Say {{q}}": "a"}},
        {"prompts": ["https://example.org/p.txt"]},
        {"prompts": ["file://p.docx"]},
        {"prompts": ["file://chat.txt"]},
        {"prompts": ["file://roles.md"]},
        {"prompts": ["file://none.txt"]},
        {"providers": []},
        {"providers": [{"label": "a"}]},
        {"providers": ["{{ env.MODEL }}"]},
        {"providers": ["echo"]},
        {"providers": ["exec:run.sh"]},
        {"providers": ["nobody:model"]},
        {"providers": [{"id": "openai:gpt-4o", "config": {"tools": "{{ tools }}"}}]},
        {"tests": [3]},
        {"tests": ["t.docx"]},
        {"tests": ["none-*.yaml"]},
        {"tests": ["https://example.org/t.csv"]},
        {"tests": ["t.{" + "a,b}{c,d}" + "{e,f}" * 9 + ".yaml"]},
        {"tests": ["ragged.csv"]},
        {"tests": [{"vars": [3]}]},
        {"tests": [{"vars": "list.json"}]},
        {"tests": [{"assert": {"type": "equals"}}]},
        {"tests": [{**TEST, "threshold": "high"}]},
        {"defaultTest": [TEST]},
        {"scenarios": [3]},
        {"scenarios": [{"config": ["make.py"]}]},
        {"scenarios": [{"config": [{}] * 300, "tests": [TEST] * 300}]},
        with_vars(q=["a"] * 300, r=["b"] * 300),
        with_vars(q="{{ env.HOME }}"),
        with_vars(q="x" * 90, r="{{ q }}" * 99_999),
        {"tests": [{"vars": {"q": "a"}, "assert": [{"type": "equals", "value": "{{ r }}!"}]}]},
    ],
    ids=lambda more: json.dumps(more)[:70],
)
def test_what_cannot_be_meant_is_an_error_of_the_file(more: dict[str, Any]) -> None:
    with pytest.raises(ContractError) as found:
        read(
            more,
            chat__txt='[{"role": "user", "content": "a"}]',
            roles__md="user:\nHi\n",
            ragged__csv="q,__expected\na\n",
            list__json="[1]",
        )
    assert {problem.path.partition("/")[0] for problem in found.value.problems} == {"evals"}


@pytest.mark.parametrize(
    "more",
    [
        {"providers": ["openai:gpt-4o", "python:model.py"]},
        {"providers": [{"id": "openai:gpt-4o", "config": {"shoeSize": 43}}]},
        {"providers": ["openai:responses:gpt-4o"]},
        {"tests": [TEST, "make.py"]},
        {"tests": [{**TEST, "shoeSize": 43}]},
        {"tests": [{**TEST, "options": {"shoeSize": 43}}]},
        {"tests": [TEST, {"vars": {"q": "file://make.py"}, "assert": [IS_A]}]},
        {"tests": [TEST, {"vars": {"q": "file://a.png"}, "assert": [IS_A]}]},
        {"tests": [TEST, {"vars": {"q": "{{ 1 + 1 }}"}, "assert": [IS_A]}]},
    ],
    ids=lambda more: json.dumps(more)[:70],
)
def test_what_gatekeeper_does_not_do_is_noted_and_the_rest_runs(more: dict[str, Any]) -> None:
    contract = read(more)
    assert contract.not_run != ()
    assert words(contract) == ["a"]


@pytest.mark.parametrize(
    ("provider", "model", "params"),
    [
        ({"openai:gpt-4o": {"config": {"top_p": 0.5}}}, "openai/gpt-4o", {"top_p": 0.5}),
        ({"id": "openai:o3", "config": {"reasoning": {"effort": "low"}}}, "openai/o3",
         {"reasoning_effort": "low"}),
        ({"id": "openai:gpt-4o", "config": {"tools": ["file://tools.json"]}}, "openai/gpt-4o",
         {"tools": [{"type": "function", "function": {"name": "look", "parameters": {}}}]}),
        ("file://p.yaml", "openai/gpt-4o", {"temperature": 0.25}),
    ],
)  # fmt: skip
def test_a_provider_has_many_forms(provider: Any, model: str, params: dict[str, Any]) -> None:
    files = {
        "tools__json": json.dumps([{"name": "look", "input_schema": {}}]),
        "p__yaml": "id: openai:gpt-4o\nconfig: {temperature: 0.25}\n",
    }
    target = read({"providers": [provider]}, **files).target
    assert target.model == model
    assert {name: target.params.get(name) for name in params} == params


@pytest.mark.parametrize(
    ("prompts", "text"),
    [
        ("Say {{q}}", "Say a"),
        ({"p.txt": "short"}, "From a file: a"),
        ([{"id": "file://p.txt", "label": "short"}], "From a file: a"),
    ],
)
def test_a_prompt_has_many_forms(prompts: Any, text: str) -> None:
    contract = read({"prompts": prompts}, p__txt="From a file: {{q}}")
    prompt = contract.target.prompt
    (message,) = render_prompt(prompt, contract.fixtures[0].vars, Budget())
    assert message == ("user", text)


def test_a_text_file_of_several_prompts_is_several_contracts() -> None:
    with pytest.raises(ContractError):
        read({"prompts": ["file://p.txt"]}, p__txt="A {{q}}\n---\n\n  B {{q}}\n---\n")
    texts = {
        PATH: json.dumps(
            {"prompts": ["file://p.txt"], "providers": ["openai:o3"], "tests": [TEST]}
        ),
        "evals/p.txt": "\n A {{q}}\n---\n",
    }
    assert loaded(texts, PATH).target.prompt.messages[0].line == 2


def test_values_are_written_as_javascript_writes_them() -> None:
    values = ["a", None, True, False, [1, [None, 2.0]], {"a": 1}, 1e21, 0.5, 10**30]
    assert [script_text(value) for value in values] == [
        "a", "", "true", "false", "1,,2", "[object Object]", "1e+21", "0.5", str(10**30),
    ]  # fmt: skip
    assert (script_number(4.0), script_number("4.0")) == (4, "4.0")
    assert isinstance(script_number(1e300), float)
