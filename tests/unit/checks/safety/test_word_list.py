"""word_list: whole words, phrases, files, and what hides a word."""

from __future__ import annotations

import pytest

from gatekeeper.checks.check import ParameterError


@pytest.mark.parametrize(
    ("words", "text", "found"),
    [
        (["ass"], "class, assess", []),
        (["ass"], "an ASS.", ["ass"]),
        (["money back"], "Money-back! moneyback", ["money back"]),
        (["money back"], "moneyback", []),
        (["café"], "CAFE\u0301", ["café"]),
        (["rival"], "ri\u200bval", ["rival"]),
        (["rival"], "ｒｉｖａｌ", ["rival"]),
        (["Straße"], "STRASSE", ["Straße"]),
        (["保证"], "我们保证退款", ["保证"]),
        (["a", "b c"], "b c a", ["b c", "a"]),
        (["4711"], "order 4711", ["4711"]),
        (["x"], "", []),
    ],
)
def test_finds(apply, words, text, found):
    finding = apply("word_list", text, words=words)
    listed = ", ".join(f'"{word}"' for word in found)
    expected = f"contains {listed}" if found else ""
    assert (finding.passed, finding.message) == (not found, expected)


def test_words_of_a_file(apply):
    files = {"w.txt": "# a comment\n\nrival soft\n other \n"}
    assert apply("word_list", "a comment", files, file="w.txt").passed
    for text in ("Rival Soft", "other"):
        assert apply("word_list", text, files, file="w.txt", words=["x"]).passed is False
    assert apply("word_list", "x", files, file="w.txt", words=["x"]).passed is False


@pytest.mark.parametrize(
    ("params", "files"),
    [
        ({}, {}),
        ({"words": ["!?"]}, {}),
        ({"words": ["a " * 21]}, {}),
        ({"file": "w.txt"}, {"w.txt": "# nothing\n"}),
    ],
)
def test_refuses(apply, params, files):
    with pytest.raises(ParameterError):
        apply("word_list", "", files, **params)


def test_a_long_text_is_undetermined(apply):
    assert apply("word_list", "a" * 100_001, words=["b"]).passed is None
