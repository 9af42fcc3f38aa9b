"""What is exported is read back as the same inputs, expected values and checks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.change import MemoryRevision
from gatekeeper.contract.contract_document import read_contract_documents
from gatekeeper.contract.definition import Contract
from gatekeeper.contract.export.export import ExportedContract, ExportFormat, export_contracts
from gatekeeper.contract.load import load_contract
from gatekeeper.contract.prompts.render import render_messages, render_value
from gatekeeper.errors import ContractError, UsageError

FIXTURES = [
    {"id": "a", "vars": {"city": "Paris", "tone": "short"}, "expected": "France"},
    {"id": "b", "vars": {"city": "{{ city }}", "tone": "short"}, "expected": "x {{ y }} {%"},
]
CHECKS: list[dict[str, Any]] = [{"type": "contains", "value": "{{ expected }}"}]


def exported(
    to: ExportFormat,
    *,
    prompt: str = "Where is {{ city }}? Be {{tone}}.",
    fixtures: list[dict[str, Any]] = FIXTURES,
    checks: list[dict[str, Any]] = CHECKS,
    **more: Any,
) -> tuple[ExportedContract, Contract, list[Contract]]:
    """Return the export, the contract, and what is read in the exported files."""
    data = {
        "contract": 1,
        "name": "places",
        "prompt": "p.txt",
        "model": "openai/gpt-4o-mini",
        "fixtures": fixtures,
        "checks": checks,
        **more,
    }
    files = {"c.json": json.dumps(data).encode(), "p.txt": prompt.encode()}
    revision = MemoryRevision(files)
    [found] = export_contracts(revision, "c.json", "out", to, SHAPES)
    made = MemoryRevision({file.path: file.text.encode() for file in found.files})
    documents = read_contract_documents(made, found.files[0].path)
    read = [load_contract(made, one.document.path, SHAPES) for one in documents]
    return found, load_contract(revision, "c.json", SHAPES), read


def sent(contract: Contract) -> list[Any]:
    target = contract.target
    return [
        (target.model, target.params, render_messages(target.prompt, fixture.vars))
        for fixture in contract.fixtures
    ]


def wanted(contract: Contract, name: str) -> list[Any]:
    """The value that the check of this name compares each output with."""
    [check] = [one for one in contract.checks if one.name == name]
    value = check.params.get("value", check.params.get("values"))
    return [render_value(value, fixture) for fixture in contract.fixtures]


def kinds(parts: tuple[Any, ...]) -> list[str]:
    return [part.kind for part in parts]


def test_a_prompt_file_of_github_has_the_variables_and_the_checks() -> None:
    checks = [
        {"type": "equals", "name": "same", "value": "{{ expected }}"},
        {"type": "starts_with", "name": "opens", "value": "In {{ city }}", "ignore_case": True},
        {"type": "contains", "name": "all", "values": ["a", "b"], "ignore_case": True},
        {"type": "ends_with", "name": "full stop", "value": ".", "ignore_case": True},
    ]
    params = {"temperature": 0.5, "max_tokens": 9, "response_format": {"type": "json_object"}}
    found, contract, [read] = exported(
        "github", checks=checks, params=params, description="Says where."
    )
    assert [file.path for file in found.files] == ["out/places.prompt.yml"]
    assert sent(read) == sent(contract)
    assert read.name == "places"
    assert read.description == "Says where."
    assert [fixture.expected for fixture in read.fixtures] == ["France", "x {{ y }} {%"]
    assert [fixture.vars["city"] for fixture in read.fixtures] == ["Paris", "{{ city }}"]
    assert [(c.type, c.name) for c in read.checks] == [
        ("equals", "same"),
        ("starts_with", "opens"),
        ("contains", "all 1"),
        ("contains", "all 2"),
        ("ends_with", "full stop"),
    ]
    for name in ("same", "opens", "full stop"):
        assert wanted(read, name) == wanted(contract, name)
    assert wanted(read, "all 2") == ["b", "b"]
    assert (found.fixtures, found.checks, found.differs) == (2, 5, ())
    assert kinds(found.not_exported) == ["id of fixtures"]


def test_a_registry_of_openai_evals_has_an_eval_for_each_check() -> None:
    checks = [
        {"type": "starts_with", "name": "opens", "values": ["{{ expected }}", "I"]},
        {"type": "contains", "name": "any", "values": ["a", "b"], "match": "any"},
        {"type": "json_equal", "name": "json", "value": {"a": [1]}},
        {"type": "enum", "name": "label", "values": ["yes", "no"]},
        {"type": "json_valid", "name": "valid", "when": "city == 'Paris'"},
    ]
    found, contract, read = exported("openai-evals", checks=checks, params={"temperature": 0})
    assert [file.path for file in found.files] == [
        "out/evals/places.yaml",
        *(f"out/data/places/places-{n}.jsonl" for n in ("opens", "any", "json", "label", "valid")),
    ]
    assert [one.checks[0].type for one in read] == [
        *("starts_with", "contains", "json_equal", "starts_with", "json_valid"),
    ]
    assert [sent(one) for one in read] == [*[sent(contract)] * 4, sent(contract)[:1]]
    opens, any_of, same, label, valid = read
    assert [fixture.expected for fixture in label.fixtures] == [["yes", "no"]] * 2
    assert [fixture.expected for fixture in opens.fixtures] == [
        ["France", "I"],
        ["x {{ y }} {%", "I"],
    ]
    assert [fixture.expected for fixture in any_of.fixtures] == [["a", "b"]] * 2
    assert [json.loads(fixture.expected[0]) for fixture in same.fixtures] == [{"a": [1]}] * 2
    assert [fixture.expected for fixture in valid.fixtures] == [None]
    assert kinds(found.differs) == ["opens", "label", "label", "params"]


@pytest.mark.parametrize(
    "prompt",
    [
        "{% if city == 'Paris' %}Yes{% endif %} {{ city }}",
        "{{ city | upper }}",
        "A {{ '{{' }} brace and {{ city }}",
        "{# nothing #}{{ city }}",
    ],
)
def test_a_prompt_that_is_more_than_names_is_filled_in(prompt: str) -> None:
    found, contract, [read] = exported("github", prompt=prompt)
    assert sent(read) == sent(contract)
    assert "template" in kinds(found.not_exported)
    assert all("city" not in fixture.vars for fixture in read.fixtures)


def test_values_that_are_no_text_and_roles_stay_what_is_sent() -> None:
    prompt = json.dumps(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "{{ items }} {{ expected }}"},
        ]
    )
    fixtures = [{"id": "a", "vars": {"items": [1, "x"], "expected": "own"}, "expected": "France"}]
    data = {"p.json": prompt.encode()}
    contract = {
        "contract": 1,
        "name": "c",
        "prompt": "p.json",
        "model": "openai/gpt-4o",
        "fixtures": fixtures,
        "checks": CHECKS,
    }
    revision = MemoryRevision({"c.json": json.dumps(contract).encode(), **data})
    for to in ("github", "openai-evals"):
        [found] = export_contracts(revision, "c.json", "", to, SHAPES)
        assert found.fixtures == 1  # the export is read back, and refused if a message differs


def test_a_schema_of_the_answer_is_that_of_the_prompt_file() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    found, contract, [read] = exported("github", params={"response_format": form})
    assert read.target.params == contract.target.params
    assert "response_format" not in kinds(found.not_exported)


def test_two_contracts_of_one_file_are_not_written_over_each_other() -> None:
    suite = {
        "prompts": ["Where is {{city}}?"],
        "providers": ["openai:gpt-4o", "openai:gpt-4o-mini"],
        "defaultTest": {"assert": [{"type": "icontains", "value": "a"}]},
        "tests": [{"vars": {"city": "Paris"}}],
    }
    revision = MemoryRevision({"promptfooconfig.json": json.dumps(suite).encode()})
    found = export_contracts(revision, "promptfooconfig.json", "", "github", SHAPES)
    assert len({file.path for one in found for file in one.files}) == 2
    for one in found:
        [read] = read_contract_documents(
            MemoryRevision({file.path: file.text.encode() for file in one.files}), one.files[0].path
        )
        assert [check["type"] for check in read.document.data["checks"]] == ["contains"]


def test_a_judge_becomes_an_evaluator_that_asks_for_one_word() -> None:
    checks = [
        {
            "judge": "complies",
            "name": "rule",
            "instructions": "Be brief.",
            "model": "openai/gpt-4o",
        },
        {
            "judge": "rubric",
            "name": "scale",
            "criteria": "Helps.",
            "model": "openai/gpt-4o",
            "scale": {"1": "no", "2": "some", "3": "much"},
            "pass": 2,
        },
        {
            "judge": "rubric",
            "name": "choices",
            "criteria": "Right.",
            "pass": "half",
            "choices": {"wrong": 0, "half": 0.5, "right": 1},
            "model": "openai/gpt-4o",
        },
        {"judge": "tone", "name": "tone", "tone": "friendly", "model": "openai/gpt-4o"},
    ]
    found, _, [read] = exported("github", checks=checks)
    assert kinds(found.differs) == ["rule", "scale", "choices", "tone"]
    passing = [
        [label for label, score in check.params["choices"].items() if score >= check.params["pass"]]
        for check in read.checks
    ]
    assert passing == [["yes"], ["2", "3"], ["half", "right"], ["yes"]]
    assert "Be brief." in read.checks[0].params["criteria"]
    assert {check.params["model"] for check in read.checks} == {"openai/gpt-4o"}


def _judge(**more: Any) -> dict[str, Any]:
    return {"judge": "rubric", "criteria": "Good.", "model": "openai/gpt-4o", **more}


NOT_FOR_GITHUB: Mapping[str, dict[str, Any]] = {
    "warns": {"type": "contains", "value": "a", "severity": "warn"},
    "negated": {"type": "contains", "value": "a", "not": True},
    "one field": {"type": "contains", "value": "a", "field": "x"},
    "some fixtures": {"type": "contains", "value": "a", "when": "city == 'Paris'"},
    "other type": {"type": "length", "max": 3},
    "any of": {"type": "contains", "values": ["a", "b"], "match": "any"},
    "no text": {"type": "equals", "value": 3},
    "faithful": {"judge": "faithful", "context": "x", "model": "openai/gpt-4o"},
    "shows more": _judge(reference="{{ expected }}"),
    "template": _judge(criteria="Names {{ city }}."),
    "two judges": _judge(models=["openai/gpt-4o", "openai/gpt-4o-mini"]),
}


@pytest.mark.parametrize("name", NOT_FOR_GITHUB)
def test_a_check_without_an_evaluator_is_named_with_its_line(name: str) -> None:
    found, _, [read] = exported("github", checks=[*CHECKS, {"name": name, **NOT_FOR_GITHUB[name]}])
    assert [check.type for check in read.checks] == ["contains"]
    [missing] = [part for part in found.not_exported if part.kind == name]
    assert (missing.position.path, missing.position.line) == ("c.json", 1)
    assert f"Not exported: {name} (c.json:1)" in found.files[0].text


NOT_FOR_EVALS: Mapping[str, dict[str, Any]] = {
    "warns": {"type": "contains", "value": "a", "severity": "warn"},
    "other type": {"type": "length", "max": 3},
    "all of": {"type": "contains", "values": ["a", "b"]},
    "no text": {"type": "equals", "value": 3},
    "keys": {"type": "json_equal", "value": {}, "ignore_keys": ["id"]},
    "judge": _judge(),
}


@pytest.mark.parametrize("name", NOT_FOR_EVALS)
def test_a_check_without_a_class_is_named_with_its_line(name: str) -> None:
    checks = [*CHECKS, {"name": name, **NOT_FOR_EVALS[name]}]
    found, _, read = exported("openai-evals", checks=checks)
    assert [one.checks[0].type for one in read] == ["contains"]
    assert [part.kind for part in found.not_exported if part.kind == name] == [name]


@pytest.mark.parametrize("to", ["github", "openai-evals"])
def test_settings_and_parts_of_fixtures_are_named_and_counted(to: ExportFormat) -> None:
    fixtures = [
        {**FIXTURES[0], "category": "x", "cluster": "c", "metadata": {"k": 1}, "must_pass": True},
        {**FIXTURES[1], "checks": [{"type": "json_valid", "name": "own"}]},
        {**FIXTURES[0], "id": "talk", "turns": ["And then?"]},
    ]
    checks = [
        {"type": "equals", "name": "same", "value": "{{ expected }}", "strip": False, "weight": 2},
        {"type": "starts_with", "value": "a", "ignore_case": to != "github", "must_pass": True},
    ]
    response = {"response_format": {"type": "text"}}
    found, _, read = exported(
        to, fixtures=fixtures, checks=checks, slo={"success_rate": 0.9}, params=response
    )
    missing = kinds(found.not_exported)
    assert [len(one.fixtures) for one in read][:1] == [2]
    for kind in ("slo", "weight", "category of fixtures", "metadata of fixtures", "conversation"):
        assert kind in missing
    assert ("own" in missing) == (to == "github")
    assert ("response_format" in missing) == (to == "github")
    [ids] = [part for part in found.not_exported if part.kind == "id of fixtures"]
    assert ids.why.endswith("(3 times)")
    assert {"same", "starts_with a"} <= {*kinds(found.differs)}


def test_a_fixture_that_a_check_cannot_be_exported_for_is_counted() -> None:
    fixtures = [FIXTURES[0], {**FIXTURES[1], "expected": 3}, {**FIXTURES[0], "id": "c"}]
    checks = [
        {"type": "equals", "name": "same", "value": "{{ expected }}"},
        {"type": "length", "name": "short", "max": 3},
        {"type": "json_valid", "name": "valid"},
    ]
    found, _, read = exported("openai-evals", fixtures=fixtures, checks=checks)
    assert [len(one.fixtures) for one in read] == [2, 3]
    lost = [part for part in found.not_exported if part.kind in ("same", "short")]
    assert [(part.kind, "times" in part.why) for part in lost] == [
        ("same", False),
        ("short", False),
    ]
    with pytest.raises(ContractError) as raised:
        exported("github", fixtures=fixtures, checks=checks)
    assert "`same`" in raised.value.problems[0].what


def test_a_prompt_without_tests_is_no_contract() -> None:
    text = b'{"messages": [{"role": "user", "content": "{{a}}"}]}'
    with pytest.raises(UsageError):
        export_contracts(
            MemoryRevision({"p.prompt.yml": text}), "p.prompt.yml", "", "github", SHAPES
        )


def test_what_a_foreign_file_does_not_run_is_not_exported_either() -> None:
    suite = {
        "prompts": ["Where is {{city}}?"],
        "providers": ["openai:gpt-4o"],
        "defaultTest": {
            "assert": [{"type": "icontains", "value": "a"}, {"type": "javascript", "value": "1"}]
        },
        "tests": [{"vars": {"city": "Paris"}}],
    }
    revision = MemoryRevision({"promptfooconfig.json": json.dumps(suite).encode()})
    [found] = export_contracts(revision, "promptfooconfig.json", "", "github", SHAPES)
    assert "javascript" in kinds(found.not_exported)
    assert "Not exported: javascript" in found.files[0].text


def test_nothing_is_exported_of_a_contract_without_a_check_for_it() -> None:
    with pytest.raises(ContractError) as raised:
        exported("openai-evals", checks=[{"type": "length", "name": "short", "max": 3}])
    [problem] = raised.value.problems
    assert "`short`" in problem.what
    talk = [{**FIXTURES[0], "turns": ["And?"]}]
    for to in ("github", "openai-evals"):
        with pytest.raises(ContractError):
            exported(to, fixtures=talk)
    with pytest.raises(ContractError) as raised:
        exported("github", prompt="{{ d1 }}{{ city }}", steps=[{"name": "d1", "prompt": "p.txt"}])
    assert raised.value.problems


WORDS = st.text(st.sampled_from("ab {}%#\n'\\é\u2028:-\"|>"), min_size=1, max_size=12)


@given(
    pieces=st.lists(st.one_of(WORDS, st.just("{{ city }}"), st.just("{{tone}}")), min_size=1),
    values=st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=3),
    to=st.sampled_from(["github", "openai-evals"]),
    literal=st.booleans(),
)
def test_any_text_is_read_back_as_the_same(
    pieces: list[str], values: list[tuple[str, str, str]], to: ExportFormat, literal: bool
) -> None:
    fixtures = [
        {"id": str(number), "vars": {"city": city, "tone": tone}, "expected": f"e{expected}"}
        for number, (city, tone, expected) in enumerate(values)
    ]
    value = "x" if literal else "{{ expected }}{{ tone }}"
    checks = [{"type": "contains", "name": "has", "value": value}]
    prompt = "".join(pieces)
    try:
        found, contract, [read] = exported(to, prompt=prompt, fixtures=fixtures, checks=checks)
    except ContractError as error:
        if "other messages" in str(error):
            raise
        return  # no template
    assert sent(read) == sent(contract)
    assert found.fixtures == len(values)
    if to == "github":
        assert [f.expected for f in read.fixtures] == [f.expected for f in contract.fixtures]
        assert wanted(read, "has") == wanted(contract, "has")
    else:
        assert [f.expected for f in read.fixtures] == [[v] for v in wanted(contract, "has")]
