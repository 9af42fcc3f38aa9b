"""Configurations of promptfoo: what becomes a contract, what is refused, and where errors point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited
from support.foreign_files import loaded, revision
from support.promptfoo_suite import PATH, YES, kinds, read, refused, suite

from gatekeeper.contract.files.contract_document import read_contract_documents
from gatekeeper.contract.formats.promptfoo import recognises
from gatekeeper.contract.formats.promptfoo.assertion import split_values
from gatekeeper.contract.formats.promptfoo.assertion_types import ALL_TYPES, NOT_RUN
from gatekeeper.contract.formats.promptfoo.javascript import NotJavaScriptError, translate_pattern
from gatekeeper.contract.formats.promptfoo.variables import script_number, script_text
from gatekeeper.contract.templates.budget import Budget
from gatekeeper.contract.templates.rendering import render_prompt
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError

IS = {"type": "equals"}


def words(contract: Contract) -> list[Any]:
    """The variable `q` of each fixture."""
    return [fixture.vars["q"] for fixture in contract.fixtures]


def with_vars(**variables: Any) -> dict[str, Any]:
    return {"tests": [{"vars": variables, "assert": YES["assert"]}]}


def test_the_table_of_the_documentation_names_the_same_types() -> None:
    path = Path(__file__).parents[4] / "scripts" / "other_tools.yaml"
    rows = [row for row in yaml.safe_load(path.read_text()) if "promptfoo" in row]
    named = {row["promptfoo"] for row in rows if "`" not in row["promptfoo"]}
    assert named == ALL_TYPES
    assert {row["promptfoo"] for row in rows if "otherwise" in row} <= NOT_RUN


def test_each_prompt_and_provider_is_a_contract() -> None:
    data = suite(
        {**YES, "prompts": ["short"], "providers": ["fast"]},
        {**YES, "vars": {"q": "b"}},
        prompts=[
            {"raw": "Say {{q}}", "label": "short"},
            {"raw": "Please say {{q}}", "label": "long"},
        ],
        providers=[
            {"id": "openai:gpt-4o-mini", "label": "fast", "config": {"temperature": 0.5}},
            {"id": "ollama:chat:llama3", "prompts": ["long"]},
            "python:model.py",
        ],
    )
    files = {PATH: json.dumps(data)}
    paths = [d.document.path for d in read_contract_documents(revision(files), PATH)]
    assert [p.rpartition("#")[2] for p in paths] == ["short-fast", "long-fast", "long-llama3"]
    contracts = [loaded(files, path) for path in paths]
    assert [len(contract.fixtures) for contract in contracts] == [2, 1, 1]
    assert contracts[0].target.params == {"temperature": 0.5, "max_tokens": 1024}
    assert (contracts[2].target.model, contracts[2].target.params) == ("ollama_chat/llama3", {})
    assert [kinds(contract) for contract in contracts] == [["provider"]] * 3


def test_variables_are_filled_in_and_multiplied() -> None:
    test = {
        "vars": {"q": ["{{n}} cats", "file://dog.txt"], "n": 2.0, "flags": [1, 2], "expected": "x"},
        "assert": [{"type": "contains", "value": "{{ n }}-{{q}}"}],
    }
    contract = read(suite(test), dog__txt="a dog\n")
    assert [f.vars["q"] for f in contract.fixtures] == ["2 cats", "a dog"]
    assert contract.fixtures[0].vars["flags"] == [1, 2]
    assert contract.fixtures[0].checks[0].params["value"] == "2-2 cats"
    assert (contract.fixtures[0].expected, "expected" in contract.fixtures[0].vars) == ("x", False)


def test_references_lead_to_templates_of_assertions() -> None:
    data = suite(
        {"vars": {"q": "a"}, "assert": [{"$ref": "#/assertionTemplates/short", "metric": "short"}]},
        assertionTemplates={"short": {"type": "word-count", "value": {"max": 3}}},
    )
    (check,) = read(data).fixtures[0].checks
    assert (check.type, check.name, check.params["max"]) == ("length", "short", 3)
    data["tests"][0]["assert"] = [{"$ref": "#/nowhere"}]
    assert refused(data)[0].field == "tests[0].assert[0]"
    data["loop"] = {"$ref": "#/loop"}
    data["tests"][0]["assert"] = [{"$ref": "#/loop"}]
    assert "refers back to itself" in refused(data)[0].what


def test_tests_with_own_thresholds_are_weighted_means() -> None:
    half = {"threshold": 0.5, "assert": [{"type": "contains", "value": "a", "weight": 2}]}
    contract = read(
        suite(YES, {**YES, **half}, defaultTest={"assert": [{"type": "contains", "value": "y"}]})
    )
    assert contract.pass_score is None
    plain, scored = contract.fixtures
    assert [spec.type for spec in plain.checks] == ["contains", "equals"]
    (mean,) = scored.checks
    assert (mean.type, mean.params["min"]) == ("mean_of", 0.5)
    assert [part.weight for part in mean.parts] == [1, 2]


def test_tools_are_sent_in_one_form() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tool = {"name": "weather", "input_schema": schema}
    provider = {"id": "anthropic:messages:claude-sonnet-4-5", "config": {"tools": [tool]}}
    test = {**YES, "assert": [{"type": "is-valid-openai-tools-call"}]}
    contract = read(suite(test, providers=[provider]))
    (sent,) = contract.target.params["tools"]
    assert sent == {"type": "function", "function": {"name": "weather", "parameters": schema}}
    assert contract.fixtures[0].checks[0].params["allowed"] == {"weather": schema}


def test_a_transform_of_a_test_and_of_an_assertion_take_one_part() -> None:
    part = {"type": "contains", "value": "a", "transform": "output.tags[0]"}
    test = {**YES, "assert": [part], "options": {"transform": "JSON.parse(output)"}}
    assert read(suite(test)).fixtures[0].checks[0].params["field"] == "tags[0]"


def test_a_text_file_can_hold_several_prompts() -> None:
    data = suite(YES, prompts=["file://all.txt"])
    files = {PATH: json.dumps(data), "evals/all.txt": "\n Say {{q}}\n---\nShout {{ q }}!\n\n---\n"}
    paths = [d.document.path for d in read_contract_documents(revision(files), PATH)]
    assert [path.rpartition("#")[2] for path in paths] == ["all", "all-2"]
    messages = [loaded(files, path).target.prompt.messages[0] for path in paths]
    assert [(m.content.split()[0], m.line) for m in messages] == [("Say", 2), ("Shout", 4)]


def test_without_prompts_the_variable_is_sent() -> None:
    data = suite({**YES, "vars": {"prompt": "Hi"}})
    del data["prompts"]
    contract = read(data)
    assert contract.target.prompt.messages[0].content == "{{ prompt }}"
    assert contract.fixtures[0].vars == {"prompt": "Hi"}


def test_errors_stand_where_the_file_is_wrong() -> None:
    text = (
        "prompts: ['Say {{q}}']\nproviders: [openai:gpt-4o-mini]\ntests:\n"
        "  - vars: {q: a}\n    assert:\n      - type: contians\n        value: a\n"
        "      - {type: regex, value: '(?i)a'}\n"
    )
    with pytest.raises(ContractError) as found:
        loaded({"evals/p.yaml": text}, "evals/p.yaml")
    (problem,) = found.value.problems
    assert (problem.path, problem.line, "contains" in problem.fix) == ("evals/p.yaml", 6, True)
    with pytest.raises(ContractError) as found:
        loaded({"evals/p.yaml": edited(text, "contians", "contains")}, "evals/p.yaml")
    assert found.value.problems[0].line == 8
    row = refused(suite("file://t.csv"), t__csv="q,__expected\na,yes\nb,regex:[\n")
    assert [(problem.path, problem.line) for problem in row] == [("evals/t.csv", 3)]


@pytest.mark.parametrize(
    "test",
    [
        {"vars": {"q": "file://value.py"}},
        {"vars": {"q": "{{ range(9) }}"}},
        {"options": {"prefix": "Dear"}},
        {"options": {"transform": "eval(output)"}},
        {"options": {"transformVars": "1"}},
        {"providerOutput": "yes"},
        {"provider": "openai:gpt-4o"},
        {"assertScoringFunction": "file://score.js"},
        {"threshold": 0},
        {"assert": [{"type": "equals", "value": "file://value.js"}]},
        {"assert": [{"type": "equals", "value": "yes", "transform": "output.split(' ')[0]"}]},
        {"assert": [{"type": "not-factuality", "value": "yes"}]},
        {"assert": [{"type": "context-faithfulness"}]},
        {"assert": []},
    ],
)
def test_a_test_that_cannot_be_run_is_named_and_left_out(test: Any) -> None:
    contract = read(suite(YES, {**YES, **test}, prompts=["Say {{q}}"]))
    assert len(contract.fixtures) == 1
    assert contract.not_run
    assert refused(suite({**YES, **test}))


def test_large_products_are_refused_before_they_are_made() -> None:
    names = {f"v{index}": ["x"] * 50 for index in range(8)}
    (problem,) = refused(suite({**YES, "vars": {"q": "a", **names}}))
    assert "39,062,500,000,000" in problem.what
    growing = {"a": "{{b}}" * 200, "b": "{{c}}" * 200, "c": "x" * 5_000}
    (problem,) = refused(suite({**YES, "vars": {"q": "a", **growing}}))
    assert "`" in problem.what


def test_other_data_is_not_recognised() -> None:
    assert recognises(PATH, suite(YES))
    for data in ([], {}, {"providers": []}, {"messages": [], "providers": [], "tests": []}, None):
        assert not recognises(PATH, data)


@given(st.text(alphabet='ab,"\\ ', max_size=30))
def test_splitting_never_hangs_and_parts_are_from_the_text(text: str) -> None:
    for part in split_values(text) or []:
        assert set(part) <= set(text)


def test_patterns_match_what_javascript_matches() -> None:
    import regex

    matching = [(r"^\w+$", "abc", True), (r"^\w+$", "abc\n", False), (r"^\w+$", "käse", False),
                (r"a.b", "a\u2028b", False), (r"[^]", "\n", True), ("[]", "a", False),
                (r"\d", "٣", False), (r"\s", "\ufeff", True), (r"\bé", "é", False),
                (r"(?<n>a)\k<n>", "aa", True), (r"(a)\1", "aa", True), (r"^(a)?\1b", "b", True),
                ("{", "{", True), (r"[\S]", "\u3000", False),
                (r"\/\-\x41\u0042", "/-AB", True)]  # fmt: skip
    for pattern, text, expected in matching:
        assert bool(regex.search(translate_pattern(pattern), text)) is expected, pattern
    for pattern in ("(?i)a", "a++", "(?P<n>a)", "[a", "a\\"):
        with pytest.raises(NotJavaScriptError):
            translate_pattern(pattern)


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
        ({"tests": ["file://t.jsonl", YES]}, ["two", "a"]),
        ({"tests": [{"path": "t.json"}]}, ["three"]),
        ({"tests": [{"vars": "v.yaml", "assert": YES["assert"]}]}, ["four"]),
        ({"tests": [{"vars": ["v.{yaml,yml}"], "assert": YES["assert"]}]}, ["four"]),
        ({"tests": None, "defaultTest": YES}, ["a"]),
        ({"tests": [{"vars": {"q": "b"}}], "defaultTest": "file://d.json"}, ["b"]),
        (
            {"tests": None, "scenarios": [{"config": [{"vars": {"q": q}} for q in "xy"],
                                           "tests": [{"assert": YES["assert"]}]}]},
            ["x", "y"],
        ),
        ({"tests": None, "scenarios": [{"config": ["s.json"]}]}, ["five"]),
    ],
)  # fmt: skip
def test_tests_and_variables_have_many_forms(more: dict[str, Any], expected: list[Any]) -> None:
    contract = read(
        suite(**more),
        q__txt="from a file\n",
        q__yaml="a: 1\n",
        t__csv="q,__expected\none,equals:a\n",
        t__jsonl=json.dumps({**YES, "vars": {"q": "two"}}) + "\n\n",
        t__json=json.dumps([{**YES, "vars": {"q": "three"}}]),
        v__yaml="q: four\n",
        d__json=json.dumps({"assert": YES["assert"]}),
        s__json=json.dumps([{"vars": {"q": "five"}, "assert": YES["assert"]}]),
    )
    assert words(contract) == expected


MANY = "{a,b}" * 9


@pytest.mark.parametrize(
    ("field", "more"),
    [
        *(("prompts", {"prompts": [text]}) for text in ("exec:cat secret", "file://prompt.js")),
        *(
            ("prompts[0]", {"prompts": [text]})
            for text in (
                3,
                {"label": "a"},
                "Say {{ env.OPENAI_API_KEY }}",
                "https://example.org/p.txt",
                "langfuse://greeting",
                "file://../../etc/passwd",
                "file://chat.txt",
                "file://roles.md",
                "file://none.txt",
            )
        ),
        ("prompts", {"prompts": []}),
        ("prompts", {"prompts": ["file://p.docx"]}),
        ("prompts.Say {{q}}", {"prompts": {"Say {{q}}": "a"}}),
        *(
            ("providers", {"providers": [provider]})
            for provider in (
                {"label": "a"},
                "{{ env.MODEL }}",
                "echo",
                "exec:rm -rf x",
                "file://model.js",
                "https://example.com/model",
                "nobody:model",
            )
        ),
        ("providers", {"providers": []}),
        (
            "providers[0].config.tools",
            {"providers": [{"id": "openai:gpt-4o", "config": {"tools": "{{ tools }}"}}]},
        ),
        *(
            ("tests[0]", {"tests": [test]})
            for test in (3, "t.docx", "none-*.yaml", "https://example.org/t.csv", f"t.{MANY}.yaml")
        ),
        ("tests", {"tests": "https://docs.google.com/spreadsheets/d/1"}),
        ("tests", {"tests": ["file://tests.py"]}),
        ("tests[0].vars", {"tests": [{"vars": [3]}]}),
        ("tests[0].assert", {"tests": [{"assert": {"type": "equals"}}]}),
        ("tests[0].threshold", {"tests": [{**YES, "threshold": "high"}]}),
        ("defaultTest", {"defaultTest": [YES]}),
        ("scenarios[0]", {"scenarios": [3]}),
        ("scenarios[0].config[0]", {"scenarios": [{"config": ["make.py"]}]}),
        ("scenarios[0]", {"scenarios": [{"config": [{}] * 300, "tests": [YES] * 300}]}),
        ("tests[0]", with_vars(q=["a"] * 300, r=["b"] * 300)),
        ("tests[0]", with_vars(q="x" * 90, r="{{ q }}" * 99_999)),
        *(("tests[0].vars.q", with_vars(q=q)) for q in ("{{ env.HOME }}", "{{env.KEY}}")),
        *(
            ("tests[0].assert[0]", {"tests": [{**YES, "assert": [{**IS, "value": value}]}]})
            for value in ("{{ r }}!", "{{ env['KEY'] }}")
        ),
    ],
    ids=lambda part: json.dumps(part)[:70],
)
def test_what_cannot_be_meant_is_an_error_of_the_file(field: str, more: dict[str, Any]) -> None:
    files = {
        "chat__txt": '[{"role": "user", "content": "a"}]',
        "roles__md": "user:\nHi\n",
    }
    (problem,) = refused(suite(**more), **files)
    assert (problem.path, problem.field) == (PATH, field)
    assert "env" not in json.dumps(more) or "environment" in problem.what


def test_an_error_in_a_file_of_tests_or_variables_stands_there() -> None:
    (problem,) = refused(suite("ragged.csv"), ragged__csv="q,__expected\na\n")
    assert (problem.path, problem.line) == ("evals/ragged.csv", 2)
    (problem,) = refused(suite({"vars": "list.json"}), list__json="[1]")
    assert problem.path == "evals/list.json"


@pytest.mark.parametrize(
    "more",
    [
        {"providers": ["openai:gpt-4o", "python:model.py"]},
        {"providers": [{"id": "openai:gpt-4o", "config": {"shoeSize": 43}}]},
        {"tests": [YES, "make.py"]},
        {"tests": [{**YES, "shoeSize": 43}]},
        {"tests": [{**YES, "options": {"shoeSize": 43}}]},
        {"tests": [YES, {"vars": {"q": "file://a.png"}, "assert": YES["assert"]}]},
    ],
    ids=lambda more: json.dumps(more)[:70],
)
def test_what_gatekeeper_does_not_do_is_noted_and_the_rest_runs(more: dict[str, Any]) -> None:
    contract = read(suite(**more))
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
    target = read(suite(providers=[provider]), **files).target
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
    contract = read(suite(prompts=prompts), p__txt="From a file: {{q}}")
    prompt = contract.target.prompt
    (message,) = render_prompt(prompt, contract.fixtures[0].vars, Budget())
    assert message == ("user", text)


def test_values_are_written_as_javascript_writes_them() -> None:
    values = ["a", None, True, False, [1, [None, 2.0]], {"a": 1}, 1e21, 0.5, 10**30]
    assert [script_text(value) for value in values] == [
        "a", "", "true", "false", "1,,2", "[object Object]", "1e+21", "0.5", str(10**30),
    ]  # fmt: skip
    assert (script_number(4.0), script_number("4.0")) == (4, "4.0")
    assert isinstance(script_number(1e300), float)
