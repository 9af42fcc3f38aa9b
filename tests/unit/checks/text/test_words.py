"""Words in languages with and without spaces: `length` in words, and `rouge`."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.text.words import lettered_words, spaced_words

SPACED = [
    (
        "It isn't late, A-17.",
        ["It", "isn't", "late,", "A-17."],
        ["it", "isn", "t", "late", "a", "17"],
    ),
    ("हिन्दी में वाक्य", ["हिन्दी", "में", "वाक्य"], ["हिन्दी", "में", "वाक्य"]),
    ("한국어 문장", ["한국어", "문장"], ["한국어", "문장"]),
    ("Cafe\u0301 noir", ["Cafe\u0301", "noir"], ["caf\u00e9", "noir"]),
    ("", [], []),
]
UNSPACED = [
    ("我们明天去北京大学。", ["我们", "明天", "去", "北京", "大学"]),
    ("私は明日東京に行きます。", ["私", "は", "明日", "東京", "に", "行き", "ます"]),
    ("ฉันจะไปกรุงเทพ", ["ฉัน", "จะ", "ไป", "กรุงเทพ"]),
    ("ຂ້ອຍຈະໄປວຽງຈັນ", ["ຂ້ອຍ", "ຈະ", "ໄປ", "ວຽງຈັນ"]),
    ("ខ្ញុំនឹងទៅភ្នំពេញ", ["ខ្ញុំ", "នឹង", "ទៅ", "ភ្នំពេញ"]),
    ("မြန်မာစာ", ["မြန်မာ", "စာ"]),
    ("我 使用iPhone。", ["我", "使用", "iPhone"]),
]


@pytest.mark.parametrize(("text", "spaced", "lettered"), SPACED)
def test_languages_with_spaces_need_no_package(monkeypatch, text, spaced, lettered):
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    assert spaced_words(text, "length") == spaced
    assert lettered_words(text, "rouge") == lettered


@pytest.mark.parametrize(("text", "words"), UNSPACED)
def test_languages_without_spaces_are_divided(apply, text, words):
    assert spaced_words(text, "length") == words
    assert lettered_words(text, "rouge") == [word.lower() for word in words]
    count = len(words)
    assert apply("length", text, min=count, max=count, unit="words").passed
    finding = apply("length", text, max=count - 1, unit="words")
    assert finding.message == f"expected at most {count - 1} words; got {count}"


def test_rouge_compares_words_and_not_whole_sentences(apply):
    finding = apply(
        "rouge", "我们明天去上海。", value="我们明天去北京。", variant="rouge1", min=0.7
    )
    assert finding.passed
    assert finding.score == pytest.approx(0.75)


@pytest.mark.parametrize(("text", "words"), UNSPACED)
def test_without_the_package_nothing_is_guessed(apply, monkeypatch, text, words):
    monkeypatch.setitem(sys.modules, "icu4py", None)
    monkeypatch.setitem(sys.modules, "icu4py.breakers", None)
    finding = apply("length", text, max=3, unit="words")
    assert finding.passed is None
    assert "needs the package `icu4py" in finding.message
    assert "gatekeeper[text]" in finding.message
    assert apply("length", text, max=50).passed
    assert apply("rouge", text, value="We go to Beijing.").passed is None
    with pytest.raises(ParameterError, match=r"gatekeeper\[text\]"):
        apply("rouge", "We go.", value=text)


def test_a_text_without_spaces_can_be_too_long(apply):
    finding = apply("length", "我" * 100_001, max=10, unit="words")
    assert finding.passed is None
    assert "100,001 characters without spaces is too long" in finding.message


@given(st.text())
def test_no_text_loses_its_letters(text):
    letters = "".join(filter(str.isalnum, text))
    assert "".join(filter(str.isalnum, "".join(spaced_words(text, "length")))) == letters
