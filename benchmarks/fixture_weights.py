"""What do weights from the history add to the power, and do they keep the level? A simulation.

    python -m benchmarks.fixture_weights [--runs 500] [--seed 5] [--write benchmarks/error-rates.md]

Puts the test of inputs without and with the weights of `stats.paired.fixture_weights` to the
same streams. Each run has a history of its own. Ends with exit status 1 if the test with weights
blocks more harmless changes than alpha.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.decisions import product
from benchmarks.decisions.scenarios import ALPHA, MARGIN
from benchmarks.decisions.stream import Floats, Stream
from benchmarks.decisions.table import markdown_table, precision, write_between_markers
from gatekeeper.gate.plan.alpha import FIXTURES
from gatekeeper.stats.intervals.intervals import wilson
from gatekeeper.stats.paired.fixture_weights import fixture_weights

BEGIN, END = "<!-- bench-weights:begin -->", "<!-- bench-weights:end -->"
NIGHTS = 10
DESIGNS = ((100, 1), (50, 1), (40, 2), (30, 3), (20, 10))
Row = tuple[str, float, str, str]


class Change(NamedTuple):
    """What a change does to fixtures that are steady and to those that flicker."""

    name: str
    flickering: float
    steady_falls: float
    flickering_falls: float


CHANGES = (
    Change("30 % flicker, harmless", 0.3, 0, 0),
    Change("30 % flicker, all fall by 10 points", 0.3, 0.1, 0.1),
    Change("30 % flicker, only these fall, by 30 points", 0.3, 0, 0.3),
    Change("none flickers, harmless", 0, 0, 0),
    Change("none flickers, all fall by 10 points", 0, 0.1, 0.1),
)


def main() -> int:
    arguments = _arguments()
    rows = list(_rows(arguments.runs, arguments.seed))
    text = (
        f"Each row has {arguments.runs:,} runs with seed {arguments.seed}. A fixture that flickers "
        f"passes in 50 % of its samples on base, any other in 97 %. The history has {NIGHTS} "
        "nights with as many samples as the run. Each entry is without→with weights. "
        f"{precision(arguments.runs)} Runs that find head worse, in %:\n\n"
    )
    header = ["fixtures x samples", *(change.name for change in CHANGES)]
    for title, column in (("", 2), ("\n\nMean number of calls:\n\n", 3)):
        text += title + markdown_table(header, _by_design(rows, column))
    if arguments.write is None:
        print(text)
    else:
        write_between_markers(arguments.write, text, BEGIN, END)
    false_alarms = [row[0] for row in rows if row[1] > ALPHA]
    print(*(f"blocks too many harmless changes: {name}" for name in false_alarms), sep="\n")
    return 1 if false_alarms else 0


def _by_design(rows: Sequence[Row], column: int) -> Iterator[list[str]]:
    for number, (fixtures, samples) in enumerate(DESIGNS):
        changes = rows[number * len(CHANGES) : (number + 1) * len(CHANGES)]
        yield [f"{fixtures} x {samples}", *(str(row[column]) for row in changes)]


def _rows(runs: int, seed: int) -> Iterator[Row]:
    """Yield a name, the least rate of false alarms, and what is found and called."""
    for fixtures, samples in DESIGNS:
        for number, change in enumerate(CHANGES):
            rng = np.random.default_rng([seed, fixtures, samples, number])
            stream, weights = _draw(rng, change, (runs, fixtures, samples))
            plain = product.adaptive(stream, (1 - FIXTURES) * ALPHA, MARGIN)
            weighted = product.adaptive(stream, (1 - FIXTURES) * ALPHA, MARGIN, weights)
            alarms = int(weighted.regressed.sum()) if change.name.endswith("harmless") else 0
            interval = wilson(alarms, runs)
            found = (100.0 * each.regressed for each in (plain, weighted))
            calls = (2.0 * each.pairs for each in (plain, weighted))
            name = f"{fixtures} x {samples}, {change.name}"
            lowest = interval.low if interval else 0.0
            yield name, lowest, _both(found, 1), _both(calls, 0)


def _draw(
    rng: np.random.Generator, change: Change, shape: tuple[int, int, int]
) -> tuple[Stream, list[tuple[int, ...]]]:
    runs, fixtures, samples = shape
    flickers = rng.random((runs, fixtures)) < change.flickering
    base = np.where(flickers, 0.5, 0.97)
    head = base - np.where(flickers, change.flickering_falls, change.steady_falls)
    seen = NIGHTS * samples
    failed = rng.binomial(seen, 1 - base)
    weights = [fixture_weights([(seen, int(n)) for n in row], samples) for row in failed]
    answered = np.ones(shape, dtype=bool)
    passes = (rng.random(shape) < rates[..., None] for rates in (base, head))
    return Stream(*passes, answered, answered, np.ones(fixtures, dtype=int)), weights


def _both(values: Iterable[Floats], digits: int) -> str:
    return "→".join(f"{each.mean():.{digits}f}" for each in values)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--write", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
