"""Recomputes the tables of the PromptPex paper by `gatekeeper sweep`, from its recorded outputs.

    python benchmarks/suitability.py [--data ../shared/data/promptpex] [--check]

Makes a repository and a recording of each prompt (tests/support/promptpex_repository.py), runs the
command on them, compares its figures with the published ones, and writes the tables between the
markers of benchmarks/promptpex.md. With --check it only compares the page, and ends with 1 if it
says something else. Ends with 2 without the data.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

# Imported as a module, Python does not look beside this file.
sys.path.insert(0, str(Path(__file__).parent))
import promptpex

sys.path.insert(0, str(promptpex.ROOT / "tests"))
from support.git_repository import GitRepository
from support.promptpex_repository import (
    MODELS,
    PromptPexData,
    write_recording,
    write_repository,
)

from gatekeeper.cli.main import main as gatekeeper

BEGIN, END = "<!-- suitability:begin -->", "<!-- suitability:end -->"
MODEL_NAMES = tuple(MODELS.values())
NOT_RECORDED = {"shakespeare": (21, 21), "sentence": (24, 24), "art-prompt": (21, 21)}
"""How many tests of rules and inverse rules the prompts have of which no output is recorded."""
KINDS = ("rule", "inverse_rule")

Rates = Mapping[str, Mapping[str, Any]]
Swept = Mapping[str, Any]


def sweep(data: Path, name: str) -> Swept:
    """Run the command on the recordings of a prompt; return its document."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        found, repository = PromptPexData(data, name), GitRepository.create(work / "repository")
        write_repository(repository, found)
        repository.commit("the contract")
        write_recording(repository, found, work / "samples.jsonl")
        arguments = ["sweep", "--repo", str(repository.path), "--contract", name]
        arguments += ["--model", ",".join(MODELS), "--replay", str(work / "samples.jsonl")]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = gatekeeper([*arguments, "--out", str(work / "out")])
        if code:
            raise RuntimeError(f"gatekeeper sweep of {name} ended with {code}")
        document: Swept = json.loads((work / "out" / "sweep.json").read_text("utf-8"))
    return document


def rates_by_model(swept: Swept) -> Mapping[str, Rates]:
    """Return the rates of each model, by its recorded name."""
    models = [MODELS[setting["model"]] for setting in swept["settings"]]
    return dict(zip(models, swept["suitability"]["settings"], strict=True))


def as_published(rate: Mapping[str, Any]) -> float:
    """Return the share as the paper rounds it, which counts unknown as non-compliant."""
    unknown = rate["planned"] - rate["measured"]
    return promptpex.as_published(rate["non_compliant"] + unknown, rate["planned"])


class Paper:
    """The published tables and the recorded verdicts."""

    def __init__(self, data: Path) -> None:
        self.shares = promptpex.read_published(data / "pp-cpct.csv")
        self.kinds = read_columns(data / "pos-neg-cpct.csv")
        self.compared = read_columns(data / "pp-compare.csv")
        self.validity = read_columns(data / "pp-test-validity.csv")
        self.tests = {
            name: promptpex.read_tests(data / f"{name}.jsonl") for name in promptpex.PROMPTS
        }

    def cell(self, name: str, model: str, *kinds: str) -> promptpex.Cell:
        return promptpex.cell(self.tests[name], model, frozenset(kinds))


