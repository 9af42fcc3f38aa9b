"""Does a run find the drop that its report says it could find?

    python -m benchmarks.detectable_drops [--runs 4000] [--seed 1] [--write docs/error-rates.md]

Prints a table, or writes it between the markers of a page. Ends with exit status 1 if the drop that
a report calls visible is found in fewer than 80 % of runs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.random import Generator

from benchmarks.decisions.table import BRACKETS, markdown_table
from benchmarks.simulation_page import rate, show
from gatekeeper import numbers
from gatekeeper.gate.alternative_methods import POWER, visible_drop
from gatekeeper.stats.intervals import wilson
from gatekeeper.stats.mcnemar import mcnemar_exact
from gatekeeper.stats.power import minimum_detectable_effect

BEGIN, END = "<!-- bench-detectable-drops:begin -->", "<!-- bench-detectable-drops:end -->"
LEVEL = 0.05
DROPS = ((30, 0), (30, 1), (30, 3), (100, 2), (100, 8), (200, 4), (200, 16))
"""Fixtures, and how many of them were broken by chance, with as many fixed."""


def table(seed: int, runs: int) -> tuple[str, list[str]]:
    """The table, and the promises that are broken."""
    rng = np.random.default_rng(seed)
    broken: list[str] = []
    drops = [_drop_row(rng, runs, *case, broken) for case in DROPS]
    said = f"Each row has {runs:,} runs with seed {seed}. Figures are % of runs. {BRACKETS}\n\n"
    header = [
        "fixtures",
        "flicker",
        "reported detectable drop",
        "found",
        "found, if the drop is computed from breaks alone",
    ]
    return said + markdown_table(header, drops), broken


def _drop_row(
    rng: Generator, runs: int, fixtures: int, changed: int, broken: list[str]
) -> list[str]:
    drop = visible_drop(fixtures, changed / fixtures, LEVEL)
    alone = minimum_detectable_effect(fixtures, LEVEL)
    if drop is None or alone is None:
        raise ValueError(f"{fixtures} fixtures can show no drop")
    found = _found(rng, runs, fixtures, changed, drop)
    if wilson(found, runs, 0.99).high < POWER:
        broken.append(f"{fixtures} fixtures, {changed} flicker: {found} of {runs} runs find it")
    fewer = _found(rng, runs, fixtures, changed, alone)
    return [
        numbers.count(fixtures, "fixture"),
        f"{2 * changed} of {fixtures} flicker",
        f"{drop * 100:.1f} points",
        rate(found, runs),
        rate(fewer, runs),
    ]


def _found(rng: Generator, runs: int, fixtures: int, changed: int, drop: float) -> int:
    """How many runs reject in which so many fixtures flicker and a share breaks for good, so that
    the pass rate falls by `drop`. A fixture that flickers passes half of the time."""
    flickering = 4 * changed / fixtures
    shape = (runs, fixtures)
    flickers = rng.random(shape) < flickering
    breaks = rng.random(shape) < drop / (1 - flickering / 2)
    base, head = (~flickers | (rng.random(shape) < 0.5) for _ in range(2))
    broke = (base & ~(head & ~breaks)).sum(axis=1)
    fixed = (~base & (head & ~breaks)).sum(axis=1)
    return sum(_rejects(int(b), int(f)) for b, f in zip(broke, fixed, strict=True))


@lru_cache
def _rejects(broke: int, fixed: int) -> bool:
    return mcnemar_exact(broke, fixed) <= LEVEL


def main(arguments: Sequence[str] | None = None) -> int:
    return show(table, BEGIN, END, 4000, arguments)


if __name__ == "__main__":
    sys.exit(main())
