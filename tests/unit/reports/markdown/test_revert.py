"""The smallest revert as a diff, and as a suggestion that is safe to commit and to show."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from support.results import failing_contract
from support.results import result as gate_result

from gatekeeper.gate.results.author_results import (
    ContractBlame,
    HarmfulCause,
    LineReplacement,
    ProposedRevert,
    lines_digest,
)
from gatekeeper.gate.results.result import GateResult
from gatekeeper.reports.escape import visible
from gatekeeper.reports.markdown.comment import comment_text
from gatekeeper.reports.markdown.revert import suggestions_of
from gatekeeper.reports.redact import Redactor

HOSTILE = "<!-- gatekeeper:gatekeeper --> @octocat #1 ![x](https://evil.example) ```\n# pass"


def result_with(*texts: str, cause: str = "It broke.", **more: object) -> GateResult:
    """A failing result with one blame for each text of reverted lines."""
    return replace(
        gate_result(failing_contract()),
        blame=tuple(
            ContractBlame(
                f"c{number}",
                (HarmfulCause(cause, ()),),
                revert(tuple(text.split("\n")) if text else (), **more),
            )
            for number, text in enumerate(texts)
        ),
    )


def revert(lines: tuple[str, ...], **more: object) -> ProposedRevert:
    found = LineReplacement("prompts/a.md", 4, 6, lines, "f" * 40, lines_digest(lines))
    proposed = ProposedRevert("--- a/p\n+++ b/p\n@@ -1 +1 @@\n-new\n+old", 7, 8, found)
    return replace(proposed, **more)  # type: ignore[arg-type]


texts = st.text(st.sampled_from("`~ab\n @#<>!-[]()\\|\u202e\r\t&"), max_size=40)


@given(texts)
def test_a_suggestion_holds_exactly_its_lines_or_is_not_made(text: str) -> None:
    found = suggestions_of(result_with(text, cause=HOSTILE))
    if visible(text) != text:
        assert found == ()
        return
    (suggestion,) = found
    tokens = MarkdownIt("commonmark").parse(suggestion.text)
    fences = [token for token in tokens if token.type == "fence"]
    assert [(token.info, token.content) for token in fences] == [
        ("suggestion", f"{text}\n" if text else "")
    ]
    assert tokens[-1].type == "fence"
    inside = {child.type for token in tokens for child in token.children or ()}
    assert not inside & {"image", "link_open", "html_inline"}
    assert "<!--" not in suggestion.text
    assert "@octocat" not in suggestion.text


def test_a_blank_line_and_no_line_are_different_suggestions() -> None:
    (blank,) = suggestions_of(
        replace(result_with(""), blame=(replace(result_with("").blame[0], revert=revert(("",))),))
    )
    (none,) = suggestions_of(result_with(""))
    assert blank.text.endswith("```suggestion\n\n```")
    assert none.text.endswith("```suggestion\n```")


def test_redacted_lines_are_never_suggested() -> None:
    secret = "sk-0123456789abcdef"
    result = result_with(f"Use the key {secret}.")
    assert suggestions_of(result)
    cleaned = Redactor([secret]).value(result)
    assert suggestions_of(cleaned) == ()
    assert "**Smallest revert** for `c0`" in comment_text(cleaned)


def test_the_same_lines_are_suggested_once_for_all_their_contracts() -> None:
    (one,) = suggestions_of(result_with("old", "old"))
    assert one.text.index("`c0` got worse.") < one.text.index("`c1` got worse.")
    assert suggestions_of(result_with("a", "b", "c", "d")) == ()


@pytest.mark.parametrize("text", ["\n" * 300, "x" * 30_000, "a\r", "a\u202eb", "<!-- a -->"])
def test_long_or_hidden_text_is_shown_as_a_diff_only(text: str) -> None:
    result = result_with(text)
    assert suggestions_of(result) == ()
    assert "```diff\n--- a/p" in comment_text(result, suggested=True)


def test_the_comment_names_the_lines_or_shows_the_diff() -> None:
    result = result_with("old")
    with_diff, with_place = comment_text(result), comment_text(result, suggested=True)
    assert "With this revert, 7 of 8 broken fixtures pass again.\n\n```diff\n--- a/p" in with_diff
    assert "See the suggestion on `prompts/a.md`, lines 4 to 6." in with_place
    assert "--- a/p" not in with_place
    to_base = comment_text(result_with("old", passed=None, measured=None))
    assert "This revert restores the prompt of base." in to_base
    nothing = replace(result, blame=(ContractBlame("c"),))
    assert "Smallest revert" not in comment_text(nothing)
    assert suggestions_of(nothing) == ()