def read_columns(path: Path) -> dict[str, tuple[float, float]]:
    """Read a table of a name and two numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file, skipinitialspace=True)
    return {row[0].strip(): (float(row[1]), float(row[2])) for row in rows}


def shares_table(swept: Mapping[str, Swept], paper: Paper) -> Iterator[str]:
    yield from table_head(
        "Prompt", "Model", "Rules", "Inverse rules", "Both", "95 % interval", "Baseline",
        "Published (both)", "Reproduces",
    )  # fmt: skip
    for name, label in promptpex.PROMPTS.items():
        for model, rates in rates_by_model(swept[name]).items():
            both = rates["both"]
            low, high = both["interval"]
            yield row(
                label,
                model,
                *(written(rates[kind]) for kind in (*KINDS, "both")),
                f"{low:.1%} to {high:.1%}",
                written(rates["baseline"]),
                f"{paper.shares[label, model]:.0%}",
                reproduces(both, paper, name, label, model),
            )


def written(rate: Mapping[str, Any]) -> str:
    unknown = rate["planned"] - rate["measured"]
    of = f"{rate['non_compliant']}/{rate['measured']}"
    return f"{rate['share']:.1%} ({of}{f', {unknown} unknown' if unknown else ''})"


def reproduces(both: Mapping[str, Any], paper: Paper, name: str, label: str, model: str) -> str:
    published = round(paper.shares[label, model], 2)
    found = paper.cell(name, model, *KINDS)
    if as_published(both) == published:
        return "yes"
    if sum(found.recorded) == len(found.recorded):
        return f"no: {sum(found.failed)} recorded verdicts"
    return "possible" if found.reproduces(published) == "possible" else "no"


def kinds_table(swept: Mapping[str, Swept], paper: Paper) -> Iterator[str]:
    yield from table_head(
        "Model", "Rules, five prompts", "Rules, published (eight)", "Inverse rules, five prompts",
        "Inverse rules, published (eight)", "Reproduces",
    )  # fmt: skip
    for model in MODEL_NAMES:
        rule, inverse = (mean_share(swept, model, kind) for kind in KINDS)
        published = paper.kinds[model]
        possible = "possible, to all digits" if kinds_possible(paper, model) else "no"
        yield row(
            model, f"{rule:.1%}", f"{published[0]:.1%}", f"{inverse:.1%}", f"{published[1]:.1%}",
            possible,
        )  # fmt: skip


def mean_share(swept: Mapping[str, Swept], model: str, kind: str) -> float:
    shares = [rates_by_model(swept[name])[model][kind]["share"] for name in promptpex.PROMPTS]
    return sum(shares) / len(shares)


def kinds_possible(paper: Paper, model: str) -> bool:
    """Return whether both published averages over eight prompts can be the means of counts that
    are recorded (one of two, if two are), and of counts that give the published shares of the
    prompts without a recording."""
    sums = {(Fraction(0), Fraction(0))}
    for name, label in promptpex.PROMPTS.items():
        cells = [paper.cell(name, model, kind) for kind in KINDS]
        sums = added(sums, pairs_of(cells_ranges(cells), paper.shares[label, model]))
    for label, tests in NOT_RECORDED.items():
        ranges = [(range(n + 1), n) for n in tests]
        sums = added(sums, pairs_of(ranges, paper.shares[label, model]))
    published = paper.kinds[model]
    return any(
        all(abs(float(a) / 8 - b) < 1e-12 for a, b in zip(found, published, strict=True))
        for found in sums
    )


def cells_ranges(cells: Iterable[promptpex.Cell]) -> list[tuple[range, int]]:
    """Return how many tests of each kind fail if one output of each counts, and their number."""
    return [
        (
            range(
                sum(f == n for f, n in zip(cell.failed, cell.recorded, strict=True)),
                sum(f > 0 for f in cell.failed) + 1,
            ),
            len(cell.failed),
        )
        for cell in cells
    ]


Shares = tuple[Fraction, Fraction]


def pairs_of(ranges: Sequence[tuple[range, int]], published: float) -> set[Shares]:
    """Return the shares of both kinds that together give the published share of a prompt."""
    (rules, n), (inverse, m) = ranges
    return {
        (Fraction(a, n), Fraction(b, m))
        for a, b in product(rules, inverse)
        if promptpex.as_published(a + b, n + m) == round(published, 2)
    }


def added(sums: set[Shares], more: set[Shares]) -> set[Shares]:
    return {(a + c, b + d) for (a, b), (c, d) in product(sums, more)}


def compared_table(swept: Mapping[str, Swept], paper: Paper) -> Iterator[str]:
    yield from table_head(
        "Model", "Both, five prompts", "Both, published (eight)", "Mean of the eight shares",
        "Baseline, five prompts", "Baseline, published (eight)",
    )  # fmt: skip
    for model in MODEL_NAMES:
        both, baseline = paper.compared[model]
        shares = [
            share
            for (label, of), share in paper.shares.items()
            if of == model and label != "average"
        ]
        mean = sum(shares) / len(shares)
        yield row(
            model,
            f"{mean_share(swept, model, 'both'):.1%}",
            f"{both:.3%}",
            f"{mean:.3%}",
            f"{mean_share(swept, model, 'baseline'):.1%}",
            f"{baseline:.3%}",
        )


def validity_table(swept: Mapping[str, Swept], paper: Paper) -> Iterator[str]:
    yield from table_head("Prompt", "Tests", "Tests, published", "Valid, published", *MODEL_NAMES)
    for name, label in promptpex.PROMPTS.items():
        tests, valid = map(int, paper.validity[label])
        ranges = []
        for model in MODEL_NAMES:
            ((counts, _),) = cells_ranges([paper.cell(name, model, *KINDS)])
            fewest, most = max(0, counts[0] - (tests - valid)), min(counts[-1], valid)
            ranges.append(f"{fewest / valid:.0%} to {most / valid:.0%}")
        yield row(label, swept[name]["suitability"]["tests"]["both"], tests, valid, *ranges)


def pairs_table(swept: Mapping[str, Swept]) -> Iterator[str]:
    yield from table_head(
        "Prompt", "Clusters", "Clusters needed", "Pairs that differ", "Smallest p"
    )
    for name, label in promptpex.PROMPTS.items():
        found = swept[name]["suitability"]
        p_values = [pair["adjusted_p_value"] for pair in found["pairs"]]
        differ = sum(p <= swept[name]["alpha"] for p in p_values)
        yield row(
            label, found["units"], found["units_needed"], f"{differ} of {len(p_values)}",
            f"{min(p_values):.2g}",
        )  # fmt: skip


def table_head(*titles: str) -> tuple[str, str]:
    return row(*titles), "|" + "---|" * len(titles)


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def report(data: Path) -> str:
    swept = {name: sweep(data, name) for name in promptpex.PROMPTS}
    paper = Paper(data)
    shares = list(shares_table(swept, paper))
    answers = [line.rsplit("| ", 1)[1] for line in shares[2:]]
    yes, possible, no = (
        sum(answer.startswith(each) for answer in answers) for each in ("yes", "possible", "no")
    )
    lead = (
        f"Of the {len(answers)} published shares, {yes} can be reproduced, {possible} are "
        f"possible, and {no} cannot be reproduced."
    )
    sections = {
        "Non-compliance by prompt and model (`pp-cpct.csv`)": [lead, "", *shares],
        "Rules and inverse rules (`pos-neg-cpct.csv`)": kinds_table(swept, paper),
        "PromptPex's tests and baseline tests (`pp-compare.csv`)": compared_table(swept, paper),
        "Possible shares if only valid tests count (`pp-test-validity.csv`)": validity_table(
            swept, paper
        ),
        "Pairs of models": pairs_table(swept),
    }
    return "\n\n".join(f"**{title}**\n\n" + "\n".join(lines) for title, lines in sections.items())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=promptpex.DATA)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if not (options.data / "pp-cpct.csv").exists():
        print(f"No recordings in {options.data}.", file=sys.stderr)
        return 2
    page = promptpex.PAGE.read_text("utf-8")
    before, rest = page.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    wanted = f"{before}{BEGIN}\n{report(options.data)}\n{END}{after}"
    if not options.check:
        promptpex.PAGE.write_text(wanted, "utf-8")
        return 0
    if wanted == page:
        return 0
    print("benchmarks/promptpex.md is not what benchmarks/suitability.py writes.", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
