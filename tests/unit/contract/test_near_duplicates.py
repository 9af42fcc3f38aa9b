"""Inputs that are nearly the same are found, and named with a cluster to give them."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from support.edited_text import edited

from gatekeeper.contract.fixtures.near_duplicates import near_duplicate_warning, near_duplicates
from gatekeeper.contract.values.clusters import clusters_of, count_as_one
from gatekeeper.contract.values.definition import Fixture
from gatekeeper.contract.values.tools import ToolAnswer, ToolRow

LETTER = "I ordered a kettle on 3 May and it has not arrived, please tell me where it is"
OTHER = "The invoice of last month has the wrong address on it, can you send a new one to me"


def fixtures(**texts: str) -> list[Fixture]:
    return [Fixture(name, {"mail": text}) for name, text in texts.items()]


def test_inputs_that_differ_in_a_word_case_or_spaces_are_a_group():
    found = fixtures(
        a=LETTER,
        b=OTHER,
        c=edited(LETTER, "kettle", "toaster"),
        d=LETTER.upper().replace(" ", "  "),
        e=edited(OTHER, "last month", "this month"),
    )
    assert near_duplicates(found, {}) == [("a", "c", "d"), ("b", "e")]


def test_unlike_and_short_inputs_are_none():
    assert near_duplicates(fixtures(a=LETTER, b=OTHER, c="great phone", d="great phones"), {}) == []
    same_words = " ".join(sorted(LETTER.split()))
    assert near_duplicates(fixtures(a=LETTER, b=same_words), {}) == []


@pytest.mark.parametrize(
    "own", [{"state": {"paid": True}}, {"tool_results": (ToolRow("pay", (ToolAnswer("no"),)),)}]
)
def test_equal_texts_with_other_states_or_answers_of_tools_are_none(own: dict[str, Any]):
    found = fixtures(a=LETTER, b=LETTER + "!", c=LETTER + "?")
    assert near_duplicates([*found[:2], replace(found[2], **own)], {}) == [("a", "b")]


def test_what_counts_as_one_already_is_no_group():
    near = edited(LETTER, "kettle", "toaster")
    assert near_duplicates(fixtures(a=LETTER, b=near), {"b": "a"}) == []
    found = near_duplicates(fixtures(a=LETTER, b=near, c=near + "?"), {"b": "a"})
    assert found == [("a", "b", "c")]


def test_writing_without_spaces_is_compared_too():
    text = "我在五月三日订购了一个水壶到现在还没有收到请告诉我它在哪里谢谢您的帮助期待您的回复"
    assert near_duplicates(fixtures(a=text, b=text.replace("水壶", "茶壶")), {}) == [("a", "b")]


def test_values_that_are_no_text_count_too():
    rows = [{"n": list(range(20))}, {"n": [*range(19), 99]}, {"n": [7] * 20}]
    found = [Fixture(f"f{i}", row) for i, row in enumerate(rows)]
    assert near_duplicates(found, {}) == [("f0", "f1")]


def test_the_warning_proposes_the_name_of_the_first_or_the_cluster_that_there_is():
    found = fixtures(a=LETTER, b=LETTER + "!", c=OTHER, d=OTHER + "!")
    found[3] = Fixture("d", found[3].vars, cluster="invoice")
    text = near_duplicate_warning(found, count_as_one({}, clusters_of(found)))
    assert text is not None
    assert "4 fixtures" in text
    assert "`a`, `b` (proposed cluster: `a`)" in text
    assert "`c`, `d` (proposed cluster: `invoice`)" in text
    clustered = [Fixture(f.id, f.vars, cluster=f.id if f.id in "cd" else "x") for f in found[:3]]
    assert near_duplicate_warning(clustered, count_as_one({}, clusters_of(clustered))) is None


@pytest.mark.parametrize("count", [2_000, pytest.param(20_000, marks=pytest.mark.long)])
def test_two_of_thousands_of_fixtures_that_share_a_form_are_found(count: int):
    drawn = random.Random(1)  # noqa: S311
    words = [f"word{n}" for n in range(5000)]
    texts = {
        f"f{n}": "dear sir or madam i write to you about "
        + " ".join(drawn.choice(words) for _ in range(80))
        for n in range(count)
    }
    found = fixtures(**texts)
    found[count // 2] = Fixture("copy", {"mail": texts["f77"] + " thanks"})
    assert near_duplicates(found, {}) == [("f77", "copy")]
