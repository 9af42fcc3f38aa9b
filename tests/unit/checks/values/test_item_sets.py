"""`f1`, `precision` and `recall`: where the items come from, and the scores by definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.values.item_sets import SetCounts


@pytest.mark.parametrize(
    ("output", "more", "f1"),
    [
        ('["a", "b"]', {}, 1),
        ('["a", "x"]', {}, 0.5),
        ('["a", "a", " a "]', {}, 2 / 3),
        ('["A", "b"]', {}, 0.5),
        ('["A", "b"]', {"ignore_case": True}, 1),
        ("a; b", {"separator": ";"}, 1),
        ('{"l": ["b"]}', {"field": "l"}, 2 / 3),
        ('{"l": [{"n": "a"}, {"n": "b"}]}', {"field": "$.l[*].n"}, 1),
        ('{"l": ["a", "b"]}', {"field": "$['l']"}, 1),
        ('{"l": "a;b"}', {"field": "l", "separator": ";"}, 1),
        ("[]", {}, 0),
        ("{}", {}, 0),
        ("a, b", {}, 0),
    ],
)
def test_items_and_f1(apply, output, more, f1):
    found = apply("f1", output, value=["a", "b"], min=1, **more)
    assert found.score == pytest.approx(f1)
    assert found.passed is (f1 == 1)


def test_precision_and_recall(apply):
    output = '["a", "x", "y", "z"]'
    assert apply("precision", output, value=["a", "b"], min=0.25).score == 0.25
    assert apply("recall", output, value=["a", "b"], min=0.5).score == 0.5
    assert apply("recall", output, value=["a", "b"], min=0.5).passed


def test_the_message_names_items(apply):
    found = apply("f1", '["a", "x"]', value=["a", "b"], min=0.9)
    assert found.message == 'the score is 0.5, less than 0.9; missing: "b"; not expected: "x"'


def test_a_query_that_selects_nothing_finds_no_items(apply):
    for name in ("f1", "precision", "recall"):
        none_expected = apply(name, '{"l": []}', field="$.l[*].n", value=[], min=1)
        assert (none_expected.passed, none_expected.score) == (True, 1)
        one_expected = apply(name, '{"l": []}', field="$.l[*].n", value=["a"], min=0.5)
        assert (one_expected.passed, one_expected.score) == (False, 0)


def test_values_of_json_and_text_that_holds_a_list(apply):
    assert apply("f1", '[1, {"a": 2}]', value='[{"a": 2}, 1]', min=1).passed
    with pytest.raises(ParameterError):
        apply("f1", "[]", value="a, b", min=1)
    assert apply("f1", "b,a", value="a, b", min=1, separator=",").passed


def test_items_that_are_equal_as_json_are_the_same(apply):
    wanted = [{"name": "Ünal", "amount": 10}, [1, 2]]
    written = '[{"amount": 10.0, "name": "Ünal"}, [1.0, 2]]'
    assert apply("f1", written, value=wanted, min=1).passed
    found = apply("f1", '[{"amount": 11, "name": "Ünal"}, [2, 1]]', value=wanted, min=0.1)
    assert found.score == 0
    assert "Ünal" in found.message
    assert not apply("f1", "[true]", value=[1], min=0.1).passed


@given(st.sets(st.integers(0, 6)), st.sets(st.integers(0, 6)))
def test_the_scores_follow_their_definitions(found, wanted):
    counts = SetCounts(len(found), len(wanted), len(found & wanted))
    both = len(found & wanted)
    if found and wanted:
        precision, recall = both / len(found), both / len(wanted)
        assert (counts.precision, counts.recall) == (precision, recall)
        harmonic = 2 * precision * recall / (precision + recall) if both else 0
        assert counts.f1 == pytest.approx(harmonic)
    else:
        same = float(found == wanted)
        assert (counts.precision, counts.recall, counts.f1) == (same, same, same)
