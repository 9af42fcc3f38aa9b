"""YAML and JSON text: data, places, and every way of refusing."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.edited_text import edited

from gatekeeper.contract.syntax.yaml_positions import (
    MAX_DEPTH,
    field_name,
    parse,
    parse_json,
    parse_yaml,
)
from gatekeeper.errors import ContractError, Problem

JSON_LIKE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.text(max_size=20)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


def refusal(text: str, path: str = "f.yaml") -> Problem:
    with pytest.raises(ContractError) as caught:
        parse(text, path)
    return caught.value.problems[0]


def test_every_value_knows_its_place() -> None:
    document = parse_yaml(
        edited("a: 1\nb:\n  - x\n  - {c: |\n    }\n", "{c: |\n    }", "c: |\n      text"), "f"
    )
    assert document.data == {"a": 1, "b": ["x", {"c": "text\n"}]}
    assert document.places["b", 0] == (3, 5)
    assert document.keys["b", 1, "c"] == (4, 5)
    assert document.text_lines["b", 1, "c"] == 5
    assert document.position(("b", 7, "gone")).line == 3
    assert field_name(("b", 1, "c")) == "b[1].c"


@pytest.mark.parametrize(
    ("written", "data"),
    [
        ("no", "no"),
        ("NO", "NO"),
        ("on", "on"),
        ("2024-01-01", "2024-01-01"),
        ("12:30", "12:30"),
        ("007", "007"),
        ("1_000", "1_000"),
        ("=", "="),
        (".nan", ".nan"),
        ("true", True),
        ("~", None),
        ("", None),
        ("0x1F", 31),
        ("0o17", 15),
        ("-3", -3),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("!!int '7'", 7),
        ("!!float 1", 1.0),
    ],
)
def test_scalars_are_those_of_yaml_1_2(written: str, data: object) -> None:
    assert parse_yaml(f"a: {written}\n", "f").data == {"a": data}


def test_merge_keys_and_aliases() -> None:
    text = "base: &b {x: 1, y: 2}\nother: &o {z: 3}\nc: {<<: [*b, *o], y: 9}\nd: {<<: *b}\n"
    data = parse_yaml(text, "f").data
    assert data["c"] == {"x": 1, "y": 9, "z": 3}
    assert data["d"] == {"x": 1, "y": 2}


def test_numbers_as_keys_are_the_text_that_is_written():
    found = parse_yaml("scale: {1: useless, 2: helps, 1.50: more}\n", "f")
    assert found.data == {"scale": {"1": "useless", "2": "helps", "1.50": "more"}}


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a: 1\nb: [1\nc: 2", 3, "not YAML"),
        ("a: 1\na: 2\n", 2, ", first on line 1"),
        ("a: &a {x: 1}\nb: &b {x: 2}\nc:\n  <<: *a\n  <<: *b\n", 5, "has `<<` twice"),
        ("a: 1\n# \u2028b: 2\n", 2, "U+2028"),
        ("a: 1\nb: '\u0085'\n", 2, "U+0085"),
        ("a: 1\n---\nb: 2\n", 2, "second YAML document"),
        ("true: x\n", 1, "the key true is not text"),
        ("1: x\n'1': y\n", 2, ", first on line 1"),
        ("? [a]\n: x\n", 1, "a key is not text"),
        ("a: !!python/object:os.system x\n", 1, "tag"),
        ("a: !!set {x}\n", 1, "tag"),
        ("a: !!bool maybe\n", 1, "not a valid bool"),
        ("a: !!float .inf\n", 1, "not a valid float"),
        ("a: 1e999\n", 1, "not a valid float"),
        ("a: {<<: 3}\n", 1, "can only merge mappings"),
        ("a: \x07\n", 1, "not YAML"),
        ("&a [*a]\n", 1, "nested deeper"),
        ("[" * 100_000, 1, "nested deeper"),
        ("- " * 50_000 + "a", 1, "nested deeper"),
        ("[" * (MAX_DEPTH + 5) + "]" * (MAX_DEPTH + 5), 1, "nested deeper"),
        ("a: " + "9" * 5000, 1, "not a valid int"),
    ],
)
def test_what_is_refused_names_its_line(text: str, line: int, what: str) -> None:
    problem = refusal(text)
    assert (problem.path, problem.line) == ("f.yaml", line)
    assert what in problem.what


@pytest.mark.parametrize("merge", [False, True])
def test_an_alias_bomb_is_refused(merge: bool) -> None:
    rows = ["a0: &a0 {k: [1, 2, 3]}"]
    for level in range(1, 30):
        names = ", ".join([f"*a{level - 1}"] * 9)
        rows.append(f"a{level}: &a{level} " + (f"{{<<: [{names}]}}" if merge else f"[{names}]"))
    assert "use of an alias" in refusal("\n".join(rows)).what


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('{"a": 1,\n "a": 2}', 2, ", first on line 1"),
        ('{"a": NaN}', 1, "a value cannot start with this character"),
        ('{"a": 1e999}', 1, "too large"),
        ('{"a": ' + "9" * 5000 + "}", 1, "too large"),
        ('["\\ud800"]', 1, "surrogate"),
        ('["a\nb"]', 1, "invalid control character"),
        ("[1,\n]", 2, "a value cannot start"),
        ("[1 2]", 1, "`,` or `]`"),
        ('{"a" 1}', 1, "`:` is missing"),
        ('{"a": 1 "b"}', 1, "`,` or `}`"),
        ("{a: 1}", 1, "double quotes"),
        ("[1] x", 1, "more text follows"),
        ("", 1, "a value is missing"),
        ("[" * 100_000, 1, "nested deeper"),
    ],
)
def test_json_is_read_strictly(text: str, line: int, what: str) -> None:
    problem = refusal(text, "f.json")
    assert problem.line == line
    assert what in problem.what


def test_json_places_and_first_line() -> None:
    document = parse_json('{"a":\n [1, {"b": 2}], "c": [], "d": {}}', "f.json", 5)
    assert document.places["a", 1, "b"] == (6, 12)
    assert document.keys["c",] == (6, 17)
    with pytest.raises(ContractError, match=r"f:8:"):
        parse_json('["x",\n"a\\q"]', "f", 7)


@given(JSON_LIKE)
def test_json_round_trips(data: object) -> None:
    for ascii_only in (True, False):
        assert parse_json(json.dumps(data, ensure_ascii=ascii_only), "f").data == data


@given(JSON_LIKE)
def test_yaml_round_trips(data: object) -> None:
    # Quoted, as PyYAML writes for YAML 1.1 and leaves plain what 1.2 reads otherwise.
    text = yaml.safe_dump(data, default_style='"', allow_unicode=True)
    assert parse_yaml(text, "f").data == data


@given(st.text(max_size=60) | st.text("{}[]:,-&*!<>|'\"# \n\ta1?%@`~.", max_size=60))
def test_no_text_does_more_than_raise_contract_error(text: str) -> None:
    for path in ("f.yaml", "f.json"):
        problems: tuple[Problem, ...] = ()
        try:
            json.dumps(parse(text, path).data, allow_nan=False).encode()
        except ContractError as error:
            problems = error.problems
        assert all(problem.line for problem in problems)
