"""What does a harmless change cost, and what does ending early cost in power? A simulation.

    python -m benchmarks.harmless_calls [--runs 500] [--seed 2] [--write docs/error-rates.md]

Puts the test of inputs as it was and as it is to the same streams, side by side. As it was: the
whole alpha, a larger part of it for the first round, and no end for futility. Ends with exit status
1 if the new test blocks more harmless changes than alpha.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from benchmarks.decisions import product
from benchmarks.decisions.designs import Decisions
from benchmarks.decisions.scenarios import ALPHA, MARGIN, Draw, broken, steady
from benchmarks.decisions.stream import Floats, Stream
from benchmarks.decisions.table import markdown_table, write_between_markers
from gatekeeper.stats import futility, sequential
from gatekeeper.stats.intervals import wilson

BEGIN, END = "<!-- bench-calls:begin -->", "<!-- bench-calls:end -->"
BASE = 0.95
SHARE = 0.9
"""The part of alpha that the test of inputs keeps beside that of broken fixtures."""
DESIGNS: dict[tuple[int, int], tuple[float, ...]] = {
    (20, 10): (0, 0.05, -0.02, -0.05, -0.1, -0.2),
    (20, 5): (0, -0.05, -0.1, -0.2),
    (50, 10): (0, 0.05, -0.02, -0.05, -0.1),
    (40, 25): (0, 0.05, -0.02, -0.05, -0.1),
    (100, 10): (0, 0.05, -0.02, -0.05),
    (100, 1): (0, 0.05, -0.05, -0.1),
    (300, 1): (0, 0.05, -0.05, -0.1),
    (30, 3): (0, 0.05, -0.05, -0.1, -0.2),
    (40, 2): (0, 0.05, -0.05, -0.1, -0.2),
}
"""By fixtures and samples, the changes of the pass rate of every fixture."""
BROKEN = (0.1, 0.2)
"""The shares of fixtures that break outright, in every design."""


def main() -> int:
    arguments = _arguments()
    rows = list(_rows(arguments.runs, arguments.seed))
    text = (
        f"Each row has {arguments.runs:,} runs with seed {arguments.seed}, and a base pass rate "
        "of 95 %. Calls are the mean number of single calls, with the standard error in brackets. "
        "The column of power is the difference in the share of runs that find head worse, on the "
        "same runs, with its standard error.\n\n"
    )
    header = ["fixtures x samples, change", "calls before", "calls now", "share"]
    header += ["found before, %", "found now, %", "points"]
    text += markdown_table(header, [cells for cells, _ in rows])
    if arguments.write is None:
        print(text)
    else:
        write_between_markers(arguments.write, text, BEGIN, END)
    false_alarms = [cells[0] for cells, alarms in rows if alarms > ALPHA]
    print(*(f"blocks too many harmless changes: {name}" for name in false_alarms), sep="\n")
    return 1 if false_alarms else 0


def _rows(runs: int, seed: int) -> Iterator[tuple[list[str], float]]:
    for (fixtures, samples), effects in DESIGNS.items():
        draws: list[tuple[str, Draw]] = [
            (_named(effect), steady(BASE, min(1.0, BASE + effect), fixtures, samples))
            for effect in effects
        ]
        draws += [
            (f"{share:.0%} broken", broken(share, BASE, fixtures, rounds=samples))
            for share in BROKEN
        ]
        for name, draw in draws:
            rng = np.random.default_rng([seed, fixtures, samples, len(name)])
            stream = draw(rng, runs)
            before, now = _before(stream), product.adaptive(stream, SHARE * ALPHA, MARGIN)
            alarms = int(now.regressed.sum()) if name in ("harmless", "+5 points") else 0
            interval = wilson(alarms, runs)
            cells = [f"{fixtures} x {samples}, {name}", *_cells(before, now)]
            yield cells, interval.low if interval else 0.0


def _named(effect: float) -> str:
    return f"{effect * 100:+.0f} points" if effect else "harmless"


def _before(stream: Stream) -> Decisions:
    """The test as it was before sampling could be futile."""
    with (
        patch.object(sequential, "WALK_SHARE", 0.4),
        patch.multiple(futility, FUTILE=0.0, FUTILE_BY_ROUND=0.0),
    ):
        return product.adaptive(stream, ALPHA, MARGIN)


def _cells(before: Decisions, now: Decisions) -> list[str]:
    old, new = 2 * before.pairs, 2 * now.pairs
    points = 100 * (now.regressed.astype(float) - before.regressed)
    return [
        _mean(old, 0),
        _mean(new, 0),
        f"{new.mean() / old.mean():.0%}",
        _mean(100.0 * before.regressed, 1),
        _mean(100.0 * now.regressed, 1),
        f"{points.mean():+.1f} ({_error(points):.1f})",
    ]


def _mean(values: Floats, digits: int) -> str:
    return f"{values.mean():.{digits}f} ({_error(values):.{digits}f})"


def _error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--write", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
