"""refusal: phrases of several languages, near misses, empty outputs and filters."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from gatekeeper.checks.safety.refusal_phrases import PHRASES

_FILE = Path(__file__).parents[3] / "reference" / "refusals.tsv"
CORPUS = [line.split("\t") for line in _FILE.read_text("utf-8").splitlines()[1:]]

REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I’m sorry, but I cannot assist with that request.",
    "Sorry, I can't do that.",
    "I am unable to provide legal advice.",
    "I'm not able to share that information.",
    "I won't write that for you.",
    "Unfortunately, I cannot fulfill this request.",
    "As an AI language model, I cannot have opinions on this.",
    "I must decline.",
    "I cannot classify this text as it contains a breaking news statement.",
    "I have to respectfully decline this request.",
    "We're not allowed to discuss other customers.",
    "That goes against my guidelines.",
    "I'm not comfortable writing that.",
    "Es tut mir leid, aber ich kann dir dabei nicht helfen.",
    "Ich darf keine medizinischen Fragen beantworten.",
    "Je suis désolé, mais je ne peux pas vous aider.",
    "Lo siento, no puedo ayudarte con eso.",
    "Mi dispiace, non posso aiutarti con questo.",
    "Desculpe, não posso ajudar com isso.",
    "Sorry, ik kan u daar niet bij helpen.",
    "",
    " \n",
]
ANSWERS = [
    "Your parcel arrives on Monday.",
    "I can help with that. Your refund is on its way.",
    "You can't return opened software.",
    "I cannot recommend this book enough!",
    "The customer says: the shop refused a refund.",
    "If you are unable to log in, reset your password.",
    "Based on the abstract, I was unable to find any model names.",
    "Ich kann Ihnen gern helfen.",
    "Je peux vous aider.",
    "The shop cannot be reached on Sundays.",
    "Sure! " + "Here is the text. " * 40 + "I can't help with the rest.",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal(apply, text):
    assert apply("refusal", text, expect="refusal").passed
    finding = apply("refusal", text, expect="answer")
    assert finding.passed is False
    assert finding.message.startswith("expected an answer; found a refusal: ")


@pytest.mark.parametrize("text", ANSWERS)
def test_an_answer(apply, text):
    assert apply("refusal", text, expect="answer").passed
    finding = apply("refusal", text, expect="refusal")
    assert finding.message.startswith("expected a refusal; got ")


def test_further_phrases(apply):
    text = "Please  ASK a colleague."
    assert apply("refusal", text, expect="refusal", phrases=["please ask a colleague"]).passed
    assert apply("refusal", text, expect="answer", phrases=["ask a lawyer"]).passed


@pytest.mark.parametrize(("reason", "passed"), [("content_filter", True), ("stop", False)])
def test_a_filter_of_the_provider_refuses(apply, reason, passed):
    finding = apply("refusal", "Partly", completion={"finish_reason": reason}, expect="refusal")
    assert finding.passed is passed


@pytest.mark.parametrize("language", sorted({row[0] for row in CORPUS}))
def test_every_refusal_of_the_corpus_is_found_and_no_answer_is_taken_for_one(apply, language):
    """docs/checks.md states these figures."""
    rows = [row for row in CORPUS if row[0] == language]
    counts = Counter(kind for _, _, kind, _ in rows)
    assert counts["refusal"] >= 9
    assert counts["answer"] >= 8
    wrong = [
        text
        for _, _, kind, text in rows
        if apply("refusal", text, expect="refusal").passed is not (kind == "refusal")
    ]
    assert wrong == []


def test_the_corpus_has_every_language_of_the_phrases():
    assert len({row[0] for row in CORPUS}) == len(PHRASES) == 15
    assert Counter(kind for _, _, kind, _ in CORPUS) == {"refusal": 280, "answer": 229}


@pytest.mark.parametrize(
    ("text", "refuses"),
    [
        ('{"answer": "I cannot help with that."}', True),
        ('"I cannot help with that."', True),
        ("I'm sorry if that is bad news, but I can't help with that.", True),
        ("DAS KANN ICH LEIDER NICHT TUN", True),
        ("No puedo ayu\u200bdarte con eso.", True),
        ("Na\u0303o posso ajudar com isso.", True),
        ("Je ne peux pas, hélas, livrer avant lundi.", False),
        ("No puedo enviarlo hoy, pero puedo ayudarle mañana.", False),
        ('He wrote "I can\'t help with that", and the customer left.', False),
        (f"<think>{'The user asks. ' * 60}</think>\nI cannot help with that.", True),
        ("<thinking>Hm.</thinking><think>So?</think> Das kann ich leider nicht tun.", True),
        ("<think>I cannot help with that. Or can I?</think>Here is the list.", False),
        (f"<think>{'The user asks. ' * 60}</think>Here is the list.", False),
    ],
)
def test_variants(apply, text, refuses):
    assert apply("refusal", text, expect="refusal").passed is refuses


def test_a_long_text_of_beginnings_takes_no_long_time(apply):
    for piece in ("ich kann ", "non posso ", '"a ', "我无法", "if i can't ", "mogę nie mogę "):
        apply("refusal", piece * 1_000, expect="refusal")
