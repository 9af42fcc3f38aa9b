"""`citation`: which ids exist, how many are cited, and whether each sentence has one."""

from __future__ import annotations

import pytest

from gatekeeper.checks.check import ParameterError
from gatekeeper.checks.grounded.citation import sentences

DOCUMENTS = [{"id": "a1", "text": "x"}, {"id": 2, "text": "y"}]


@pytest.mark.parametrize(
    ("output", "context", "passed"),
    [
        ("Yes [a1].", DOCUMENTS, True),
        ("Yes [a1, 2].", DOCUMENTS, True),
        ("Yes [a1; 3].", DOCUMENTS, False),
        ("Yes.", DOCUMENTS, False),
        ("Yes [2].", ["one", "two"], True),
        ("Yes [3].", ["one", "two"], False),
        ("Yes [k].", {"k": "text"}, True),
        ("Yes [A1].", DOCUMENTS, False),
        ("Yes [1].", [], False),
    ],
)
def test_cited_ids_must_exist(apply, output, context, passed):
    assert apply("citation", output, context=context).passed is passed


def test_messages_name_what_is_missing(apply):
    found = apply("citation", "So [x9].", context=DOCUMENTS)
    assert found.message == 'cites unknown ids: "x9"; the known ids: "2", "a1"'


@pytest.mark.parametrize(("least", "passed"), [(0, True), (2, True), (3, False)])
def test_a_minimum(apply, least, passed):
    assert apply("citation", "A [1]. B [2].", min=least).passed is passed


def test_a_pattern_without_a_group_takes_the_whole_match(apply):
    assert apply("citation", "see RFC9535", pattern=r"RFC\d+", ids=["RFC9535"]).passed
    assert apply("citation", "see RFC1", pattern=r"RFC\d+", ids=["RFC9535"]).passed is False


@pytest.mark.parametrize(
    ("output", "passed"),
    [
        ("Refunds take five days [1]. Vouchers never expire [2].", True),
        ("Refunds take five days. [1] Vouchers never expire. [2]", True),
        ("Refunds take five days [1]. Vouchers never expire.", False),
        ("# Refunds and vouchers here\n\n- They take five days [1]\n- They never expire [2]", True),
        ("- They take five days [1]\n- They do not expire at all", False),
        ("This is what we know of it:\nRefunds take five days [1].", True),
        ("Yes! Refunds take five days [1].", True),
    ],
)
def test_each_sentence_may_need_one(apply, output, passed):
    assert apply("citation", output, each_sentence=True).passed is passed


@pytest.mark.parametrize(
    "params", [{"context": [{"name": "a"}]}, {"context": "text"}, {"ids": [1], "context": ["a"]}]
)
def test_parameters_must_make_sense(apply, params):
    with pytest.raises(ParameterError):
        apply("citation", "x", **params)


def test_a_slow_pattern_is_undetermined(apply):
    assert apply("citation", "a" * 5_000 + "!", pattern=r"((a+)+)+$").passed is None


def test_sentences():
    text = "One. Two is 3.5 long! (Really.) 三つ。四つ。 End"
    assert [text[a:b].strip() for a, b in sentences(text)] == [
        "One.",
        "Two is 3.5 long! (Really.)",
        "三つ。",
        "四つ。",
        "End",
    ]
