"""levenshtein, rouge, bleu, chrf: scores against known values, limits, parameters."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.checks.check import Files, ParameterError
from gatekeeper.checks.registry import CHECKS
from gatekeeper.checks.text.overlap.rouge import VARIANTS, rouge
from gatekeeper.checks.text.words import lettered_words

# rouge-score 0.1.2 without its stemmer, rounded to six places: precision, recall, F-measure.
ROUGE_SCORE = {
    (
        "The customer wants a refund for a parcel that came late.",
        "The customer wants a refund because the parcel came late.",
    ): [(0.727273, 0.8, 0.761905), (0.5, 0.555556, 0.526316), (0.727273, 0.8, 0.761905)],
    ("the the the cat", "the cat sat on the mat"): [
        (0.75, 0.5, 0.6),
        (0.333333, 0.2, 0.25),
        (0.5, 0.333333, 0.4),
    ],
    ("Order A-17 ships on Monday, 4 May.", "On Monday, May 4th, order A-17 will ship."): [
        (0.75, 0.666667, 0.705882),
        (0.428571, 0.375, 0.4),
        (0.375, 0.333333, 0.352941),
    ],
    ("nothing alike", "totally different words here"): [(0, 0, 0)] * 3,
    ("a b c d e f g", "g f e d c b a"): [(1, 1, 1), (0, 0, 0), (0.142857, 0.142857, 0.142857)],
}


@pytest.mark.parametrize("texts", ROUGE_SCORE)
def test_rouge_is_that_of_rouge_score(texts):
    found, wanted = (lettered_words(text, "rouge") for text in texts)
    for variant, (precision, recall, f1) in zip(VARIANTS, ROUGE_SCORE[texts], strict=True):
        score = rouge(found, wanted, variant)
        assert score == pytest.approx(
            {"precision": precision, "recall": recall, "f1": f1}, abs=1e-6
        )


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc"), min_size=1))
def test_rouge_is_a_share_and_symmetric(found, wanted):
    for variant in VARIANTS:
        score, other = rouge(found, wanted, variant), rouge(wanted, found, variant)
        assert all(0 <= value <= 1 for value in score.values())
        assert score["precision"] == other["recall"]
        assert score["f1"] == pytest.approx(other["f1"])


def test_the_best_reference_counts(apply):
    finding = apply(
        "rouge", "b c", value=["a", "b c d"], variant="rouge1", measure="recall", min=0.6
    )
    assert finding.score == pytest.approx(2 / 3)


def test_words_of_other_scripts_count(apply):
    assert apply("rouge", "Größe änderbar", value="größe ÄNDERBAR", min=1).passed


@pytest.mark.parametrize(
    ("check", "params"),
    [
        ("rouge", {"value": " "}),
        ("rouge", {"value": "!?"}),
        ("rouge", {"value": "one", "variant": "rouge2"}),
        ("bleu", {"value": ["a", ""]}),
        ("chrf", {"value": "a" * 100_001}),
        ("levenshtein", {"value": "a"}),
    ],
)
def test_refuses_references_that_nothing_can_be_like(check, params):
    with pytest.raises(ParameterError):
        CHECKS[check].prepare(params, Files({}, "c.yaml"))


@pytest.mark.parametrize("check", ["rouge", "bleu", "chrf"])
def test_a_text_is_like_itself_and_unlike_nothing(apply, check):
    text = "Your refund is on its way to your bank account."
    assert apply(check, text, value=text, min=1).score == pytest.approx(1)
    assert apply(check, "", value=text).score == 0
    assert apply(check, "not JSON", value=text, field="a").score == 0
    assert apply(check, "a" * 100_001, value=text).passed is None


def test_bleu_and_chrf_are_those_of_sacrebleu(apply):
    """The values are of `sacrebleu.sentence_bleu` and `sentence_chrf` 2.6.0."""
    found, wanted = "The dog bit the man.", ["The dog bit the man.", "It was bitten."]
    assert apply("bleu", found, value=wanted).score == pytest.approx(1)
    one = {"value": "The dog had bit the man."}
    assert apply("bleu", found, **one).score == pytest.approx(0.5115, abs=1e-4)
    assert apply("chrf", found, **one).score == pytest.approx(0.6765, abs=1e-4)
    assert apply("chrf", found, **one, word_order=2).score == pytest.approx(0.7039, abs=1e-4)


@pytest.mark.parametrize(
    ("params", "output", "passed", "score"),
    [
        ({"value": "sitting", "max": 3}, "kitten", True, 4 / 7),
        ({"value": "sitting", "max": 2}, "kitten", False, 4 / 7),
        ({"value": "sitting", "min": 0.57}, " kitten\n", True, 4 / 7),
        ({"value": "sitting", "min": 0.58}, "kitten", False, 4 / 7),
        ({"value": "abc", "max": 0}, "ABC", False, 0.0),
        ({"value": "abc", "max": 0, "ignore_case": True}, "ABC", True, 1.0),
        ({"value": 17, "max": 1, "field": "a"}, '{"a": 18}', True, 0.5),
        ({"value": 17, "max": 1, "field": "b"}, '{"a": 18}', False, 0.0),
        ({"value": "", "max": 0}, "", True, 1.0),
    ],
)
def test_levenshtein(apply, params, output, passed, score):
    finding = apply("levenshtein", output, **params)
    assert (finding.passed, finding.score) == (passed, pytest.approx(score))


def test_levenshtein_says_how_many_edits(apply):
    message = apply("levenshtein", "kitten", value="sitting", max=2).message
    assert message.startswith('needs 3 edits to become "sitting"')


@pytest.mark.parametrize(
    ("check", "module"), [("bleu", "sacrebleu.metrics"), ("chrf", "sacrebleu.metrics")]
)
def test_a_missing_package_names_the_extra(check, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ParameterError, match=r"gatekeeper\[text\]"):
        CHECKS[check].prepare({"value": "a"}, Files({}, "c.yaml"))
