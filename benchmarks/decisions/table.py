"""The results as tables, and their place on a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.decisions.scenarios import SCENARIOS, Truth
from benchmarks.decisions.simulation import DESIGNS, STOPPING, Outcome, Results
from gatekeeper.stats.interval import ConfidenceInterval

BEGIN = "<!-- bench-stats:begin -->"
END = "<!-- bench-stats:end -->"
BRACKETS = (
    "Brackets contain Wilson's 95 % confidence interval, which shows how precise the simulation is."
)


def tables(results: Results, runs: int, seed: int) -> str:
    return "\n\n".join(
        (
            f"Each scenario has {runs:,} runs with seed {seed}. {BRACKETS}",
            "The table shows **false blocks**, in % of the runs in which head is not worse than "
            "base. Alpha is 5 %.",
            _rates(results, "null"),
            "The table shows **regressions found**, in % of the runs in which head is worse than "
            "base.",
            _rates(results, "effect"),
            'The table shows the **runs that end with "not worse"**, in %. If head is worse by '
            'exactly the margin, "not worse" is wrong, and may occur in at most 5 % of runs. If '
            'the prompts are identical, "not worse" is right.',
            _not_worse(results),
            'The table shows the **runs that end as "could not be measured"**, in % of runs of '
            "the adaptive design. A run could not be measured if head is not worse, but would be "
            "worse by more than the margin if all failed calls counted against head.",
            _unmeasured(results),
            "The table shows the **pairs sampled until the decision**: the median and the 90th "
            "percentile over all runs. A pair is one call of base and one call of head. The table "
            "also shows the share of calls that a design saves, compared with the fixed design.",
            _pairs(results),
        )
    )


def write_between_markers(page: Path, text: str, begin: str = BEGIN, end: str = END) -> None:
    before, found_begin, rest = page.read_text("utf-8").partition(begin)
    _, found_end, after = rest.partition(end)
    if not (found_begin and found_end):
        raise ValueError(f"page: {page} has no {begin} followed by {end}")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def _rates(results: Results, truth: Truth) -> str:
    def cells(outcomes: Mapping[str, Outcome]) -> Iterable[str]:
        return (_rate(o.regressed_rate, o.regressed_interval) for o in outcomes.values())

    rows = ([name, *cells(results[name])] for name in _named(truth))
    return markdown_table(["scenario, % of runs", *DESIGNS], rows)


def _not_worse(results: Results) -> str:
    def cells(outcomes: Mapping[str, Outcome]) -> Iterable[str]:
        stopping = (outcomes[design] for design in STOPPING)
        return (_rate(o.not_worse_rate, o.not_worse_interval) for o in stopping)

    asked = [scenario for scenario in SCENARIOS if scenario.truth == "margin"]
    rows = (
        [scenario.name, f"{scenario.margin:g}", *cells(results[scenario.name])]
        for scenario in (*asked, SCENARIOS[0])
    )
    return markdown_table(["scenario", "margin", *STOPPING], rows)


def _unmeasured(results: Results) -> str:
    rows = (
        [name, _rate(outcome.unmeasured_rate, outcome.unmeasured_interval)]
        for name in _named("null")
        if "calls fail" in name and (outcome := results[name]["adaptive"])
    )
    return markdown_table(["scenario", "could not be measured"], rows)


def _pairs(results: Results) -> str:
    header = ["scenario", "pairs in all"]
    for design in STOPPING:
        header += [f"{design}: median of pairs", f"{design}: 90th percentile of pairs"]
        header += [f"{design}: share of calls saved"]
    rows = (
        [
            name,
            f"{outcomes['adaptive'].pairs_without_stopping:,}",
            *(cell for design in STOPPING for cell in _use(outcomes[design])),
        ]
        for name, outcomes in results.items()
    )
    return markdown_table(header, rows)


def _use(outcome: Outcome) -> tuple[str, str, str]:
    return (
        f"{outcome.median_pairs:,.0f}",
        f"{outcome.p90_pairs:,.0f}",
        f"{outcome.saved * 100:.0f} %",
    )


def _named(truth: Truth) -> list[str]:
    return [scenario.name for scenario in SCENARIOS if scenario.truth == truth]


def _rate(rate: float, interval: ConfidenceInterval) -> str:
    return f"{rate * 100:.1f} ({interval.low * 100:.1f}–{interval.high * 100:.1f})"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, rule, *rows))
