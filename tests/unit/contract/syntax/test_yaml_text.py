"""What is written as YAML is read back as it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.syntax.yaml_positions import parse_yaml
from gatekeeper.contract.syntax.yaml_text import has_comment, write_yaml

TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text(st.sampled_from("a: #-|>'\"\n\t \\{}[]&*!%@`,~0o7xe.+<="), max_size=12),
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(TEXT, VALUES, min_size=1, max_size=5))
def test_any_data_is_read_back(data: dict[str, Any]) -> None:
    assert parse_yaml(write_yaml(data), "a.yaml").data == data


@pytest.mark.parametrize(
    "text",
    [
        "no",
        "1e3",
        "0o7",
        "007",
        "~",
        "null",
        "<<",
        "2024-01-01",
        "12:30",
        "a\nb",
        " a\n\n b \n",
        "=",
    ],
)
def test_a_text_stays_a_text(text: str) -> None:
    assert parse_yaml(write_yaml({"a": text, text: [text]}), "a.yaml").data == {
        "a": text,
        text: [text],
    }


def test_a_value_that_is_there_twice_is_written_twice() -> None:
    shared = {"x": [1]}
    assert "&" not in write_yaml({"a": shared, "b": shared})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# head\na: 1\n", False),
        ("# head\na: 1 # why\n", True),
        ("# head\na: 1\n# why\n", True),
        ("# head\na: [1, 2]\nb: |\n  # no comment\n  c # d\n", False),
        ('# head\na: "x # y"\nb: x#y\n', False),
        ("# head\n# more\na: 1\n", True),
    ],
)
def test_comments_are_found_on_their_own_line_and_behind_values(text, found):
    assert has_comment(text, 1) is found
