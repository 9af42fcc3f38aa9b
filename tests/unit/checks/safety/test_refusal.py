"""refusal: phrases of several languages, near misses, empty outputs and filters."""

from __future__ import annotations

import pytest

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
