"""Generated tests differ from each other, and are numbered by their rule."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.generation.files import fixture_row, read_fixture_rows, write_fixture_rows
from gatekeeper.author.generation.tests import without_near_duplicates
from gatekeeper.author.specification.spec_file import GeneratedTest

LONG = "The battery of this telephone lasts two days, and the screen is bright enough outside."


def test_of(name: str, text: str) -> GeneratedTest:
    return GeneratedTest(f"r.{name}", "r", "rule", "typical", "s", "r", {"text": text})


test_of.__test__ = False  # type: ignore[attr-defined]


def test_of_nearly_equal_inputs_the_first_stays():
    tests = [test_of("1", LONG), test_of("2", f"{LONG}!"), test_of("3", "ok"), test_of("4", "ok")]
    found, left_out = without_near_duplicates(tests)
    assert [test.id for test in found] == ["r.1", "r.3"]
    assert left_out == 2
    assert without_near_duplicates(tests[2:], tests[:1])[1] == 1
    assert without_near_duplicates(tests[1:2], tests[:1]) == ((), 1)


def test_short_inputs_that_differ_in_spaces_alone_are_the_same():
    nested = {"text": ["a b", {"c": "d  e", "n": 1}]}
    tests = [
        test_of("1", "so so"),
        test_of("2", " so\n so "),
        test_of("3", "soso"),
        replace(test_of("4", ""), vars=nested),
        replace(test_of("5", ""), vars={"text": ["a  b", {"c": "d e", "n": 1}]}),
        replace(test_of("6", ""), vars={"text": ["a b", {"c": "d e", "n": 2}]}),
    ]
    found, left_out = without_near_duplicates(tests)
    assert [test.id for test in found] == ["r.1", "r.3", "r.4", "r.6"]
    assert left_out == 2
    assert without_near_duplicates(tests[1:2], tests[:1]) == ((), 1)


@given(st.lists(st.text(max_size=30), max_size=5))
def test_rows_are_read_back(texts):
    rows = tuple(fixture_row(test_of(str(n), text)) for n, text in enumerate(texts))
    assert read_fixture_rows(write_fixture_rows(rows), "f.jsonl") == rows
