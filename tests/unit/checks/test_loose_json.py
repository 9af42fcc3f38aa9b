"""`json_loose_parse` and `lowercase_fields`: nothing is lost, and nothing is made up."""

from __future__ import annotations

import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.checks.reading.output import NotJson, parse_json
from gatekeeper.checks.repairs.letter_case import lowercase_fields
from gatekeeper.checks.repairs.loose_json import MOST_CHARACTERS, json_loose_parse
from gatekeeper.contract.reading.same_json import same_json

SCALARS = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.text(max_size=8)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
DOCUMENTS = st.recursive(
    SCALARS | NUMBERS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=12,
).filter(lambda value: isinstance(value, dict | list))


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("{'a': 'it', 'b': True, 'c': None,}", {"a": "it", "b": True, "c": None}),
        ('{"a": 1,\n "b": [1 2, 3,],}', {"a": 1, "b": [1, 2, 3]}),
        ("{a: 1, b_2: [false]}", {"a": 1, "b_2": [False]}),
        ('{"a": 1 // one\n, "b": /* two */ 2}', {"a": 1, "b": 2}),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}),
        ("{“a”: “b”}", {"a": "b"}),
        ('{"a":1 "b":2}', {"a": 1, "b": 2}),
        ("['a' 'b',]", ["a", "b"]),
        ("{'a': \"it's\"}", {"a": "it's"}),
        ("{'a': ''}", {"a": ""}),
        (" {'a': []}\n", {"a": []}),
        ('{"n": 1.50, "m": -2e3,}', {"n": 1.5, "m": -2000.0}),
    ],
)
def test_what_is_rewritten(text: str, repaired: object) -> None:
    assert same_json(parse_json(json_loose_parse(text)), repaired)


@pytest.mark.parametrize(
    "text",
    [
        *('{"a": }', '{"a": 1, "b"}', '{"a" "b"}', '{"a":, "b": 1}', '{"a": [1,,2]}', "{,}"),
        *('{"a": "x', '{"a": "x}', "[1, 2", '{"a": 1', '{"a": [1}', '{"a": {"b": 1}', "{", "["),
        *('{"a": NaN}', '{"a": undefined}', '{"a": tru}', '{"a": Infinity}', "{'a': ...}"),
        *('{"a": 1}{"b": 2}', "{'a': 1} and more", "So: {'a': 1}", "prose", "", "'a'", "1,"),
        *("{'a': 1, 'a': 2}", "{'a': 007}", "{'a': (1, 2)}", "{'a': 'it's'}", '{"x": 1 2}'),
        *('{"s": ":\'\'", "b"}', '{"a": "say "hi" ok"}', '{"a": "b" "c"}', "{'a': two words}"),
    ],
)
def test_what_lacks_or_repeats_a_value_stays_as_it_is(text: str) -> None:
    assert json_loose_parse(text) == text


@given(DOCUMENTS)
def test_json_stays_as_it_is(document: object) -> None:
    text = json.dumps(document, indent=1)
    assert json_loose_parse(text) == text


def loosely(value: object, rng: random.Random) -> str:
    """Write a document as a model might: Python's constants, other quotes, stray commas."""
    gap, comma = rng.choice(["", " ", "\n"]), rng.choice([",", ", "])
    end = rng.choice(["", ",", "\n"])
    if isinstance(value, dict):
        parts = [f"{loosely(k, rng)}{gap}:{gap}{loosely(v, rng)}" for k, v in value.items()]
        return "{" + gap + comma.join(parts) + (end if parts else "") + "}"
    if isinstance(value, list):
        parts = [loosely(part, rng) for part in value]
        return "[" + gap + comma.join(parts) + (end if parts else "") + "]"
    if isinstance(value, str):
        quoted = json.dumps(value, ensure_ascii=rng.random() < 0.5)
        if "'" not in value and '"' not in value and rng.random() < 0.7:
            return f"'{quoted[1:-1]}'"
        return quoted
    return rng.choice([json.dumps(value), repr(value)])


@given(DOCUMENTS, st.randoms(use_true_random=False))
def test_a_repaired_document_says_what_was_written(document: object, rng: random.Random) -> None:
    text = loosely(document, rng)
    found = parse_json(json_loose_parse(text))
    assert isinstance(found, NotJson) or same_json(found, document)


