"""The paragraph about suites of 30 to 50 fixtures says what the simulated tables say."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/fixtures.md"
_TITLE = "## Suites of 30 to 50 fixtures\n"


def rows(start: str) -> list[list[str]]:
    """The rows of the simulated tables that begin so, as their figures."""
    text = (ROOT / "benchmarks/error-rates.md").read_text("utf-8")
    lines = [line for line in text.splitlines() if line.startswith(f"| {start} |")]
    return [re.findall(r"\d[\d.,]*", line.removeprefix(f"| {start} |")) for line in lines]


def test_the_figures_are_those_of_the_tables() -> None:
    text = PAGE.read_text("utf-8")
    said = " ".join(text[text.index(_TITLE) + len(_TITLE) :].partition("\n\n")[0].split())
    found = rows("40 × 2")[2]  # after the shares and the calls of all effects
    assert found[1] == "100"  # one that always fails, with confirmation
    shares, counts = rows("every fixture passes in 95 %")  # its third column is 40 × 2
    blocked, (planned, calls) = shares[5], counts[4:6]
    assert f"a harmless change in {blocked} %" in said
    assert f"took {calls} calls, fresh samples included, of {planned} planned" in said
    assert f"one is found in {found[7]} %, five in {found[9]} %" in said
    small, large = rows("30 × 3")[0], rows("50 × 10")[0]
    assert f"5 points are found in {small[7]} %, and 10 points in {small[9]} %" in said
    assert f"5 points are found in {large[7]} %" in said
    assert f"a harmless change takes {rows('50 × 10')[1][1]} calls" in said
