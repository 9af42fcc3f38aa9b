"""Figures of the simulated tables that other pages repeat are those of the tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ERRORS, JUDGES, SOURCE = "docs/error-rates.md", "docs/judges.md", "benchmarks/error-rates.md"


def read(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def section(page: str, title: str) -> str:
    return read(page).split(f"# {title}\n", 1)[1].split("\n## ")[0]


def rows(start: str, text: str = "") -> list[list[str]]:
    """The rows that begin so, as their figures: of a text, or of the simulated tables."""
    begin = f"| {start} |"
    lines = [line for line in (text or read(SOURCE)).splitlines() if line.startswith(begin)]
    return [re.findall(r"\d[\d.,]*", line.removeprefix(begin)) for line in lines]


def rounds_to(figure: str, said: str) -> bool:
    digits = len(said.partition(".")[2])
    exact = float(figure.replace(",", ""))
    return abs(exact - float(said.replace(",", ""))) <= 0.5 * 10**-digits + 1e-9


FAMILIES, LIMITS = "Families that flip together", "Limits on cost and latency"
OBJECTIVES, BENCH = "Objectives", "Judges on JudgeBench"
ALIKE = "mean, base and head alike"
ONE, FIVE = "1 sample", "5 samples"
COPIES = [
    *[
        (ERRORS, FAMILIES, f"{n} of {size} fixtures, {p} % flip", start)
        for n, size, p in [(20, 10, 5), (20, 10, 30), (40, 3, 10), (40, 3, 30)]
        if (start := f"{n} families of {size} fixtures | {p}% flip | 1 sample")
    ],
    (ERRORS, LIMITS, "mean, 20 × 1", f"{ALIKE} | 20 inputs x {ONE}"),
    (ERRORS, LIMITS, "mean, 20 × 5", f"{ALIKE} | 20 inputs x {FIVE}"),
    (ERRORS, LIMITS, "mean, 60 × 1", f"{ALIKE} | 60 inputs x {ONE}"),
    (
        *(ERRORS, LIMITS, "mean, head varies much less than base, 20 × 1"),
        f"mean, base varies with sigma 1.2, head with 0.2 | 20 inputs x {ONE}",
    ),
    (ERRORS, LIMITS, "median, 60 × 1", f"p50, base and head alike | 60 inputs x {ONE}"),
    (ERRORS, LIMITS, "95 % quantile, 40 × 5", f"p95, base and head alike | 40 inputs x {FIVE}"),
    (ERRORS, LIMITS, "95 % quantile, 100 × 1", f"p95, base and head alike | 100 inputs x {ONE}"),
    *[
        (ERRORS, OBJECTIVES, f"{rate} % | 95 %", f"pass rate {rate} %, objective 95 %")
        for rate in (97, 95, 90, 80)
    ],
    (
        *(ERRORS, OBJECTIVES, "98 %, 100 samples a night | 99 %"),
        "pass rate 98 %, objective 99 %, 100 samples a night",
    ),
    *[
        (ERRORS, "Drift", start, start)
        for start in (
            "temperature 0",
            "easy and hard fixtures",
            "easy and hard fixtures, 3 samples of each",
        )
    ],
    (
        *(ERRORS, "Drift", "whole nights are good or bad (a deviation of 4 points)"),
        "easy and hard fixtures, whole nights are good or bad",
    ),
    *[
        (ERRORS, "Blame", f"{said} | {share} %", f"{edits} | {share} % still pass")
        for said, edits, share in [
            ("one", "one edit", 10),
            *(("two", "two edits", share) for share in (10, 30, 50)),
            ("two together", "two edits together", 10),
        ]
    ],
    *[
        (JUDGES, BENCH, judge, judge)
        for judge in (
            "claude-3-haiku, prompted",
            "o1-mini, prompted",
            "Skywork-Llama-3.1-8B, reward model",
            "internlm2-7b, reward model",
        )
    ],
]


@pytest.mark.parametrize(("page", "title", "copy", "start"), COPIES)
def test_a_copied_row_has_figures_of_its_source_in_order(
    page: str, title: str, copy: str, start: str
) -> None:
    here = section(page, "Example: four judges on JudgeBench" if title == BENCH else title)
    (copied,) = rows(copy, here.replace("more than 60", "–"))
    left = iter([figure for row in rows(start, section(SOURCE, title)) for figure in row])
    for said in copied:
        assert any(rounds_to(figure, said) for figure in left), (copy, said)


@pytest.mark.parametrize("size", ["30 × 3", "40 × 2", "20 × 10", "100 × 1", "50 × 10", "100 × 10"])
def test_a_row_of_broken_fixtures_has_the_figures_of_three_tables(size: str) -> None:
    ((calls, _, *copied),) = rows(size, section(ERRORS, "Fixtures that broke"))
    shares, counts, *found = rows(size)  # each "before→now"
    now = [shares[7], shares[9], *[part[at] for part in found[:1] for at in (1, 7, 9)]]
    assert calls == counts[1]
    assert copied == now


DESIGNS = {
    "adaptive, Gatekeeper's default": 1,
    "fixed: the same test after all samples": 0,
    "exact McNemar test over all pairs of calls": 3,
    "a betting test that takes repeated samples for new fixtures": 4,
    "`sequential_gate` of the package evalsig 0.1.2": 2,
    "blocks if head's pass rate is more than 5 points lower": 5,
    "*fixed* after every round, each time at the full alpha": 6,
}


@pytest.mark.parametrize(("design", "column"), DESIGNS.items())
def test_a_design_blocks_and_finds_what_the_tables_say(design: str, column: int) -> None:
    text = section(SOURCE, "Base against head")
    table = text.partition("**False blocks**")[2].partition("**Regressions found**")[0]
    lines = re.findall(r"^\| [^|]+ \| (\d.*)$", table, re.MULTILINE)
    blocked = [float(line.split(" | ")[column]) for line in lines]
    assert len(blocked) == 16
    ((low, high, few, many),) = rows(design, section(ERRORS, "Base against head"))
    found = [rows(f"{share} % of fixtures broken outright")[0][column] for share in (5, 10)]
    pairs = zip((str(min(blocked)), str(max(blocked)), *found), (low, high, few, many), strict=True)
    assert all(rounds_to(figure, said) for figure, said in pairs)


CORRECTED = {
    "harmless changes blocked": (r"\d+ \| \d+ \| \d+% \| 0 \| 8", 0, 1),
    "the interval contains the true rate": (r"\d+ \| \d+ \| \d+% \| 0 \| 8", 3, 4),
    "the same, with labels of an earlier run in which fewer outputs were good": (
        *(r"[35]0% \| \d+", 0, 2),
    ),
    "the interval contains the true mean score": (r"(?:as now|worse) \| \d+", 0, 2),
}


@pytest.mark.parametrize(("copy", "source"), CORRECTED.items())
def test_the_correction_of_judges_has_the_ranges_of_the_tables(
    copy: str, source: tuple[str, int, int]
) -> None:
    start, *columns = source
    lines = re.findall(rf"^\| {start} \| (.*) \|$", section(SOURCE, "Corrected judges"), re.M)
    (line,) = re.findall(
        rf"^\| {copy} \| (.*) \|$", section(JUDGES, "Does the correction work?"), re.M
    )
    for column, cell in zip(columns, line.split(" | "), strict=True):
        simulated = [float(each.split(" | ")[column]) for each in lines]
        said = re.findall(r"\d[\d.]*", cell)
        assert rounds_to(str(min(simulated)), said[0]), (copy, cell)
        assert rounds_to(str(max(simulated)), said[-1]), (copy, cell)


def test_the_paragraph_about_small_suites_has_the_figures_of_the_tables() -> None:
    title = "## Suites of 30 to 50 fixtures\n"
    text = read("docs/fixtures.md")
    said = " ".join(text[text.index(title) + len(title) :].partition("\n\n")[0].split())
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


@pytest.mark.parametrize("page", ["README.md", "docs/getting-started.md"])
def test_both_first_pages_say_what_a_small_suite_finds(page: str) -> None:
    said = " ".join(
        read(page).partition("Suites of 30 to 50 fixtures")[2].partition("\n\n")[0].split()
    )
    (blocked, calls), found = rows("every fixture passes in 95 %")[:2], rows("40 × 2")
    assert found[2][1] == "100"
    assert "always fails" in said
    assert re.search(rf"blocked in {blocked[5]} % of runs", said)
    assert re.search(rf"5 points (are|is) found in (only )?{found[0][7]} % of runs", said)
    if " calls of " in said:
        assert f"took {calls[5]} calls of {calls[4]}" in said
