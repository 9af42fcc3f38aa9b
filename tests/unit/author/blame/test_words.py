"""What the search says of causes and of the revert."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gatekeeper.author.blame.edits import Edit
from gatekeeper.author.blame.result import (
    STEPS_CHANGED,
    BlameResult,
    Cause,
    Revert,
    blame_document,
    place,
    sentences,
    why_no_revert,
)
from gatekeeper.author.blame.run import finding_of
from gatekeeper.gate.results.author_results import ProposedRevert
from gatekeeper.gate.results.parts import Calls

DELETED = Edit("Be brief.\n", "", 4, 3, 4, "prompts/a.md")
ADDED = Edit("", "Think twice.\n", 6, 5, 7, "prompts/tone.md")
SETTING = Edit("0", "1", None, None, path="prompts/a.md", setting="temperature")
WRITTEN = ProposedRevert("--- a/x\n+++ b/x", None, None, None)
RESULT = BlameResult(
    "c",
    "prompts/a.md",
    (DELETED, ADDED, SETTING),
    (Cause((DELETED, ADDED), 6, 7),),
    "explained",
    tuple("1234567"),
    Calls(made=9),
    0.1,
    revert=Revert((ADDED,), 7, 7, WRITTEN),
)


def said(result: BlameResult) -> str:
    return " ".join(sentences(result))


def test_of_edits_that_break_together_the_reverted_one_is_named() -> None:
    assert "Deleting" in said(RESULT)
    assert "(line 6 of prompts/tone.md)" in said(RESULT)
    assert 'If adding "Think twice." is reverted, 7 of 7 broken fixtures pass again.' in said(
        RESULT
    )
    assert why_no_revert(RESULT) is None
    found = finding_of(RESULT)
    assert [(edit.line, edit.end_line) for edit in found.causes[0].edits] == [(4, 4), (6, 7)]
    assert found.revert is not None
    assert (found.revert.passed, found.revert.measured) == (7, 7)


@pytest.mark.parametrize(
    ("revert", "sentence"),
    [
        (Revert((DELETED,), 6, 7, WRITTEN), "If this edit is reverted, 6 of 7 broken fixtures"),
        (Revert((DELETED, ADDED), 7, 7, WRITTEN), "If these 2 edits are reverted, 7 of 7"),
        (Revert((DELETED, ADDED, SETTING), None, None, WRITTEN), "undoes every edit."),
    ],
)
def test_the_revert_says_how_much_it_undoes(revert: Revert, sentence: str) -> None:
    causes = (Cause(revert.edits, 7, 7),)
    assert sentence in said(replace(RESULT, causes=causes, revert=revert))


@pytest.mark.parametrize(
    "result",
    [
        replace(RESULT, outcome="partly", revert=None),
        replace(RESULT, revert=None),
        replace(RESULT, revert=replace(RESULT.revert, written=None)),  # type: ignore[type-var]
    ],
)
def test_without_a_revert_the_reason_is_given(result: BlameResult) -> None:
    why = why_no_revert(result)
    assert why
    assert f"gatekeeper proposes no revert, because {why}." in said(result)
    found = finding_of(result)
    assert (found.revert, found.no_revert) == (None, why)
    (document,) = blame_document([result])["contracts"]
    assert document["revert"] is None or document["revert"]["diff"] is None


def test_a_search_without_causes_proposes_nothing() -> None:
    nothing = replace(RESULT, causes=(), outcome="unclear", revert=None)
    assert "which of the 3 edits" in said(nothing)
    assert "revert" not in said(nothing)
    assert finding_of(nothing).no_revert is None
    assert STEPS_CHANGED in said(replace(nothing, ended=STEPS_CHANGED))
    assert "no edit" in said(replace(nothing, edits=()))
    assert "calls: 3" in said(replace(nothing, ended="calls: 3"))


def test_a_place_names_the_file_if_it_is_another_one() -> None:
    assert place(DELETED, "prompts/a.md") == "line 3 on base"
    assert place(DELETED, "prompts/b.md") == "line 3 of prompts/a.md on base"
    assert place(SETTING, "prompts/a.md") == ""
