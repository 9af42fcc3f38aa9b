"""language: short and long texts, candidates, confidence, codes."""

from __future__ import annotations

import sys

import pytest

from gatekeeper.checks.check import Files, ParameterError
from gatekeeper.checks.text import language


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "Dear Ms Smith, thank you for your message."),
        ("de", "Sehr geehrte Frau Schmidt, vielen Dank für Ihre Nachricht."),
        ("fr", "Votre remboursement est en cours."),
        ("pl", "Twój zwrot pieniędzy jest w drodze."),
        ("ja", "返金手続き中です。"),
        ("zh", "您的退款正在处理中。"),
        ("ar", "استرداد أموالك في الطريق."),
    ],
)
def test_recognises(apply, code, text):
    assert apply("language", text, value=code).passed
    assert apply("language", text, value=["ko", code.upper()]).passed
    finding = apply("language", text, value="ko")
    assert finding.passed is False
    assert f" for {code}: " in finding.message


def test_candidates_make_short_texts_certain(apply):
    text = "Uw terugbetaling is onderweg."
    assert apply("language", text, value="nl").passed is False
    assert apply("language", text, value="nl", among=["en", "de", "fr"]).passed


@pytest.mark.parametrize("text", ["", " \n", "12345 !?", "\ud83d"])
def test_a_text_without_words_fails(apply, text):
    finding = apply("language", text, value="en")
    assert finding.passed is False
    assert "the text has no words" in finding.message


@pytest.mark.parametrize("text", ["a" * 100_000, "漢" * 100_000])
def test_one_long_word_takes_no_long_time(apply, text):
    assert apply("language", text, value="en").passed is False


def test_a_long_text_is_undetermined(apply):
    assert apply("language", "a " * 50_001, value="en").passed is None


@pytest.mark.parametrize(
    "params",
    [{"value": "english"}, {"value": "en", "among": ["xx"]}, {"value": "en", "among": ["en"]}],
)
def test_refuses(params):
    with pytest.raises(ParameterError):
        language.CHECK.prepare(params, Files({}, "c.yaml"))


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "lingua", None)
    language._known_languages.cache_clear()
    with pytest.raises(ParameterError, match=r"gatekeeper\[text\]"):
        language.CHECK.prepare({"value": "en"}, Files({}, "c.yaml"))
