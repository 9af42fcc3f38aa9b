"""Configurations of promptfoo: what becomes a contract, what is refused, and where errors point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.foreign_files import loaded, revision

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.files.contract_document import read_contract_documents
from gatekeeper.contract.formats.promptfoo import recognises
from gatekeeper.contract.formats.promptfoo.assertion import split_values
from gatekeeper.contract.formats.promptfoo.cases import assertion_of_text
from gatekeeper.contract.formats.promptfoo.javascript import NotJavaScriptError, translate_pattern
from gatekeeper.contract.formats.promptfoo.rows import ALL_TYPES, NOT_RUN
from gatekeeper.contract.values.definition import Contract
from gatekeeper.errors import ContractError, Problem

PATH = "evals/promptfooconfig.json"
YES = {"vars": {"q": "a"}, "assert": [{"type": "equals", "value": "yes"}]}


def config(*tests: Any, **more: Any) -> dict[str, Any]:
    return {"prompts": ["Say {{q}}"], "providers": ["openai:gpt-4o-mini"], "tests": tests} | more


def read(data: Any, **others: str) -> Contract:
    named = {name.replace("__", "."): text for name, text in others.items()}
    return loaded({PATH: json.dumps(data), **{f"evals/{n}": t for n, t in named.items()}}, PATH)


def problems(data: Any, **others: str) -> list[Problem]:
    with pytest.raises(ContractError) as found:
        read(data, **others)
    return list(found.value.problems)


def kinds(contract: Contract) -> list[str]:
    return [note.kind for note in contract.not_run]


def test_the_table_of_the_documentation_names_the_same_types() -> None:
    path = Path(__file__).parents[4] / "scripts" / "other_tools.yaml"
    rows = [row for row in yaml.safe_load(path.read_text()) if "promptfoo" in row]
    named = {row["promptfoo"] for row in rows if "`" not in row["promptfoo"]}
    assert named == ALL_TYPES
    assert {row["promptfoo"] for row in rows if "otherwise" in row} <= NOT_RUN


def test_each_prompt_and_provider_is_a_contract() -> None:
    data = config(
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
    contract = read(config(test), dog__txt="a dog\n")
    assert [f.vars["q"] for f in contract.fixtures] == ["2 cats", "a dog"]
    assert contract.fixtures[0].vars["flags"] == [1, 2]
    assert contract.fixtures[0].checks[0].params["value"] == "2-2 cats"
    assert (contract.fixtures[0].expected, "expected" in contract.fixtures[0].vars) == ("x", False)


def test_references_lead_to_templates_of_assertions() -> None:
    data = config(
        {"vars": {"q": "a"}, "assert": [{"$ref": "#/assertionTemplates/short", "metric": "short"}]},
        assertionTemplates={"short": {"type": "word-count", "value": {"max": 3}}},
    )
    (check,) = read(data).fixtures[0].checks
    assert (check.type, check.name, check.params["max"]) == ("length", "short", 3)
    data["tests"][0]["assert"] = [{"$ref": "#/nowhere"}]
    assert problems(data)[0].field == "tests[0].assert[0]"
    data["loop"] = {"$ref": "#/loop"}
    data["tests"][0]["assert"] = [{"$ref": "#/loop"}]
    assert "refers back to itself" in problems(data)[0].what


def test_tests_with_own_thresholds_are_weighted_means() -> None:
    half = {"threshold": 0.5, "assert": [{"type": "contains", "value": "a", "weight": 2}]}
    contract = read(
        config(YES, {**YES, **half}, defaultTest={"assert": [{"type": "contains", "value": "y"}]})
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
    contract = read(config(test, providers=[provider]))
    (sent,) = contract.target.params["tools"]
    assert sent == {"type": "function", "function": {"name": "weather", "parameters": schema}}
    assert contract.fixtures[0].checks[0].parts[0].params["allowed"] == {"weather": schema}


def test_a_transform_of_a_test_and_of_an_assertion_take_one_part() -> None:
    part = {"type": "contains", "value": "a", "transform": "output.tags[0]"}
    test = {**YES, "assert": [part], "options": {"transform": "JSON.parse(output)"}}
    assert read(config(test)).fixtures[0].checks[0].params["field"] == "tags[0]"


def test_a_text_file_can_hold_several_prompts() -> None:
    data = config(YES, prompts=["file://all.txt"])
    files = {PATH: json.dumps(data), "evals/all.txt": "\n Say {{q}}\n---\nShout {{ q }}!\n\n---\n"}
    paths = [d.document.path for d in read_contract_documents(revision(files), PATH)]
    assert [path.rpartition("#")[2] for path in paths] == ["all", "all-2"]
    messages = [loaded(files, path).target.prompt.messages[0] for path in paths]
    assert [(m.content.split()[0], m.line) for m in messages] == [("Say", 2), ("Shout", 4)]


def test_without_prompts_the_variable_is_sent() -> None:
    data = config({**YES, "vars": {"prompt": "Hi"}})
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
        loaded({"evals/p.yaml": text.replace("contians", "contains")}, "evals/p.yaml")
    assert found.value.problems[0].line == 8
    row = problems(config("file://t.csv"), t__csv="q,__expected\na,yes\nb,regex:[\n")
    assert [(problem.path, problem.line) for problem in row] == [("evals/t.csv", 3)]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"prompts": ["Say {{ env.OPENAI_API_KEY }}"]}, "prompts[0]"),
        ({"prompts": ["file://../../etc/passwd"]}, "prompts[0]"),
        ({"prompts": ["exec:cat secret"]}, "prompts"),
        ({"prompts": ["file://prompt.js"]}, "prompts"),
        ({"prompts": ["langfuse://greeting"]}, "prompts[0]"),
        ({"providers": ["exec:rm -rf x"]}, "providers"),
        ({"providers": ["file://model.js"]}, "providers"),
        ({"providers": ["https://example.com/model"]}, "providers"),
        ({"providers": ["{{env.MODEL}}"]}, "providers"),
        ({"tests": "https://docs.google.com/spreadsheets/d/1"}, "tests"),
        ({"tests": ["file://tests.py"]}, "tests"),
    ],
)
def test_programs_addresses_and_the_environment_are_refused(more: Any, field: str) -> None:
    (problem,) = problems(config(YES, **more))
    assert (problem.path, problem.field) == (PATH, field)


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
    contract = read(config(YES, {**YES, **test}, prompts=["Say {{q}}"]))
    assert len(contract.fixtures) == 1
    assert contract.not_run
    assert problems(config({**YES, **test}))


def test_the_environment_never_reaches_a_variable_or_a_check() -> None:
    for part in (
        {"vars": {"q": "{{env.KEY}}"}},
        {"assert": [{"type": "equals", "value": "{{ env['KEY'] }}"}]},
    ):
        (problem,) = problems(config({**YES, **part}))
        assert "environment" in problem.what


def test_large_products_are_refused_before_they_are_made() -> None:
    names = {f"v{index}": ["x"] * 50 for index in range(8)}
    (problem,) = problems(config({**YES, "vars": {"q": "a", **names}}))
    assert "39,062,500,000,000" in problem.what
    growing = {"a": "{{b}}" * 200, "b": "{{c}}" * 200, "c": "x" * 5_000}
    (problem,) = problems(config({**YES, "vars": {"q": "a", **growing}}))
    assert "`" in problem.what
    assert problems(config("file://{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}.csv"))


def test_other_data_is_not_recognised() -> None:
    assert recognises(PATH, config(YES))
    for data in ([], {}, {"providers": []}, {"messages": [], "providers": [], "tests": []}, None):
        assert not recognises(PATH, data)


def test_cells_are_assertions() -> None:
    assert assertion_of_text("not-contains: x ") == {"type": "not-contains", "value": "x"}
    assert assertion_of_text("similar(0.5):x")["threshold"] == 0.5
    assert assertion_of_text("similar:x")["threshold"] == 0.8
    assert assertion_of_text("is-json") == {"type": "is-json"}
    assert assertion_of_text("fn:output") == {"type": "javascript", "value": "output"}
    assert assertion_of_text("grade:kind") == {"type": "llm-rubric", "value": "kind"}
    assert assertion_of_text("a: b") == {"type": "equals", "value": "a: b"}
    assert split_values(' a ,, "b, ""c""" ,d') == ["a", 'b, "c"', "d"]
    assert split_values('"a" b') is None


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


def test_shapes_of_all_translated_checks_are_known() -> None:
    assert {"mean_of", "contains_json"} <= set(SHAPES)
