"""Single assertions of promptfoo: which check each becomes, what is not run, and what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.promptfoo_suite import PATH, YES, checks_of_first, read, suite

from gatekeeper.contract.formats.promptfoo.assertion import split_values
from gatekeeper.contract.formats.promptfoo.cases import assertion_of_text, misspelt_type, row_case
from gatekeeper.contract.values.definition import CheckSpec, Contract
from gatekeeper.errors import ContractError

(ALWAYS,) = YES["assert"]
TOOLS = [{"type": "function", "function": {"name": n, "parameters": {}}} for n in ("look", "buy")]
SCHEMA = {"type": "object", "required": ["a"]}


def read_one(assertion: dict[str, Any], tools: Any = None, **files: str) -> Contract:
    provider = {"id": "openai:gpt-4o-mini", "config": {} if tools is None else {"tools": tools}}
    test = {"vars": {"q": "a", "n": 3}, "assert": [assertion, ALWAYS]}
    return read(suite(test, providers=[provider]), **files)


def check(assertion: dict[str, Any], tools: Any = None) -> dict[str, Any]:
    """The check of the assertion, with its type and those that it is composed of."""
    contract = read_one(assertion, tools)
    assert contract.not_run == ()
    return _shown(checks_of_first(contract)[0])


def _shown(spec: CheckSpec) -> dict[str, Any]:
    return {"type": spec.type, **spec.params, "checks": [_shown(part) for part in spec.parts]}


@pytest.mark.parametrize(
    ("assertion", "expected"),
    [
        ({"type": "equals", "value": None}, {"type": "json_schema", "schema": {"const": None}}),
        ({"type": "equals", "value": ""}, {"type": "regex", "pattern": r"\A\Z"}),
        ({"type": "starts-with", "value": " "}, {"type": "regex", "pattern": r"\A\x20"}),
        ({"type": "contains-any", "value": '"a, b", c'}, {"values": ["a, b", "c"], "match": "any"}),
        ({"type": "icontains-all", "value": ["a", 1]}, {"values": ["a", "1"], "ignore_case": True}),
        ({"type": "contains", "value": "a#}"}, {"value": "a#}"}),
        ({"type": "levenshtein", "value": "a", "threshold": 2.5}, {"max": 2}),
        ({"type": "levenshtein", "value": "a", "threshold": "{{n}}"}, {"max": 3}),
        ({"type": "word-count", "value": {"min": 1.2}}, {"unit": "words", "min": 2}),
        ({"type": "word-count", "value": 4}, {"min": 4, "max": 4}),
        ({"type": "bleu", "value": ["a", "b"]}, {"value": ["a", "b"], "min": 0.5}),
        ({"type": "contains-json"}, {"type": "contains_json"}),
        ({"type": "is-json", "value": "{type: object}"}, {"type": "json_schema", "formats": True}),
        ({"type": "is-sql"}, {"type": "parses_as", "dialect": "mysql"}),
        (
            {"type": "contains-sql",
             "value": {"databaseType": "PostgreSQL", "allowedTables": ["select::null::users"]}},
            {"fenced": True, "statements": ["select"], "tables": ["users"]},
        ),
        (
            {"type": "trajectory:tool-used", "value": {"name": "look", "max": 2}},
            {"type": "tool_call", "tool": "look", "min": 1, "max": 2},
        ),
        (
            {"type": "trajectory:tool-sequence", "value": {"steps": ["look", {"name": "buy"}]}},
            {"type": "tool_call", "order": ["look", "buy"], "match": "in_order"},
        ),
        (
            {"type": "trajectory:tool-sequence", "value": {"mode": "exact", "steps": ["{{q}}"]}},
            {"order": ["a"], "match": "exact"},
        ),
        (
            {"type": "trajectory:tool-args-match", "value": {"name": "buy", "args": {"a": [{}]}}},
            {"tool": "buy", "schema": {
                "type": "object", "required": ["a"], "properties": {"a": {
                    "type": "array", "minItems": 1, "items": False,
                    "prefixItems": [{"type": "object", "required": [], "properties": {}}]}}}},
        ),
        (
            {"type": "trajectory:tool-args-match",
             "value": {"pattern": "buy", "arguments": {"a": 1}, "mode": "exact"}},
            {"tool": "buy", "schema": {"const": {"a": 1}}},
        ),
        (
            {"type": "trajectory:step-count", "value": {"type": "tool", "max": 5}},
            {"type": "tool_call", "max": 5, "tool": None, "min": None},
        ),
        (
            {"type": "trajectory:goal-success", "value": {"goal": "Refund it."}},
            {"type": "judge", "criteria": "The assistant achieves this goal: Refund it.",
             "transcript": True},
        ),
    ],
)  # fmt: skip
def test_it_becomes_a_check(assertion: dict[str, Any], expected: dict[str, Any]) -> None:
    found = check(assertion)
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    "assertion",
    [
        {"type": "contains", "value": "package:a:b"},
        {"type": "contains", "value": "file://a.js"},
        {"type": "levenshtein", "value": "a", "threshold": -1},
        {"type": "rouge-n", "value": "a", "threshold": 1.5},
        {"type": "bleu", "value": "a", "threshold": -0.5},
        {"type": "word-count", "value": 1.5},
        {"type": "word-count", "value": {"max": -1}},
        {"type": "latency", "threshold": 0},
        {"type": "is-sql", "value": {"databaseType": "Cobol"}},
        {"type": "is-sql", "value": {"allowedColumns": ["a"]}},
        {"type": "is-sql", "value": {"allowedTables": ["select::null::a", "insert::null::b"]}},
        {"type": "is-sql", "value": {"allowedTables": "a.*"}},
        {"type": "is-valid-openai-tools-call"},
        {"type": "tool-call-f1", "value": ["a"], "threshold": 0.5},
        {"type": "trajectory:tool-used", "value": "look_*"},
        {"type": "trajectory:tool-used", "value": {"name": "look", "min": 0}},
        {"type": "trajectory:tool-used", "value": {"name": "look", "max": 0}},
        {"type": "not-trajectory:tool-used", "value": [f"t{n}" for n in range(21)]},
        {"type": "trajectory:tool-sequence", "value": [{"name": "ls", "type": "command"}]},
        {"type": "trajectory:tool-args-match", "value": {"name": "b", "args": {}, "ignore": "a"}},
        {"type": "trajectory:step-count", "value": {"max": 5}},
        {"type": "trajectory:step-count", "value": {"type": "tool", "min": 0}},
        {"type": "skill-used", "value": "a"},
        {"type": "python", "value": "output == 'a'"},
        {"type": "promptfoo:redteam:harmful", "value": "a"},
        {"type": "equals", "value": "a", "transform": "fetch(output)"},
        {"type": "equals", "value": "a", "contextTransform": "x"},
        {"type": "assert-set", "assert": [{"type": "javascript", "value": "1"}]},
        {"type": "assert-set", "threshold": 0, "assert": [ALWAYS]},
        {"type": "assert-set", "threshold": 2, "assert": [ALWAYS]},
        {"type": "assert-set", "threshold": 0.5, "assert": [{"type": "javascript", "value": "1"}]},
        {"type": "assert-set", "threshold": 0.5, "assert": [ALWAYS] * 21},
    ],
    ids=lambda assertion: json.dumps(assertion)[:60],
)
def test_what_gatekeeper_does_not_do_is_noted_and_the_rest_runs(assertion: dict[str, Any]) -> None:
    contract = read_one(assertion)
    assert contract.not_run != ()
    assert [spec.type for spec in checks_of_first(contract)] == ["equals"]


@pytest.mark.parametrize(
    "assertion",
    [
        {"value": "a"},
        {"type": "equals"},
        {"type": "contains", "value": {"a": 1}},
        {"type": "contains", "value": ""},
        {"type": "contains-all", "value": 7},
        {"type": "contains-all", "value": '"a'},
        {"type": "regex", "value": ""},
        {"type": "levenshtein", "value": "a", "threshold": "{{q}}"},
        {"type": "levenshtein", "value": "a", "threshold": True},
        {"type": "latency"},
        {"type": "word-count", "value": True},
        {"type": "word-count", "value": {}},
        {"type": "is-json", "value": [1]},
        {"type": "is-sql", "value": "users"},
        {"type": "tool-call-f1"},
        {"type": "trajectory:tool-used"},
        {"type": "trajectory:tool-used", "value": {"max": 1}},
        {"type": "trajectory:tool-sequence", "value": "look"},
        {"type": "trajectory:tool-args-match", "value": {"name": "look"}},
        {"type": "trajectory:step-count", "value": {"type": "tool", "max": "5"}},
        {"type": "trajectory:step-count", "value": {"type": "tool", "max": 1.5}},
        {"type": "trajectory:goal-success", "value": ""},
        {"type": "equals", "value": "a", "weight": "2"},
        {"type": "equals", "value": "a", "weight": 1e9},
        {"type": "assert-set"},
        {"type": "assert-set", "assert": [ALWAYS] * 21},
        {"type": "equalz", "value": "a"},
    ],
    ids=lambda assertion: json.dumps(assertion)[:60],
)
def test_what_promptfoo_cannot_mean_is_an_error_of_the_file(assertion: dict[str, Any]) -> None:
    with pytest.raises(ContractError) as found:
        read_one(assertion)
    assert {problem.path for problem in found.value.problems} == {PATH}


def test_tools_of_the_provider_are_what_may_be_called() -> None:
    found = check({"type": "is-valid-openai-tools-call"}, TOOLS)
    assert (found["min"], list(found["allowed"])) == (1, ["look", "buy"])
    one = check({"type": "is-valid-openai-tools-call"}, [{"name": "look", "parameters": SCHEMA}])
    assert one["allowed"] == {"look": SCHEMA}


def test_tools_can_be_named_in_a_text() -> None:
    found = check({"type": "tool-call-f1", "value": "look, buy"})
    assert found["order"] == found["allowed"] == ["look", "buy"]
    assert found["match"] == "any_order"


def test_each_tool_of_a_list_is_used_and_with_not_none_of_them() -> None:
    every = check({"type": "trajectory:tool-used", "value": ["look", "buy"]})
    assert (every["order"], every["match"]) == (["look", "buy"], "any_order")
    (none, _) = checks_of_first(
        read_one({"type": "not-trajectory:tool-used", "value": ["look", "buy"]})
    )
    assert (none.type, none.negated) == ("any_of", True)
    assert [part.params for part in none.parts] == [{"tool": "look"}, {"tool": "buy"}]


@pytest.mark.parametrize(
    "code",
    [
        "def get_assert(",
        "def other(output): return True",
        "def get_assert(output, provider): return True",
        "def get_assert(output, /): return True",
    ],
)
def test_a_function_that_gatekeeper_cannot_call_is_noted(code: str) -> None:
    assert read_one({"type": "python", "value": "file://a.py"}, a__py=code).not_run != ()


CELLS = {
    "yes": {"type": "equals", "value": "yes"},
    "fn: output == 1": {"type": "javascript", "value": "output == 1"},
    "file://a.mjs": {"type": "javascript", "value": "file://a.mjs"},
    "file://a.py:f": {"type": "python", "value": "file://a.py:f"},
    "file://a.txt": {"type": "equals", "value": "file://a.txt"},
    "grade:is kind": {"type": "llm-rubric", "value": "is kind"},
    "python: len(output)": {"type": "python", "value": "len(output)"},
    "a: b": {"type": "equals", "value": "a: b"},
    "similar:cats": {"type": "similar", "value": "cats", "threshold": 0.8},
    "similar(0.5):cats": {"type": "similar", "value": "cats", "threshold": 0.5},
    "rouge-n(0.5):a": {"type": "rouge-n", "value": "a", "threshold": 0.5},
    "not-contains: a": {"type": "not-contains", "value": "a"},
    'contains-any:"a,b",c': {"type": "contains-any", "value": ["a,b", "c"]},
    "is-json": {"type": "is-json"},
}


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_writes_an_assertion(cell: str) -> None:
    assert assertion_of_text(cell) == CELLS[cell]


def test_a_text_is_split_at_commas_outside_of_quotes() -> None:
    assert split_values(r' "a ""b"" \"c\"" , d ,, e') == ['a "b" "c"', "d", "e"]
    assert split_values(' a ,, "b, ""c""" ,d') == ["a", 'b, "c"', "d"]
    assert split_values('"a') is split_values('"a" b') is None


