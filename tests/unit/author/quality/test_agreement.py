"""How alike a prompt and its specification behave, from what is known of each test."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.quality.agreement import (
    Agreement,
    Compared,
    specification_messages,
    word_cosine,
)
from gatekeeper.author.specification.spec_file import Rule, Specification

COMPLIANCE = st.sampled_from([True, False, None])
TESTS = st.lists(st.tuples(COMPLIANCE, COMPLIANCE), max_size=12)


def agreement(pairs) -> Agreement:
    tests = (Compared(str(n), None, one, other) for n, (one, other) in enumerate(pairs))
    return Agreement("openai/gpt-4o-mini", None, tuple(tests))


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_cosine_of_words_is_a_likeness(one, other):
    found = word_cosine(one, other)
    assert 0 <= found <= 1
    assert found == word_cosine(other, one)
    assert word_cosine(one, one) == pytest.approx(1)


@pytest.mark.parametrize(
    ("one", "other", "cosine"),
    [("A b", "b, a!", 1), ("a b", "b c", 0.5), ("a", "b", 0), ("", "a", 0), ("+", "-", 0)],
)
def test_the_cosine_of_words_ignores_order_and_case(one, other, cosine):
    assert word_cosine(one, other) == pytest.approx(cosine)


@given(TESTS)
def test_unknown_tests_never_speak_for_a_difference(pairs):
    found = agreement(pairs)
    known = [pair for pair in pairs if None not in pair]
    assert found.known == len(known)
    assert found.alike == sum(one is other for one, other in known)
    assert found.p_value >= agreement(known).p_value


def test_nothing_known_says_nothing():
    found = agreement([(True, None)])
    assert (found.cosine, found.interval, found.p_value) == (None, None, 1.0)


def test_a_specification_is_a_prompt_of_its_intent_and_rules():
    rules = (Rule("a", "The output is {{ short }}."),)
    system, user = specification_messages(
        Specification("p.txt", "Sum up.", rules=rules), {"text": "t", "n": 2}
    )
    assert system.content == "Sum up.\n\nRules for the output:\n- The output is {{ short }}."
    assert user.content == "text: t\nn: 2"
    assert specification_messages(Specification("p.txt"), {"text": "t"})[1].content == "t"
