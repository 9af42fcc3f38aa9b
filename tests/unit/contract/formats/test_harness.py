"""Suites of a harness: templates, versions, cases, and invariants as the harness's guide writes
them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited
from support.foreign_files import EVERYTHING, checks, loaded, revision, sent, skipped

from gatekeeper.checks.evaluate import prepare
from gatekeeper.checks.registry import SHAPES
from gatekeeper.contract.files.contract_files import contract_paths
from gatekeeper.contract.formats.harness import recognises
from gatekeeper.contract.values.definition import Contract
from gatekeeper.contract.values.trial import Completion, Request, Sample, Trial
from gatekeeper.errors import ContractError

SCHEMA = {"type": "object", "required": ["answer"], "properties": {"answer": {"type": "string"}}}
SCHEMA_FILE = "schemas/answer.json"


def suite(*invariants: Any, **more: Any) -> dict[str, Any]:
    return {
        "name": "help",
        "prompt_template": 'Answer {input} as {{"answer": "…"}}.',
        "test_cases": [
            {"id": "a", "input": "one", "expected": "e", "invariants": list(invariants)}
        ],
        **more,
    }


def read(data: dict[str, Any], **files: str) -> Contract:
    path = "prompts/suite.json"
    return loaded({path: json.dumps(data), **files}, path)


def passes(contract: Contract, answer: str) -> bool | None:
    """Return whether an answer passes every check of the first case."""
    fixture = contract.fixtures[0]
    trial = Trial(contract.name, fixture.id, "head", 0, Request("openai/gpt-4o", (), {}, None, 0))
    sample = Sample(trial, Completion(answer), output=answer)
    results = [result.passed for result in prepare(contract).evaluate(sample)]
    return None if None in results else all(results)


def test_a_suite_whose_cases_alone_have_invariants_is_a_suite() -> None:
    data = suite({"type": "contains", "spec": {"substring": "b"}})
    assert recognises("s.yaml", data)
    assert not recognises("s.yaml", {**data, "test_cases": [{"id": "a"}]})
    assert not recognises("s.yaml", {"test_cases": data["test_cases"]})
    contract = read(data)
    assert sent(contract) == [("user", 'Answer one as {"answer": "…"}.')]


def test_a_suite_without_a_model_says_which_one_is_called() -> None:
    contract = read(suite({"type": "contains", "spec": "b"}))
    assert contract.target.model == "openai/gpt-4o-mini"
    assert [note.kind for note in contract.not_run] == ["model"]
    named = read(suite({"type": "contains", "spec": "b"}, model="mistral/mistral-small-latest"))
    assert (named.target.model, named.not_run) == ("mistral/mistral-small-latest", ())


@pytest.mark.parametrize("path", ["prompts/schemas/answer.json", "schemas/answer.json"])
@pytest.mark.parametrize("written", [SCHEMA_FILE, f"/{SCHEMA_FILE}", f"./{SCHEMA_FILE}"])
def test_a_schema_file_is_read_from_the_suite_or_the_root(path: str, written: str) -> None:
    if path.startswith("prompts") and written.startswith("/"):
        written = f"/{path}"
    contract = read(
        suite({"type": "json_schema", "spec": {"schema_file": written}}),
        **{path: json.dumps(SCHEMA)},
    )
    assert passes(contract, '{"answer": "yes"}')
    assert passes(contract, '{"wrong": 1}') is False


@pytest.mark.parametrize(
    "written", ["schemas/other.json", "../../etc/passwd", 4, "https://x.org/s"]
)
def test_a_schema_file_that_does_not_exist_is_an_error(written: Any) -> None:
    with pytest.raises(ContractError) as found:
        read(suite({"type": "schema", "spec": {"schema_file": written}}))
    assert "schema_file" in str(found.value.problems[0].field)


@pytest.mark.parametrize(
    ("kind", "spec", "good", "bad"),
    [
        ("contains", {"substring": "#12"}, "see #12", "see 12"),
        ("contains", {"substring": "Yes", "case_sensitive": False}, "oh yes", "no"),
        ("contains", {"substrings": ["a", "b"]}, "ab", "a"),
        ("contains", {"value": "a"}, "a", "b"),
        ("not_contains", {"substring": "{x}"}, "x", "{x}"),
        ("regex", {"pattern": "(please|thanks)", "flags": "IGNORECASE"}, "PLEASE", "no"),
        ("regex", {"pattern": "^a.b$", "flags": "MULTILINE | re.DOTALL"}, "x\na\nb", "x a\nb"),
        ("regex", {"pattern": "^b", "flags": ["re.I", "re.M"]}, "a\nB", "a b"),
        ("regex", {"pattern": "^b"}, "b", "B"),
        ("not_regex", {"pattern": "sorry", "flags": "i"}, "yes", "SORRY"),
        ("regex", "^a+$", "aa", "ab"),
        ("enum", ["a", "{expected}"], "e", "{expected}"),
        ("schema", {"schema": {"type": "array"}}, "[]", "{}"),
        ("min-length", 3, "abc", "ab"),
        ("length", {"min": 1, "max": 2, "unit": "words"}, "some words", "three more words"),
        ("max_words", 4, "a b c d", "a b c d e"),
    ],
)
def test_the_parameters_of_the_guide_decide(kind: str, spec: Any, good: str, bad: str) -> None:
    contract = read(suite({"type": kind, "spec": spec}))
    assert passes(contract, good)
    assert passes(contract, bad) is False


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("regex", {"pattern": "a", "flags": "LOCALE"}),
        ("regex", {"pattern": "a", "flags": 2}),
        ("contains", {"substring": "a", "value": "b"}),
        ("contains", {"substring": "a", "case_sensitive": "no"}),
        ("regex", None),
        ("schema", 7),
        ("length", {"unit": "words"}),
        ("length", "long"),
        ("json", 1),
        ("tone", None),
    ],
)
def test_an_invariant_that_is_not_understood_is_not_run(kind: str, spec: Any) -> None:
    contract = read(suite({"type": kind, "spec": spec}, {"type": "contains", "spec": "a"}))
    assert (kind, "model") == tuple(note.kind for note in contract.not_run)
    assert [check.type for check in contract.fixtures[0].checks] == ["contains"]


def test_a_misspelt_parameter_is_an_error() -> None:
    for spec in ({"substrin": "a"}, {"substring": "a", "flag": "i"}):
        with pytest.raises(ContractError):
            read(suite({"type": "contains", "spec": spec}))


def test_a_judge_without_a_model_is_an_error_with_advice_that_works() -> None:
    judge = {"type": "judge", "spec": {"criteria": "polite"}}
    with pytest.raises(ContractError) as found:
        read(suite(judge))
    assert found.value.problems[0].fix == "add `model: provider/name` to the invariant"
    assert read(suite({**judge, "model": "openai/gpt-4o"})).fixtures[0].checks


@given(st.text("{}%# x\n'\"-!", max_size=14))
def test_a_template_says_what_python_makes_of_it(text: str) -> None:
    template = f"Answer {{input}}: {text}."
    try:
        expected = template.format(input="one")
    except (ValueError, IndexError, KeyError, AttributeError):
        return
    data = suite({"type": "contains", "spec": "b"}, prompt_template=template)
    assert sent(read(data)) == [("user", expected)]


@pytest.mark.parametrize("text", ["{{# Worse #}}", "{{{{ x }}}}", "{{% if false %}}x{{% endif %}}"])
def test_braces_that_are_text_reach_the_model(text: str) -> None:
    data = suite({"type": "contains", "spec": "b"}, prompt_template="Answer {input} " + text)
    assert sent(read(data)) == [("user", "Answer one " + text.format())]


SUITE = """\
name: Headlines
version: 2.1.0
model: gpt-4o-mini
temperature: 0
prompt_template: |
  Write a headline of at most {words} words for {article}.
  Answer as {{"headline": …}}.
