"""What a mode adds to a request, and which mode applies to a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.outcomes import contract, target

from gatekeeper.contract.meaning.constraints import (
    output_choices,
    output_requirements,
    output_schema,
)
from gatekeeper.contract.meaning.modes import (
    Enforcement,
    Negotiation,
    grammar_of,
    negotiate,
    requirements_block,
    with_requirements,
)
from gatekeeper.contract.values.definition import CheckSpec, Contract, Message, RepairMode
from gatekeeper.errors import ContractError

NOTHING = Enforcement(False, False, "it takes no schema")
SCHEMAS = Enforcement(True, False, "it takes a schema")
GRAMMAR = Enforcement(True, True, "it follows a grammar")

JSON = {"type": "json_required", "fields": ["id"]}
LABELS = {"type": "enum", "values": ["yes", "no"]}
SHORT = {"type": "length", "max": 20}
OWN = {"type": "latency", "max_ms": 9}


def having(*checks: Mapping[str, Any], mode: RepairMode = "auto", **common: Any) -> Contract:
    specs = tuple(
        CheckSpec(c["type"], c["type"], {k: v for k, v in c.items() if k != "type"}, **common)
        for c in checks
    )
    return replace(contract(), checks=specs, mode=mode)


@pytest.mark.parametrize(
    ("checks", "can", "applied", "added"),
    [
        ([JSON], SCHEMAS, "enforce", "response_format"),
        ([JSON], NOTHING, "assist", "text"),
        ([LABELS], GRAMMAR, "enforce", "grammar"),
        ([LABELS], SCHEMAS, "assist", "text"),
        ([LABELS], NOTHING, "assist", "text"),
        ([SHORT], GRAMMAR, "assist", "text"),
        ([OWN], GRAMMAR, "observe", "nothing"),
        ([JSON, LABELS], GRAMMAR, "enforce", "response_format"),
    ],
)
def test_auto_is_the_strictest_that_is_possible(
    checks: list[Any], can: Enforcement, applied: str, added: str
) -> None:
    found = negotiate(having(*checks), can)
    assert (found.requested, found.applied, found.added) == ("auto", applied, added)
    assert found.reason
    assert bool(found.text) == (added == "text")
    assert set(found.params) == ({added} - {"text", "nothing"})


def test_the_reason_says_only_what_the_model_can_do() -> None:
    takes, takes_not = (negotiate(having(LABELS), can).reason for can in (SCHEMAS, NOTHING))
    assert takes.endswith("and it takes a schema, but no list of allowed texts")
    assert takes_not.endswith("and it takes no schema")


def test_a_group_sends_what_its_contract_sends() -> None:
    whole = having(JSON, mode="enforce")
    group = replace(having(OWN, mode="enforce"), checks_of_mode=whole.checks)
    assert negotiate(group, SCHEMAS) == negotiate(whole, SCHEMAS)
    bare = replace(having(JSON), checks_of_mode=())
    assert negotiate(bare, SCHEMAS).added == "nothing"


@pytest.mark.parametrize(
    ("mode", "checks", "can"),
    [
        ("enforce", [JSON], NOTHING),
        ("enforce", [LABELS], SCHEMAS),
        ("enforce", [SHORT], GRAMMAR),
        ("assist", [OWN], GRAMMAR),
    ],
)
def test_a_mode_that_is_not_possible_is_an_error(
    mode: RepairMode, checks: list[Any], can: Enforcement
) -> None:
    with pytest.raises(ContractError) as caught:
        negotiate(having(*checks, mode=mode), can)
    (problem,) = caught.value.problems
    assert problem.field == "mode"
    assert problem.fix


@pytest.mark.parametrize("mode", ["observe", "repair"])
def test_the_other_modes_add_nothing(mode: RepairMode) -> None:
    found = negotiate(having(JSON, mode=mode), GRAMMAR)
    assert found == Negotiation(mode, mode, f"the contract sets `mode: {mode}`")


def test_assist_adds_text_also_where_more_is_possible() -> None:
    assert negotiate(having(JSON, mode="assist"), GRAMMAR).added == "text"


def test_a_response_format_of_the_parameters_is_kept() -> None:
    subject = having(JSON, mode="enforce")
    own = replace(target(), params={"response_format": {"type": "json_object"}})
    found = negotiate(replace(subject, target=own), NOTHING)
    assert (found.applied, found.added) == ("enforce", "nothing")


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"$ref": "#/$defs/b"}},
    "required": ["b"],
    "$defs": {"b": {"type": "integer"}},
}


def test_a_schema_file_is_sent_as_it_is_checked() -> None:
    text = "properties:\n  a: {enum: [yes, no]}\n  day: {const: 2020-01-01}\n"
    written = {"type": "json_schema", "schema": "order.yaml"}
    subject = having(written, files={"order.yaml": text})
    properties = {"a": {"enum": ["yes", "no"]}, "day": {"const": "2020-01-01"}}
    assert output_schema(subject) == {"properties": properties}
    assert "2020-01-01" in output_requirements(subject)[0]


@pytest.mark.parametrize(
    ("checks", "schema"),
    [
        ([SHORT], None),
        ([LABELS], None),
        ([{"type": "json_valid"}], {}),
        (
            [{"type": "json_required", "fields": ["a", "b.c"]}],
            {
                "type": "object",
                "properties": {
                    "a": {},
                    "b": {"type": "object", "properties": {"c": {}}, "required": ["c"]},
                },
                "required": ["a", "b"],
            },
        ),
        (
            [
                {"type": "enum", "field": "$.label", "values": ["x", "y"]},
                {"type": "number", "field": "score", "min": 0, "max": 5},
            ],
            {
                "type": "object",
                "properties": {
                    "label": {"enum": ["x", "y"]},
                    "score": {"type": "number", "minimum": 0, "maximum": 5},
                },
                "required": ["label", "score"],
            },
        ),
        (
            [{"type": "json_schema", "schema": SCHEMA}, {"type": "number", "field": "b", "max": 5}],
            SCHEMA,
        ),
        (
            [
                {"type": "json_schema", "schema": {"additionalProperties": False}},
                {"type": "json_required", "fields": ["a"]},
            ],
            {"additionalProperties": False, "type": "object", "properties": {}},
        ),
        ([{"type": "json_schema", "schema": {"type": "array"}}, JSON], {"type": "array"}),
        ([{"type": "number", "field": "$..x", "min": 1}], None),
        ([{"type": "json_required", "field": "$..x", "fields": ["a"]}], {}),
        (
            [
                {"type": "json_schema", "field": "$.a", "schema": {"type": "integer"}},
                {"type": "json_schema", "field": "b", "schema": {"$ref": "#/$defs/x"}},
                {"type": "json_required", "field": "c", "fields": ["d", "$.e"]},
                {"type": "json_valid", "field": "f"},
            ],
            {
                "type": "object",
                "properties": {
                    "a": {"type": "integer"},
                    "b": {},
                    "c": {
                        "type": "object",
                        "properties": {"d": {}, "e": {}},
                        "required": ["d", "e"],
                    },
                    "f": {},
                },
                "required": ["a", "b", "c", "f"],
            },
        ),
    ],
)
def test_a_schema_is_made_of_the_checks(checks: list[Any], schema: Any) -> None:
    before = [dict(check) for check in checks]
    assert output_schema(having(*checks)) == schema
    assert checks == before


LEAKS: tuple[dict[str, Any], ...] = (
    {"type": "enum", "values": ["{{ expected }}"]},
    {"type": "contains", "value": "{{ expected }}"},
    {"type": "json_schema", "schema": {"const": "{{ expected }}"}},
    {"type": "starts_with", "value": "{% if expected %}a{% endif %}"},
)


@pytest.mark.parametrize("check", LEAKS)
def test_what_depends_on_a_fixture_never_reaches_the_model(check: dict[str, Any]) -> None:
    subject = having(check)
    assert (output_schema(subject), output_choices(subject)) == (None, None)
    assert output_requirements(subject) == ()


@pytest.mark.parametrize("common", [{"negated": True}, {"when": "x"}, {"severity": "warn"}])
def test_what_does_not_hold_for_every_output_is_no_constraint(common: dict[str, Any]) -> None:
    subject = having(JSON, LABELS, SHORT, **common)
    assert (output_schema(subject), output_requirements(subject)) == (None, ())


def test_the_checks_in_words() -> None:
    found = output_requirements(
        having(
            {"type": "json_schema", "schema": {"type": "object"}},
            {"type": "enum", "values": ["yes", "no"]},
            {"type": "enum", "values": [1, "ü"], "field": "a"},
            {"type": "contains", "values": ["a", "b"], "match": "any"},
            {"type": "not_contains", "value": "sorry"},
            {"type": "starts_with", "values": ["A", "B"]},
            {"type": "number", "in_text": 1, "min": 3, "max": 5},
            {"type": "length", "max": 20, "unit": "words"},
            {"type": "length", "max": 9, "field": "a"},
            {"type": "json_valid", "field": "a"},
            {"type": "json_schema", "field": "a", "schema": {}},
            {"type": "json_required", "field": "a", "fields": ["b"]},
            {"type": "latency", "max_ms": 3},
        )
    )
    assert found == (
        "Answer with one JSON document and nothing else. It conforms to this JSON Schema: "
        '{"type": "object"}',
        'The answer is one of these and nothing else: "yes", "no".',
        'The field `a` is one of these: 1, "ü".',
        'The answer contains one of "a", "b".',
        'The answer does not contain "sorry".',
        'The answer starts with one of "A", "B".',
        "The answer contains a number of at least 3 and at most 5.",
        "The answer has at most 20 words.",
        "The field `a` has at most 9 characters.",
        "Answer with one JSON document and nothing else. The field `a` is JSON.",
        "Answer with one JSON document and nothing else. The field `a` conforms to this JSON "
        "Schema: {}",
        'The field `a` has the fields "b".',
    )


MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "assistant"]), st.text(max_size=20)),
    min_size=1,
    max_size=4,
).map(tuple)


@given(MESSAGES, st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=3).map(tuple))
def test_the_block_is_added_once(messages: tuple[Message, ...], said: tuple[str, ...]) -> None:
    block = requirements_block(said)
    once = with_requirements(messages, block)
    assert with_requirements(once, block) == once
    assert [m.role for m in once] == [m.role for m in messages]
    changed = [new for old, new in zip(messages, once, strict=True) if old != new]
    assert sum(block in m.content for m in changed) == len(changed) <= 1
    assert with_requirements(messages, "") == messages


def test_the_block_goes_to_the_last_system_message() -> None:
    messages = (Message("system", "Be short.\n"), Message("user", "Hi"))
    system, user = with_requirements(messages, requirements_block(("Say yes.",)))
    assert user == messages[1]
    assert system.content == (
        "Be short.\n\n<output_requirements>\n- Say yes.\n</output_requirements>\n"
    )
    (alone,) = with_requirements(messages[1:], requirements_block(("Say yes.",)))
    assert alone.content.startswith("Hi\n\n<output_requirements>")


def test_a_grammar_quotes_its_texts() -> None:
    assert grammar_of(('say "x"', "a\nb")) == 'root ::= "say \\"x\\"" | "a\\nb"'
    assert grammar_of(("é", "👍")) == 'root ::= "é" | "👍"'
