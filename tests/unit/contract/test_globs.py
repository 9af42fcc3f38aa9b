"""The policy's path patterns."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.reading.globs import literal_pattern, matching


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("contracts/**/*.yaml", "contracts/a.yaml", True),
        ("contracts/**/*.yaml", "contracts/x/y/z.yaml", True),
        ("contracts/**/*.yaml", "contracts/a.yml", False),
        ("contracts/**/*.yaml", "xcontracts/a.yaml", False),
        ("prompts/**", "prompts/a/b", True),
        ("prompts/**", "prompts", False),
        ("/prompts/*", "prompts/a", True),
        ("prompts/*", "prompts/a/b", False),
        ("**/p.md", "p.md", True),
        ("a/?.md", "a/b.md", True),
        ("a/?.md", "a/bc.md", False),
        ("a/[bc].md", "a/b.md", True),
        ("a/[!bc].md", "a/b.md", False),
        ("a/[!b].md", "a/c.md", True),
        ("a/[b.md", "a/[b.md", True),
        ("a/[z-a].md", "a/[z-a].md", True),
        ("a.md", "axmd", False),
        ("a/*.md", "a/with space.md", True),
    ],
)
def test_patterns(pattern: str, path: str, fits: bool) -> None:
    assert list(matching([path], pattern)) == ([path] if fits else [])


@given(st.text("ab*?[]!/-^\\.", max_size=12), st.text("ab/.", max_size=8))
def test_any_pattern_can_be_used(pattern: str, path: str) -> None:
    assert len(list(matching([path], pattern))) <= 1


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("docs/" + "*a" * 40 + "b", "docs/" + "a" * 4_000),
        ("**a" * 40 + "b", "a/" * 2_000),
        ("**/a/" * 40 + "b", "a/" * 2_000),
        ("**/**" * 5_000 + "b", "a/" * 2_000),
        ("**/*" * 40 + "b", "a/" * 2_000),
        ("?" * 100_000, "a" * 4_000),
    ],
)
def test_a_hostile_pattern_matches_nothing(pattern: str, path: str) -> None:

    assert list(matching([path], pattern)) == []


PATTERNS = st.lists(
    st.sampled_from(["a", "b", "/", "*", "**", "**/", "?", "[ab]", "[!a]", "[/a]", "."]),
    max_size=9,
).map("".join)


@given(PATTERNS, st.text("ab/.", max_size=9))
def test_a_pattern_means_the_same_as_its_expression(pattern: str, path: str) -> None:
    expected = re.compile(_expression(pattern.removeprefix("/")), re.DOTALL).fullmatch(path)

    assert list(matching([path], pattern)) == ([path] if expected else [])


def _expression(pattern: str) -> str:
    """Translate a pattern with nothing else in it to a regular expression, which may backtrack."""
    meaning = {
        "**/": "(?:[^/]+/)*",
        "**": ".*",
        "*": "[^/]*",
        "?": "[^/]",
        "[ab]": "[ab]",
        "[!a]": "[^/a]",
        "[/a]": "[/a]",
    }
    pieces = re.findall(r"\*\*/|\*\*|\*|\?|\[[^]]+\]|.", pattern)
    return "".join(meaning.get(piece) or re.escape(piece) for piece in pieces)


@given(st.text("a/*?[]!-^\\.", min_size=1).filter(lambda path: path[0] != "/"))
def test_a_literal_pattern_matches_its_path_alone(path: str) -> None:
    others = [
        path + "a",
        path[:-1] + "b",
        "b" + path,
        path.replace("*", "a"),
        path.replace("?", "a"),
    ]
    pattern = literal_pattern(path)
    assert list(matching([path, *others], pattern)) == [p for p in [path, *others] if p == path]
