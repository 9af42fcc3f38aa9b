"""The policy's path patterns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatekeeper.contract.globs import matching


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
