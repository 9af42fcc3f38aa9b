"""Ids are readable, unique, and the same for the same item in other words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.specification.merge import RESERVED, assign_ids, slug

WORDS = st.text("ab c.é", max_size=8)
TAG = "The output must be one tag in capital letters."


def test_an_id_says_what_the_item_is_about():
    assert slug(TAG) == "one-tag-capital-letters"
    assert slug("Öffne Türen") == "offne-turen"
    assert slug("出力") == "item"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("3. Answer in French.", "french"),
        ("(12) In French.", "french"),
        ("b) In French.", "french"),
        ("Rule 4: In French.", "french"),
        ("No. 7. In French.", "french"),
        ("At most 3 sentences.", "most-3-sentences"),
        ("3 sentences.", "3-sentences"),
        ("1.5 points at most", "1-5-points-most"),
        ("e.g. French", "e-g-french"),
        ("3.", "3"),
    ],
)
def test_the_number_of_an_item_of_a_list_is_not_in_its_id(text, found):
    assert slug(text) == found


def test_the_same_item_in_other_words_keeps_its_id():
    known = [("tag", TAG), ("polite", "The output is polite.")]
    again = "The output must be one tag, in capital letters"
    assert assign_ids([again, "The output rhymes."], "", known) == ["tag", "rhymes"]


def test_no_id_is_that_of_another_kind_of_item():
    assert assign_ids(["The output is polite."], "", (), (), ["polite"]) == ["polite-2"]


def test_a_removed_item_gets_its_old_id_so_that_it_is_known():
    assert assign_ids([TAG], "", (), ["one-tag-capital-letters"]) == ["one-tag-capital-letters"]
    assert assign_ids(["One tag in capital letter"], "", (), [slug(TAG)]) == [slug(TAG)]


def test_reserved_words_are_no_ids():
    assert assign_ids(["Baseline"]) == ["baseline-2"]


@given(st.lists(WORDS, max_size=5), st.lists(WORDS, max_size=3))
def test_ids_are_unique(texts, before):
    known = list(zip(assign_ids(before), before, strict=True))
    ids = assign_ids(texts, "", known)
    assert len(set(ids)) == len(ids)
    assert RESERVED.isdisjoint(ids)
