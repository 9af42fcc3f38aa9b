"""Works out table 2 of the PromptPex paper again, from the outputs recorded for it.

    python benchmarks/promptpex.py [--data ../shared/data/promptpex] [--check]

Reads the recordings and the published table (github.com/microsoft/promptpex, MIT and CC BY 4.0)
and writes what it finds between the markers of benchmarks/promptpex.md. With --check it only
compares, and ends with 1 where the page says something else. Ends with 2 without the data.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.intervals import clustered_rate_interval, rate_interval
from gatekeeper.stats.multiple import holm
from gatekeeper.stats.paired.mcnemar import mcnemar_exact

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "benchmarks" / "promptpex.md"
DATA = ROOT.parent / "shared" / "data" / "promptpex"
BEGIN, END = "<!-- promptpex:begin -->", "<!-- promptpex:end -->"

MODELS = ("gpt-4o-mini", "gemma2:9b", "qwen2.5:3b", "llama3.2:1b")
PROMPTS = {  # the table's name for each recording
    "speech-tag": "speech-tag",
    "text-to-p": "text-to-p",
    "extract-names": "extract-names",
    "elements": "elements",
    "classify-input-text": "classify",
}
RULES = frozenset({"rule", "inverse_rule"})
EVERY = RULES | {"baseline"}
ALPHA = 0.05


@dataclass(frozen=True)
class Test:
    """One input and the rule it tests, with each model's verdicts, one a recording."""

    kind: str
    verdicts: Mapping[str, tuple[bool, ...]]


@dataclass(frozen=True)
class Cell:
    """What one model does on one prompt: non-compliant outputs of each test."""

    failed: tuple[int, ...]
    recorded: tuple[int, ...]

    @property
    def share(self) -> float:
        return sum(self.failed) / sum(self.recorded)

    @property
    def repeated(self) -> bool:
        return max(self.recorded) > 1

    def interval(self) -> ConfidenceInterval:
        """Recordings of one test are not independent: then by test."""
        if self.repeated:
            found = clustered_rate_interval(self.failed, self.recorded)
        else:
            found = rate_interval(sum(self.failed), sum(self.recorded))
        assert found is not None  # noqa: S101 - there are tests
        return found

    def shares_of_one_recording(self) -> list[float]:
        """The shares possible where the table counts one recording of each test."""
        surely = sum(f == n for f, n in zip(self.failed, self.recorded, strict=True))
        perhaps = sum(f > 0 for f in self.failed)
        return [as_published(k, len(self.failed)) for k in range(surely, perhaps + 1)]

    def reproduces(self, published: float) -> str:
        possible = self.shares_of_one_recording()
        if round(published, 2) not in possible:
            return "no"
        return "yes" if len(possible) == 1 else "possible"


