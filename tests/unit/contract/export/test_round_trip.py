"""What is exported is read back as the same inputs, expected values and checks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.contract_exports import CHECKS, a_judge, exported, kinds, sent, wanted
from support.edited_text import edited

from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.export.convert import ExportFormat, convert
from gatekeeper.contract.files.contract_document import read_contract_documents
from gatekeeper.contract.syntax.yaml_positions import parse_yaml
from gatekeeper.contract.values.change import MemoryRevision
from gatekeeper.errors import ContractError


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
    assert kinds(found.left_out) == ["id of fixtures"]


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
    assert "template" in kinds(found.left_out)
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
        [found] = convert(revision, "c.json", "", SHAPES, to)
        assert found.fixtures == 1  # the export is read back, and refused if a message differs


def test_a_schema_of_the_answer_is_that_of_the_prompt_file() -> None:
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    found, contract, [read] = exported("github", params={"response_format": form})
    assert read.target.params == contract.target.params
    assert "response_format" not in kinds(found.left_out)


def test_two_contracts_of_one_file_are_not_written_over_each_other() -> None:
    suite = {
        "prompts": ["Where is {{city}}?"],
        "providers": ["openai:gpt-4o", "openai:gpt-4o-mini"],
        "defaultTest": {"assert": [{"type": "icontains", "value": "a"}]},
        "tests": [{"vars": {"city": "Paris"}}],
    }
    revision = MemoryRevision({"promptfooconfig.json": json.dumps(suite).encode()})
    found = convert(revision, "promptfooconfig.json", "", SHAPES, "github")
    assert len({file.path for one in found for file in one.files}) == 2
    for one in found:
        [read] = read_contract_documents(
            MemoryRevision({file.path: file.text.encode() for file in one.files}), one.files[0].path
        )
        assert [check["type"] for check in read.document.data["checks"]] == ["contains"]


def test_a_judge_becomes_an_eval_that_a_model_grades() -> None:
    found, contract, read = exported(
        "openai-evals", checks=[*CHECKS, a_judge(criteria="{Good} }.")]
    )
    assert found.files[-1].path == "out/modelgraded/places.yaml"
    [check] = read[1].checks
    assert check.params["criteria"].startswith("The output must meet these criteria:\n{Good} }.")
    assert (check.params["choices"], check.params["pass"]) == ({"yes": 1, "no": 0}, 1)
    assert check.params["model"] == "openai/gpt-4o"
    assert sent(read[1]) == sent(contract)


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": ["x"]},
        {"choice_scores": {"yes": 3, "no": 0}},
        {"prompt": "{completion"},
        {"prompt": "{input} {completion}"},
        None,
    ],
)
def test_a_graded_eval_that_cannot_be_read_is_not_run(change: dict[str, Any] | None) -> None:
    found, _, _ = exported("openai-evals", checks=[a_judge(), {"type": "json_valid"}])
    texts = {file.path: file.text for file in found.files}
    if change is None:
        path = "out/evals/places.yaml"
        texts[path] = edited(texts[path], "  judge: openai/gpt-4o\n", "")
    else:
        path = "out/modelgraded/places.yaml"
        [(name, spec)] = parse_yaml(texts[path], path).data.items()
        texts[path] = json.dumps({name: {**spec, **change}})
    made = MemoryRevision({path: text.encode() for path, text in texts.items()})
    with pytest.raises(ContractError) as raised:
        read_contract_documents(made, "out/evals/places.yaml")
    assert "ModelBasedClassify" in raised.value.problems[0].what


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
        {"judge": "tone", "name": "tone", "tone": "friendly", "model": "groq/x"},
    ]
    found, _, [read] = exported("github", checks=checks)
    assert kinds(found.differs) == ["rule", "scale", "choices", "tone"]
    passing = [
        [label for label, score in check.params["choices"].items() if score >= check.params["pass"]]
        for check in read.checks
    ]
    assert passing == [["yes"], ["2", "3"], ["half", "right"], ["yes"]]
    assert "Be brief." in read.checks[0].params["criteria"]
    assert [check.params["model"] for check in read.checks] == [
        *["openai/gpt-4o"] * 3,
        "groq/x",
    ]


def test_one_rule_is_exported_without_the_prompt_that_explains_it() -> None:
    check = {"judge": "complies", "name": "rule", "rule": "One {word}.", "model": "openai/gpt-4o"}
    for to in ("github", "openai-evals"):
        found, _, read = exported(to, checks=[{**check, "instructions": "Be brief."}])
        [judge] = [one for contract in read for one in contract.checks]
        assert judge.params["criteria"].startswith("The output must obey this rule:\nOne {word}.")
        assert "Be brief." not in judge.params["criteria"]
        assert "only the rule" in found.differs[-1].why


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
        if "would differ from the messages" in str(error):
            raise
        return  # no template
    assert sent(read) == sent(contract)
    assert found.fixtures == len(values)
    if to == "github":
        assert [f.expected for f in read.fixtures] == [f.expected for f in contract.fixtures]
        assert wanted(read, "has") == wanted(contract, "has")
    else:
        assert [f.expected for f in read.fixtures] == [[v] for v in wanted(contract, "has")]
