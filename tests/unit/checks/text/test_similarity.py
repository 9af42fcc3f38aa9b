"""similarity: the score, what passes from which, and what has none in common."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.checks.check import Files
from gatekeeper.checks.registry import CHECKS, SHAPES
from gatekeeper.checks.text.overlap.similarity import similarity

TEXT = st.text(max_size=30)


def common(one: str, other: str) -> int:
    """The length of the longest common subsequence, by the textbook's table."""
    row = [0] * (len(other) + 1)
    for a in one:
        diagonal = 0
        for at, b in enumerate(other):
            above = row[at + 1]
            row[at + 1] = diagonal + 1 if a == b else max(above, row[at])
            diagonal = above
    return row[-1]


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        # The values of thefuzz's README, which rounds them: fuzz.ratio / 100.
        ("this is a test", "this is a test!", 0.97),
        ("fuzzy wuzzy was a bear", "wuzzy fuzzy was a bear", 0.91),
        ("", "", 1),
        ("abc", "", 0),
        ("abc", "xyz", 0),
    ],
)
def test_known_scores(one, other, ratio):
    assert similarity(one, other) == pytest.approx(ratio, abs=0.005)


@given(TEXT, TEXT)
def test_it_is_twice_the_common_subsequence_by_both_lengths(one, other):
    length = len(one) + len(other)
    assert similarity(one, other) == (2 * common(one, other) / length if length else 1)


@given(st.text(alphabet="ab ", max_size=20), st.text(alphabet="ab ", max_size=20))
def test_it_finds_at_least_what_difflib_finds(one, other):
    assert similarity(one, other) >= SequenceMatcher(None, one, other, False).ratio() - 1e-12
    assert similarity(one, other) == similarity(other, one)


@pytest.mark.parametrize(
    ("params", "output", "passed", "score"),
    [
        ({"value": "refund"}, "refund", True, 1),
        ({"value": "refund"}, " refund\n", True, 1),
        ({"value": "refund\n"}, "refund", True, 1),
        ({"value": "abcde"}, "abcdx", True, 0.8),
        ({"value": "abcde"}, "abcxx", False, 0.6),
        ({"value": "abcde", "min": 0.6}, "abcxx", True, 0.6),
        ({"value": "x" * 9 + "a" * 11, "min": 0.45}, "x" * 9 + "b" * 11, True, 0.45),
        ({"value": "abc", "min": 0}, "xyz", True, 0),
        ({"value": "Refund"}, "rEFUND", False, 0),
        ({"value": "Refund", "ignore_case": True}, "rEFUND", True, 1),
        ({"value": "Straße", "ignore_case": True}, "STRASSE", True, 1),
        ({"value": 4.5}, "4.5", True, 1),
        ({"value": True}, "true", True, 1),
        ({"value": ""}, "", True, 1),
        ({"value": "refund", "field": "intent"}, '{"intent": "refund"}', True, 1),
        ({"value": "45", "field": "id"}, '{"id": 45}', True, 1),
        ({"value": "refund", "field": "intent"}, '{"other": 1}', False, 0),
        ({"value": "refund", "field": "intent"}, "refund", False, 0),
        ({"value": "ab", "field": "intent"}, '{"intent": "ax"}', False, 0.5),
    ],
)
def test_checks(apply, params, output, passed, score):
    finding = apply("similarity", output, **params)
    assert (finding.passed, finding.score) == (passed, score)
    assert bool(finding.message) is not passed


@pytest.mark.parametrize(
    ("params", "output", "message"),
    [
        (
            {"value": "abcde"},
            "abcxx",
            'the score is 0.6, less than 0.8; expected a text like "abcde"; got "abcxx"',
        ),
        (
            {"value": "ab", "field": "a.b"},
            '{"a": {"b": "ax"}}',
            '`a.b`: the score is 0.5, less than 0.8; expected a text like "ab"; got "ax"',
        ),
        ({"value": 1}, "two", 'the score is 0, less than 0.8; expected a text like "1"; got "two"'),
        ({"value": "x", "field": "a"}, "prose", "not JSON: expecting value at 1:1"),
        ({"value": "x", "field": "a"}, "{}", "no part `a`; the path exists only up to `$`"),
    ],
)
def test_says_the_score_and_both_texts(apply, params, output, message):
    assert message in apply("similarity", output, **params).message


def test_long_texts_are_shortened(apply):
    finding = apply("similarity", "x" * 10_000, value="y" * 10_000)
    assert len(finding.message) < 300
    assert "…" in finding.message


@given(TEXT, TEXT, st.floats(0, 1))
def test_a_shown_score_never_looks_high_enough(wanted, output, least):
    from unit.checks.conftest import sample_of

    evaluate = CHECKS["similarity"].prepare({"value": wanted, "min": least}, Files({}, "c.yaml"))
    finding = evaluate(sample_of(output))
    assert finding.score is not None
    assert 0 <= finding.score <= 1
    assert finding.passed is (finding.score >= least)
    if not finding.passed:
        shown = re.match(r"the score is (\S+), less", finding.message)
        assert shown is not None
        assert float(shown[1]) <= finding.score


def test_half_a_surrogate_pair_is_a_character(apply):
    finding = apply("similarity", "a\ud800", value="b\ud800")
    assert finding.score == 0.5
    finding.message.encode()


def test_it_says_that_it_gives_a_score():
    assert SHAPES["similarity"].scores
    assert not SHAPES["contains"].scores