categories:
  news:
    invariants:
      - {type: max_words, spec: 12}
cases:
  - {id: a, category: news, inputs: {article: A storm, words: 9}, expected: Storm}
  - {id: b, category: sport, inputs: {article: A match, words: 5}}
invariants:
  - {name: valid, type: json_valid}
  - {name: shape, type: json_schema, spec: {type: object, required: [headline]}}
  - {type: contains, spec: "{expected}", category: news}
  - {type: tone, spec: neutral}
"""


def test_a_harness_suite_has_format_fields_and_invariants() -> None:
    contract = loaded({"evals/h.yaml": SUITE}, "evals/h.yaml")
    text = 'Write a headline of at most 9 words for A storm.\nAnswer as {"headline": …}.'
    assert sent(contract)[0] == ("user", text)
    assert checks(contract) == [
        ("json_valid", None),
        ("json_schema", {"type": "object", "required": ["headline"]}),
        ("contains", "{{ expected }}"),
        ("length", 12),
    ]
    assert [len(contract.checks_for(fixture)) for fixture in contract.fixtures] == [4, 2]
    assert skipped(contract) == [("tone", "evals/h.yaml", 19)]


def test_each_version_of_a_harness_suite_is_a_contract() -> None:
    template = SUITE[SUITE.index("prompt_template") : SUITE.index("categories")]
    two = (
        "versions:\n  v1: {prompt_template: 'Old: {article}'}\n"
        "  v2: {prompt_template: 'New: {article}', model: gpt-4o}\n"
    )
    files = {"evals/h.yaml": SUITE.replace(template, two)}
    first, second = contract_paths(revision(files), EVERYTHING, SHAPES)
    assert (first, second) == ("evals/h.yaml#headlines-v1", "evals/h.yaml#headlines-v2")
    assert sent(loaded(files, second)) == [("user", "New: A storm")]
    assert [loaded(files, p).target.model for p in (first, second)] == [
        "openai/gpt-4o-mini",
        "openai/gpt-4o",
    ]


@pytest.mark.parametrize(
    "field", ["{article.title}", "{article!r}", "{0}", "{}", "{article:>9}", "{"]
)
def test_a_format_field_that_is_no_plain_name_is_an_error_at_its_line(field: str) -> None:
    with pytest.raises(ContractError) as caught:
        loaded({"evals/h.yaml": edited(SUITE, "{article}.", field)}, "evals/h.yaml")
    assert caught.value.problems[0].line == 5


def test_an_invariant_has_a_name_a_severity_and_categories() -> None:
    labels = {"id": "says a", "severity": "warn", "category": "x"}
    data = suite(
        invariants=[{"type": "json"}, {"type": "contains", "spec": "a", **labels}],
        test_cases=[{"input": "a", "category": "x"}, {"input": "b", "name": "second"}],
        samples=3,
        description="Words",
        temperature=0,
    )
    contract = read(data)
    spec = contract.checks[1]
    assert (spec.name, spec.severity, spec.when) == ("says a", "warn", {"category": "x"})
    assert [len(contract.checks_for(one)) for one in contract.fixtures] == [2, 1]
    assert [one.id for one in contract.fixtures][1] == "second"
    assert contract.fixtures[1].vars == {"input": "b"}
    assert contract.target.params == {"temperature": 0}
    assert contract.sampling.samples == 3


@pytest.mark.parametrize(
    ("invariant", "model"),
    [
        ({"type": "judge", "spec": "Is kind.", "model": "openai/m"}, "openai/m"),
        ({"type": "rubric", "spec": {"rubric": "Is kind.", "model": "openai/n"}}, "openai/n"),
    ],
)
def test_a_judge_of_a_harness_has_its_criteria_and_its_model(invariant: Any, model: str) -> None:
    (judge,) = read(suite(invariant)).fixtures[0].checks
    assert (judge.params["criteria"], judge.params["model"]) == ("Is kind.", model)


@pytest.mark.parametrize(
    "more", [{"test_cases": 1}, {"invariants": [{"spec": 1}]}, {"invariants": 3}]
)
def test_a_suite_without_cases_or_types_is_an_error(more: dict[str, Any]) -> None:
    with pytest.raises(ContractError) as found:
        read(suite({"type": "json"}, **more))
    assert found.value.problems[0].path == "prompts/suite.json"
