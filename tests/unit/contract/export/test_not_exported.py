"""What an export cannot hold is named with its line and counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from support.contract_exports import CHECKS, FIXTURES, a_judge, exported, kinds

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.export.convert import ExportFormat, convert
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.errors import ContractError, UsageError

NOT_FOR_GITHUB: Mapping[str, dict[str, Any]] = {
    "warns": {"type": "contains", "value": "a", "severity": "warn"},
    "negated": {"type": "contains", "value": "a", "not": True},
    "one field": {"type": "contains", "value": "a", "field": "x"},
    "some fixtures": {"type": "contains", "value": "a", "when": "city == 'Paris'"},
    "other type": {"type": "length", "max": 3},
    "any of": {"type": "contains", "values": ["a", "b"], "match": "any"},
    "no text": {"type": "equals", "value": 3},
    "faithful": {"judge": "faithful", "context": "x", "model": "openai/gpt-4o"},
    "shows more": a_judge(reference="{{ expected }}"),
    "template": a_judge(criteria="Names {{ city }}."),
    "two judges": a_judge(models=["openai/gpt-4o", "openai/gpt-4o-mini"]),
}


@pytest.mark.parametrize("name", NOT_FOR_GITHUB)
def test_a_check_without_an_evaluator_is_named_with_its_line(name: str) -> None:
    found, _, [read] = exported("github", checks=[*CHECKS, {"name": name, **NOT_FOR_GITHUB[name]}])
    assert [check.type for check in read.checks] == ["contains"]
    [missing] = [part for part in found.left_out if part.kind == name]
    assert (missing.position.path, missing.position.line) == ("c.json", 1)
    assert f"Not exported: {name} (c.json:1)" in found.files[0].text


NOT_FOR_EVALS: Mapping[str, dict[str, Any]] = {
    "warns": {"type": "contains", "value": "a", "severity": "warn"},
    "other type": {"type": "length", "max": 3},
    "all of": {"type": "contains", "values": ["a", "b"]},
    "no text": {"type": "equals", "value": 3},
    "keys": {"type": "json_equal", "value": {}, "ignore_keys": ["id"]},
    "template": a_judge(criteria="Names {{ city }}."),
    "punctuation": a_judge(choices={"no!": 0, "yes!": 1}),
    "faithful": {"judge": "faithful", "context": "x", "model": "openai/gpt-4o"},
}


@pytest.mark.parametrize("name", NOT_FOR_EVALS)
def test_a_check_without_a_class_is_named_with_its_line(name: str) -> None:
    checks = [*CHECKS, {"name": name, **NOT_FOR_EVALS[name]}]
    found, _, read = exported("openai-evals", checks=checks)
    assert [one.checks[0].type for one in read] == ["contains"]
    assert [part.kind for part in found.left_out if part.kind == name] == [name]


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
    missing = kinds(found.left_out)
    assert [len(one.fixtures) for one in read][:1] == [2]
    for kind in ("slo", "weight", "category of fixtures", "metadata of fixtures", "conversation"):
        assert kind in missing
    assert ("own" in missing) == (to == "github")
    assert ("response_format" in missing) == (to == "github")
    [ids] = [part for part in found.left_out if part.kind == "id of fixtures"]
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
    lost = [part for part in found.left_out if part.kind in ("same", "short")]
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
        convert(MemoryRevision({"p.prompt.yml": text}), "p.prompt.yml", "", SHAPES, "github")


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
    [found] = convert(revision, "promptfooconfig.json", "", SHAPES, "github")
    assert "javascript" in kinds(found.left_out)
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
