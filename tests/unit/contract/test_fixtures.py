"""Fixture files of every kind, and where their faults are."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gatekeeper.contract.fixtures.fixtures import fixture_from, identified, read_rows
from gatekeeper.contract.syntax.yaml_positions import Document, KeyPath
from gatekeeper.contract.values.definition import CheckSpec, Fixture
from gatekeeper.errors import ContractError, Problem


def no_checks(_d: Document, _k: KeyPath, _v: object, _p: list[Problem]) -> tuple[CheckSpec, ...]:
    return (CheckSpec("equals", "e", {}),)


def load(text: str, path: str) -> tuple[Fixture, ...]:
    problems: list[Problem] = []
    made = [fixture_from(row, no_checks, problems) for row in read_rows(text, path)]
    fixtures = identified([fixture for fixture in made if fixture], problems)
    if problems:
        raise ContractError(problems)
    return fixtures


ROWS = [
    {"id": "a", "vars": {"text": 'x, "y"\nz'}, "expected": "no", "category": "c"},
    {"text": "plain", "expected": "yes"},
]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("f.jsonl", "\n".join(json.dumps(row) for row in ROWS) + "\n\n"),
        ("f.json", json.dumps(ROWS, indent=1)),
        ("f.yaml", json.dumps(ROWS)),
        (
            "f.yml",
            '- {id: a, vars: {text: "x, \\"y\\"\\nz"}, expected: no, category: c}\n'
            "- text: plain\n  expected: yes\n",
        ),
        ("f.CSV", 'id,text,expected,category\na,"x, ""y""\nz",no,c\n\n,plain,yes,\n'),
    ],
)
def test_the_same_rows_in_every_format(path: str, text: str) -> None:
    first, second = load(text, path)
    assert (first.id, first.vars, first.expected) == ("a", ROWS[0]["vars"], "no")
    assert first.category == "c"
    assert (second.vars, second.expected) == ({"text": "plain"}, "yes")
    assert second.id.startswith("plain (")
    assert second.position is not None
    assert (second.position.path, bool(second.position.line)) == (path, True)


def test_csv_lines_are_those_of_the_file() -> None:
    rows = read_rows('text\n"a\nb"\nc\n', "f.csv")
    assert [row.document.position().line for row in rows] == [2, 4]


def test_csv_cells_may_hold_json() -> None:
    (fixture,) = load('id,vars,metadata,checks\n7,"{""a"": [1]}",,\n', "f.csv")
    assert (fixture.id, fixture.vars, fixture.checks) == ("7", {"a": [1]}, ())


def test_made_ids_depend_on_content_alone() -> None:
    (one,) = load('{"b": 1, "a": 2}', "f.jsonl")
    first, again, other = load('[{"a": 2, "b": 1}, {"a": 2, "b": 1}, {"a": 3}]', "g.json")
    assert (first.id, again.id) == (one.id, f"{one.id}-2")
    assert other.id not in (first.id, again.id)


def test_made_ids_begin_like_the_text_of_the_fixture() -> None:
    rows = [
        {"tone": "kind", "mail": "Where is my order?\nI wait since Monday\u2028and want it now."},
        {"mail": "x" * 90},
        {"mail": " \u200b\n"},
        {"count": 3},
    ]
    ids = [fixture.id.rpartition(" (")[0] for fixture in load(json.dumps(rows), "f.json")]
    assert ids == ["Where is my order? I wait…", f"{'x' * 28}…", "", ""]


def test_a_renamed_variable_leaves_made_ids_as_they_are() -> None:
    before = load("word,tone\nox,calm\nox,wild\nox,calm\n", "f.csv")
    renamed = load("term,tone\nox,calm\nox,wild\nox,calm\n", "f.csv")
    reordered = load("tone,a_word\ncalm,ox\nwild,ox\ncalm,ox\n", "f.csv")
    ids = [fixture.id for fixture in before]
    assert [fixture.id for fixture in renamed] == ids
    assert [fixture.id for fixture in reordered] == ids
    assert len(set(ids)) == 3
    swapped = load("first,second\na,b\nb,a\n", "f.csv")
    assert swapped[0].id != swapped[1].id


@pytest.mark.parametrize(
    ("path", "text", "place", "what"),
    [
        ("f.jsonl", '{"a": 1}\n{"a": 2\n', "f.jsonl:2", "not JSON"),
        ("f.jsonl", '{"a": 1, "a": 2}', "f.jsonl:1", "occurs twice"),
        ("f.jsonl", '{"a": NaN}', "f.jsonl:1", "not JSON"),
        ("f.jsonl", '{"a": 1e999}', "f.jsonl:1", "too large"),
        ("f.jsonl", '{"a": "\\uD800"}', "f.jsonl:1", "surrogate"),
        ("f.jsonl", "[" * 5000, "f.jsonl:1", "nested deeper"),
        ("f.jsonl", "\n", "f.jsonl:1", "no fixture"),
        ("f.json", "[]", "f.json:1", "no fixture"),
        ("f.json", "", "f.json:1", "no fixture"),
        ("f.yaml", "a: 1", "f.yaml:1", "not a list"),
        ("f.yaml", "- 3", "f.yaml:1", "not a mapping"),
        ("f.yaml", "- a: 1\n- {}", "f.yaml:2", "the row is empty"),
        ("f.yaml", "- vars: 3", "f.yaml:1", "3 is not a mapping"),
        ("f.yaml", "- vars: {a: 1}\n  b: 2", "f.yaml:2", "cannot have the key `b`"),
        ("f.yaml", "- vars: {a: 1}\n  expcted: 2", "f.yaml:2", "did you mean `expected`?"),
        ("f.yaml", "- vars: {a: 1}\n  catgory: x", "f.yaml:2", "did you mean `category`?"),
        ("f.yaml", "- a: 1\n  metadata: 3", "f.yaml:2", "metadata: 3 is not"),
        ("f.yaml", "- a: 1\n  id: [x]", "f.yaml:2", "`id`"),
        ("f.yaml", "- a: 1\n  category: true", "f.yaml:2", "`category`"),
        ("f.yaml", "- {id: x, a: 1}\n- {id: x, a: 2}", "f.yaml:2", "id `x`, at f.yaml:1"),
        ("f.csv", "a,b\n1\n", "f.csv:2", "2 columns, but this row has 1"),
        (
            "f.csv",
            "a;b\n1;2,3\n",
            "f.csv:2",
            "1 column, but this row has 2; separate the columns by",
        ),
        ("f.csv", "a\tb\n1\t2,3\n", "f.csv:2", "separate the columns by commas"),
        ("f.csv", "a\n1,2\n", "f.csv:2", "put the cell in double quotes"),
        ("f.csv", "a,a\n1,2\n", "f.csv:1", "two columns have the same"),
        ("f.csv", "a\n", "f.csv:1", "no fixture"),
        ("f.csv", 'a\n"x', "f.csv:2", "not CSV"),
        ("f.csv", "a,vars\n1,{x}\n", "f.csv:2", "not JSON"),
        ("f.txt", "x", "f.txt", "a file of this type"),
    ],
)
def test_faults_name_file_and_line(path: str, text: str, place: str, what: str) -> None:
    with pytest.raises(ContractError) as caught:
        load(text, path)
    message = str(caught.value)
    assert message.startswith(place)
    assert what in message


@example("\r0")
@example('a"\r, b\n1,2')
@example(f"a, {'b' * 200_000}")
@given(st.text(max_size=40) | st.text('{}[]":,ab1\n- ', max_size=40))
def test_no_text_does_more_than_raise_contract_error(text: str) -> None:
    for path in ("f.jsonl", "f.json", "f.yaml", "f.csv"):
        try:
            fixtures = load(text, path)
        except ContractError:
            continue
        assert len({fixture.id for fixture in fixtures}) == len(fixtures) > 0


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=10)


@given(
    st.lists(st.dictionaries(st.sampled_from(["x", "y"]), CELL, min_size=1), min_size=1, max_size=5)
)
def test_json_lines_round_trip(rows: list[dict[str, str]]) -> None:
    text = "\n".join(json.dumps(row) for row in rows)
    assert [fixture.vars for fixture in load(text, "f.jsonl")] == rows