def test_a_word_that_is_nearly_a_type_is_noticed() -> None:
    assert misspelt_type("not-contian: a") == ("not-contian", "not-contains")
    assert misspelt_type("hello") is misspelt_type("1") is None


def test_a_row_is_a_case() -> None:
    row = {
        "q": "a",
        "__expected": "equals:x",
        "__expected2": " ",
        "__prefix": "Dear ",
        "__suffix": "",
        "__description": "greets",
        "__metric": "tone",
        "__threshold": "0.5",
        "__metadata:tags[]": r"a, b\,c",
        "__metadata:team": "",
        "__metadata": "ignored",
        "__config:__expected1:threshold": "0.9",
    }
    case = row_case(row, "t.csv", 4)
    assert case.value == {
        "vars": {"q": "a"},
        "assert": [{"type": "equals", "value": "x", "metric": "tone", "threshold": 0.9}],
        "options": {"prefix": "Dear "},
        "metadata": {"tags": ["a", "b,c"]},
        "description": "greets",
        "threshold": 0.5,
    }
    assert case.position.line == 4


@pytest.mark.parametrize(
    "row", [{"__expectd": "x"}, {"__config:x": "1"}, {"__config:__expected1:threshold": "much"}]
)
def test_a_column_that_cannot_be_read_is_an_error(row: dict[str, str]) -> None:
    with pytest.raises(ContractError) as found:
        row_case(row, "t.csv", 4)
    assert found.value.problems[0].path == "t.csv"
