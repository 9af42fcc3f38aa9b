"""Harness suites as the harness's guide writes them: invariants in cases, schema files, substrings
and flags."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.foreign_files import loaded, sent

from gatekeeper.checks.evaluate import prepare
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
        "test_cases": [{"id": "a", "input": "one", "invariants": list(invariants)}],
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
    ],
)
def test_parameters_that_are_not_understood_are_not_run(kind: str, spec: Any) -> None:
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