def as_published(failed: int, n: int) -> float:
    """One less the compliant share in whole per cent, halves rounded up."""
    return round(1 - (200 * (n - failed) + n) // (2 * n) / 100, 2)


def read_tests(path: Path) -> list[Test]:
    """A verdict the judge did not give counts as non-compliant, as it does in the table."""
    rows: dict[tuple[str, str, str], list[dict[str, bool]]] = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        verdicts = {model: row["outputs"][model]["compliant"] is True for model in MODELS}
        rows[row["kind"], row["rule"] or "", row["input"]].append(verdicts)
    return [
        Test(kind, {model: tuple(verdict[model] for verdict in found) for model in MODELS})
        for (kind, _, _), found in rows.items()
    ]


def read_published(path: Path) -> dict[tuple[str, str], float]:
    """Non-compliance by (prompt, model), as printed."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, skipinitialspace=True)
    models = [name.strip() for name in header[1:]]
    return {
        (row[0].strip(), model): float(value)
        for row in rows
        for model, value in zip(models, row[1:], strict=True)
    }


def cell(tests: Sequence[Test], model: str, kinds: frozenset[str] = RULES) -> Cell:
    counted = [test.verdicts[model] for test in tests if test.kind in kinds]
    return Cell(tuple(v.count(False) for v in counted), tuple(map(len, counted)))


def shares_table(
    tests: Mapping[str, Sequence[Test]], published: Mapping[tuple[str, str], float]
) -> list[str]:
    lines = [
        "| Prompt | Model | Outputs | Non-compliant | 95 % interval | Published | Reproduces |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, label in PROMPTS.items():
        for model in MODELS:
            found = cell(tests[name], model)
            n, repeated = len(found.failed), found.repeated
            low, high = found.interval().low, found.interval().high
            lines.append(
                f"| {label} | {model} | {f'2 x {n}' if repeated else n} | {found.share:.1%} "
                f"| {low:.1%} to {high:.1%} | {published[label, model]:.0%} "
                f"| {found.reproduces(published[label, model])} |"
            )
    return lines


def rule_comparison(
    tests: Mapping[str, Sequence[Test]], published: Mapping[tuple[str, str], float]
) -> str:
    """How many cells recorded once each way of counting gives."""
    counts = []
    for kinds in (RULES, frozenset({"rule"}), EVERY):
        cells = [
            (cell(tests[name], model, kinds), published[label, model])
            for name, label in PROMPTS.items()
            for model in MODELS
        ]
        once = [(found, value) for found, value in cells if not found.repeated]
        counts.append(sum(found.reproduces(value) == "yes" for found, value in once))
    return (
        f"In {len(once)} rows, each test has one recording. If the tests of rules and of inverse "
        f"rules count, {counts[0]} of the {len(once)} rows give the published share. If only the "
        f"tests of rules count, {counts[1]} rows give the published share. If the baseline tests "
        f"count too, {counts[2]} rows give the published share."
    )


def complies(verdicts: tuple[bool, ...]) -> bool:
    """By majority, as the gate has it: both of two."""
    return 2 * sum(verdicts) > len(verdicts)


def pairs_table(tests: Mapping[str, Sequence[Test]]) -> list[str]:
    counts, p_values = [], []
    pairs = list(combinations(MODELS, 2))
    for name in PROMPTS:
        counted = [test.verdicts for test in tests[name] if test.kind in RULES]
        for first, second in pairs:
            outcomes = [(complies(v[first]), complies(v[second])) for v in counted]
            only = outcomes.count((True, False)), outcomes.count((False, True))
            counts.append(f"{only[0]}:{only[1]}")
            p_values.append(mcnemar_exact(*only, "two-sided"))
    adjusted = holm(p_values, ALPHA)
    cells = [
        f"**{said}** {p:.2g}" if differ else f"{said} {p:.2g}"
        for said, p, differ in zip(counts, adjusted.p_values, adjusted.rejected, strict=True)
    ]
    short = [" and ".join(model.split(":")[0].removeprefix("gpt-") for model in p) for p in pairs]
    rows = (
        f"| {label} | {' | '.join(cells[n * len(pairs) : (n + 1) * len(pairs)])} |"
        for n, label in enumerate(PROMPTS.values())
    )
    return [
        f"At the level {ALPHA} over all pairs, {sum(adjusted.rejected)} of {len(cells)} pairs of "
        "models differ (bold). A cell has the tests that only the first and only the second model "
        "complies with, and p, adjusted by Holm:",
        "",
        f"| Prompt | {' | '.join(short)} |",
        "|---|---|---|---|---|---|---|",
        *rows,
    ]


def report(data: Path) -> str:
    tests = {name: read_tests(data / f"{name}.jsonl") for name in PROMPTS}
    published = read_published(data / "pp-cpct.csv")
    lines = [
        *shares_table(tests, published),
        "",
        rule_comparison(tests, published),
        "",
        *pairs_table(tests),
    ]
    return "\n".join(lines)


def replaced(page: str, text: str) -> str:
    before, rest = page.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not (options.data / "pp-cpct.csv").exists():
        print(f"No recordings in {options.data}.", file=sys.stderr)
        return 2
    page = PAGE.read_text("utf-8")
    wanted = replaced(page, report(options.data))
    if not options.check:
        PAGE.write_text(wanted, "utf-8")
        return 0
    if wanted == page:
        return 0
    print("benchmarks/promptpex.md is not what benchmarks/promptpex.py writes.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
