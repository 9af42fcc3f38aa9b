"""How a specification knows which lines of its prompt changed."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.author.specification.prompt_lines import compare_lines, line_digests


def digests(*lines: str, first: int = 1, includes=None) -> str:
    return line_digests(enumerate(lines, start=first), includes or {})


def test_changed_new_deleted_and_moved_lines():
    found = compare_lines(
        digests("a", "b", "", "c", "d", first=4), digests("new", "c", "a", "b changed", "", first=9)
    )
    assert found.now_at == {4: 11, 7: 10} | {6: 13} or found.now_at == {4: 11, 7: 10}
    assert found.changed == (9, 12)
    assert found.gone == {5, 8}


def test_one_of_several_equal_lines_is_deleted_where_it_was():
    found = compare_lines(digests("x", "a", "x", "b"), digests("a", "x", "b"))
    assert found.now_at == {2: 1, 3: 2, 4: 3}
    assert (found.changed, found.gone) == ((), {1})


def test_a_line_changes_with_the_file_that_it_includes():
    before, now = ({"parts/tone.md": text} for text in ("Be kind.", "Be rude."))
    lines = "a", "{% include 'parts/tone.md' %}", "b"
    found = compare_lines(digests(*lines, includes=before), digests(*lines, includes=now))
    assert (found.changed, found.gone) == ((2,), {2})
    assert compare_lines(digests("a "), digests("a")).changed == ()


@pytest.mark.parametrize(
    "text", ["", " ", "x", "0:123456789abc", "12345678", "3:", "123456789abc -- "]
)
def test_what_was_not_written_by_gatekeeper_says_nothing(text):
    assert compare_lines(text, digests("a")) is None


_LINES = st.lists(st.sampled_from(["", "a", "b", "c", " d", "ü\u2028"]), min_size=1, max_size=30)


@given(_LINES, st.randoms(use_true_random=False), st.integers(1, 9))
def test_lines_that_only_move_change_nothing(lines: list[str], rng: random.Random, first: int):
    moved = rng.sample(lines, len(lines))
    found = compare_lines(digests(*lines), digests(*moved, first=first))
    assert (found.changed, found.gone) == ((), frozenset())
    for number, line in enumerate(lines, start=1):
        if line.strip():
            assert moved[found.now_at[number] - first] == line


@given(_LINES, _LINES)
def test_each_line_is_the_same_changed_or_gone(before: list[str], now: list[str]):
    found = compare_lines(digests(*before), digests(*now))
    for old, new in found.now_at.items():
        assert before[old - 1].rstrip() == now[new - 1].rstrip()
    with_text = [{n for n, line in enumerate(x, start=1) if line.strip()} for x in (before, now)]
    assert len(set(found.now_at.values())) == len(found.now_at)
    assert with_text[0] == found.gone | (found.now_at.keys() & with_text[0])
    assert with_text[1] == set(found.changed) | (set(found.now_at.values()) & with_text[1])


def test_long_prompts_are_compared_by_their_lines():
    lines = [f"line {number}" for number in range(4_000)]
    found = compare_lines(digests(*lines), digests("new", *lines))
    assert (found.changed, found.gone, found.now_at[4_000]) == ((1,), frozenset(), 4_001)