@given(DOCUMENTS, st.randoms(use_true_random=False), st.data())
def test_a_document_that_was_cut_off_stays_broken(
    document: object, rng: random.Random, data: st.DataObject
) -> None:
    text = loosely(document, rng)
    length = data.draw(st.integers(0, len(text) - 1))
    cut = text[:length]
    assert isinstance(parse_json(json_loose_parse(cut)), NotJson)


@given(DOCUMENTS, st.randoms(use_true_random=False), st.data())
def test_a_document_that_lacks_a_piece_never_gets_one(
    document: object, rng: random.Random, data: st.DataObject
) -> None:
    """Whatever is read has no text, number or name that is not written there."""
    text = loosely(document, rng)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    left = text[:start] + text[end:]
    found = parse_json(json_loose_parse(left))
    if not isinstance(found, NotJson):
        written = "".join(filter(str.isalnum, unescaped(left)))
        for scalar in scalars(found):
            assert "".join(filter(str.isalnum, scalar)) in written
        assert list(scalars(found)).count("") <= left.count("''") + left.count('""')


def unescaped(text: str) -> str:
    escapes = r"(?:\\u[0-9a-f]{4})+|\\[bfnrt\"\\/]"
    return re.sub(escapes, lambda found: json.loads(f'"{found[0]}"'), text)


def scalars(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for k, v in value.items() for text in (k, *scalars(v))]
    if isinstance(value, list):
        return [text for part in value for text in scalars(part)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize(
    "unit", ["{", "[", "[x", '{"', '\\"', '"\\', "[]", "{}x", '{"a":[', "`", "'", "//", "/*", " "]
)
def test_hostile_texts_stay_as_they_are(unit: str) -> None:
    """Going through the text again for each beginning would not end."""
    for length in (MOST_CHARACTERS - 2, 1_000_000):
        text = "[" + (unit * length)[:length] + "]"
        assert json_loose_parse(text) == text
        assert lowercase_fields(text, ("a",)) == text


@pytest.mark.parametrize(
    ("text", "fields", "lowered"),
    [
        ('{"a": "X", "b": "Y"}', ("a",), '{"a": "x", "b": "Y"}'),
        ('{"a": {"b": ["X", 1, "Y"]}}', ("a.b",), '{"a": {"b": ["x", 1, "y"]}}'),
        ('[{"a": "X"}]', ("[0].a",), '[{"a": "x"}]'),
        ('{"a": {"b": "X"}}', ("$.a.b",), '{"a": {"b": "x"}}'),
        ('{"a": "x",  "b": 1}', ("a", "c.d", "b.e"), '{"a": "x",  "b": 1}'),
        ('{"a": "X", "a": "Y"}', ("a",), '{"a": "X", "a": "Y"}'),
        ('{"b": {"a": 1, "a": 2}, "c": "X"}', ("c",), '{"b": {"a": 1, "a": 2}, "c": "X"}'),
        ('{"a": NaN, "b": "X"}', ("b",), '{"a": NaN, "b": "X"}'),
        ("A", ("a",), "A"),
        (
            '{"a": [{"b": "X", "c": "Y"}, {"b": "Z"}]}',
            ("$.a[*].b",),
            '{"a": [{"b": "x", "c": "Y"}, {"b": "z"}]}',
        ),
        ('{"a": [["X"], "Y"]}', ("a[*]",), '{"a": [["x"], "y"]}'),
        (
            '{"a": {"x": {"b": "X"}, "y": {"b": "Y"}}}',
            ("a.*.b",),
            '{"a": {"x": {"b": "x"}, "y": {"b": "y"}}}',
        ),
        ('{"a": {"*": "X", "y": "Y"}}', ("a.*",), '{"a": {"*": "x", "y": "Y"}}'),
        ('{"a": "X"}', ("a[*].b",), '{"a": "X"}'),
    ],
)
def test_lowercase_fields(text: str, fields: tuple[str, ...], lowered: str) -> None:
    assert lowercase_fields(text, fields) == lowered
    assert lowercase_fields(lowered, fields) == lowered
