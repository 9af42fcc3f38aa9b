"""The results as tables, and their place on a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.decisions.scenarios import SCENARIOS, SUITES, Truth, at_margin
from benchmarks.decisions.simulation import DESIGNS, Outcome, Results
from gatekeeper.stats.intervals.intervals import wilson

BEGIN = "<!-- bench-stats:begin -->"
END = "<!-- bench-stats:end -->"


def precision(runs: int) -> str:
    """Say how far a rate of so many runs may be off."""
    middle, low, none = (wilson(round(share * runs), runs, 0.95) for share in (0.5, 0.05, 0.0))
    return (
        f"Rates are precise to ±{(middle.high - 0.5) * 100:.1f} points near 50 % and "
        f"±{(low.high - 0.05) * 100:.1f} near 5 % (95 %); 0.0 means below {none.high * 100:.1f}."
    )


def tables(results: Results, runs: int, seed: int) -> str:
    return "\n\n".join(
        (
            f"Each scenario has {runs:,} runs with seed {seed}. {precision(runs)} The last two "
            "columns are those of the adaptive design: the median of the pairs of calls until the "
            "decision, of all, and the share of calls saved.",
            "**False blocks**, in % of the runs in which head is not worse. Alpha is 5 %.",
            _rates(results, "null"),
            "**Regressions found**, in % of the runs in which head is worse.",
            _rates(results, "effect"),
            '**Runs that end with "not worse"**, in %. Head is worse by exactly the margin, so '
            "at most 5 % may end so. The columns have base's pass rate; *half*: broken by half.",
            _not_worse(results),
            _other_margins(results),
            f"**Could not be measured**: {_unmeasured(results)}.",
        )
    )


def write_between_markers(page: Path, text: str, begin: str = BEGIN, end: str = END) -> None:
    before, found_begin, rest = page.read_text("utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise ValueError(f"page: {page} has no {begin} followed by {end}")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def _rates(results: Results, truth: Truth) -> str:
    rows = (
        [
            name,
            *(f"{each.regressed_rate * 100:.1f}" for each in results[name].values()),
            *_use(results[name]["adaptive"]),
        ]
        for name in _named(truth)
    )
    return markdown_table(["scenario", *DESIGNS, "pairs", "saved"], rows)


def _not_worse(results: Results) -> str:
    kinds = [(base, kept) for base in (1.0, 0.95) for kept in (None, 0.5)]
    rows = (
        [
            f"{fixtures}, {margin * 100:g} points",
            *(_rate(results, at_margin(fixtures, margin, *kind).name) for kind in kinds),
        ]
        for fixtures, margin in SUITES
    )
    header = [f"{base * 100:g} %{', half' if kept else ''}" for base, kept in kinds]
    return markdown_table(["fixtures, margin", *header], rows)


def _other_margins(results: Results) -> str:
    suites = {f"{fixtures} fixtures" for fixtures, _ in SUITES}
    asked = [
        s.name for s in SCENARIOS if s.truth == "margin" and s.name.split(",")[0] not in suites
    ]
    rates = ", ".join(f"{_rate(results, name)} ({name})" for name in asked)
    right = f"With {SCENARIOS[0].name}, {_rate(results, SCENARIOS[0].name)} % rightly end so."
    return f"With 100 fixtures and 5 points: {rates}. {right}"


def _rate(results: Results, name: str) -> str:
    return f"{results[name]['adaptive'].not_worse_rate * 100:.1f}"


def _unmeasured(results: Results) -> str:
    rates = (
        f"{results[name]['adaptive'].unmeasured_rate * 100:.1f} % of runs if {name}"
        for name in _named("null")
        if "calls fail" in name
    )
    return ", ".join(rates)


def _use(outcome: Outcome) -> tuple[str, str]:
    pairs = f"{outcome.median_pairs:,.0f} of {outcome.pairs_without_stopping:,}"
    return pairs, f"{outcome.saved * 100:.0f} %"


def _named(truth: Truth) -> list[str]:
    return [scenario.name for scenario in SCENARIOS if scenario.truth == truth]


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows))
