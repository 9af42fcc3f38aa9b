"""Every reason code has one entry, and the pages list them as they are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from gatekeeper.gate.results.result import ReasonCode
from gatekeeper.reports.news import NEWS_KINDS
from gatekeeper.reports.words.catalogue import REASONS

ROOT = Path(__file__).parents[3]
CODES: tuple[ReasonCode, ...] = get_args(ReasonCode)


def table(page: str, heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, cell by cell."""
    text = (ROOT / page).read_text("utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


def test_every_code_has_an_entry_and_every_entry_a_code() -> None:
    assert sorted(REASONS) == sorted(CODES)


@pytest.mark.parametrize("code", CODES)
def test_an_entry_is_complete(code: ReasonCode) -> None:
    entry = REASONS[code]
    assert entry.title
    assert entry.meaning.endswith(".")
    # Who is held up is told what to do; who is not has nothing to do.
    assert bool(entry.advice) == (entry.level is not None)
    assert not entry.advice or entry.advice.endswith(".")
    assert not (entry.adds_units and "Add fixtures" not in entry.advice)


def test_codes_and_titles_are_told_apart() -> None:
    assert len({entry.title for entry in REASONS.values()}) == len(CODES)
    assert {entry.news for entry in REASONS.values()} <= {None, *NEWS_KINDS}


def test_the_page_on_reports_lists_each_code_with_its_title() -> None:
    assert table("docs/reports.md", "Reasons") == [
        [f"`{code}`", entry.title] for code, entry in REASONS.items()
    ]


def test_the_page_on_verdicts_says_of_each_code_when_it_is_found() -> None:
    found = [row[1] for row in table("docs/architecture.md", "How a verdict is decided")]
    assert {code for cell in found for code in re.findall(r"`(\w+)`", cell)} == set(CODES)
