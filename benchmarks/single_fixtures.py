"""Does a run find what its report says it could find, and does `must_pass` fail by chance?

    python -m benchmarks.single_fixtures [--runs 4000] [--seed 1] [--write docs/error-rates.md]

Prints two tables, or writes them between the markers of a page. Ends with exit status 1 if the drop
that a report calls visible is found in fewer than 80 % of runs, or if fixtures that must pass and
did not change fail a harmless change more often than their level allows.
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
from gatekeeper.stats.fisher import fisher_exact
from gatekeeper.stats.intervals import wilson
from gatekeeper.stats.mcnemar import mcnemar_exact
from gatekeeper.stats.multiple import holm
from gatekeeper.stats.power import minimum_detectable_effect

BEGIN, END = "<!-- bench-single-fixtures:begin -->", "<!-- bench-single-fixtures:end -->"
LEVEL = 0.05
MUST_PASS_LEVEL = 0.01
"""One fifth of an alpha of 5 %, for all fixtures that must pass together."""
DROPS = ((30, 0), (30, 1), (30, 3), (100, 2), (100, 8), (200, 4), (200, 16))
"""Fixtures, and how many of them were broken by chance, with as many fixed."""
PROMISES = ((1, 5, 0.9), (5, 5, 0.9), (20, 5, 0.9), (5, 10, 0.7), (20, 10, 0.7), (20, 3, 0.5))
"""Fixtures that must pass, samples of each on each arm, and their pass rate on both arms."""


def table(seed: int, runs: int) -> tuple[str, list[str]]:
    """Both tables, and the promises that are broken."""
    rng = np.random.default_rng(seed)
    broken: list[str] = []
    drops = [_drop_row(rng, runs, *case, broken) for case in DROPS]
    promises = [_promise_row(rng, runs, *case, broken) for case in PROMISES]
    said = f"Each row has {runs:,} runs with seed {seed}. Figures are % of runs. {BRACKETS}\n\n"
    first = markdown_table(
        [
            "fixtures",
            "flicker",
            "reported detectable drop",
            "found",
            "found, if the drop is computed from breaks alone",
        ],
        drops,
    )
    second = markdown_table(
        ["fixtures that must pass", "samples of each", "pass rate", "harmless change blocked"],
        promises,
    )
    return f"{said}{first}\n\n{second}", broken


def _drop_row(
    rng: Generator, runs: int, fixtures: int, changed: int, broken: list[str]
) -> list[str]:
    seen = [1.0] * changed + [-1.0] * changed + [0.0] * (fixtures - 2 * changed)
    drop = visible_drop(fixtures, seen, LEVEL)
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


def _promise_row(
    rng: Generator, runs: int, fixtures: int, samples: int, passing: float, broken: list[str]
) -> list[str]:
    base, head = (rng.binomial(samples, passing, (runs, fixtures)) for _ in range(2))
    wrong = 0
    for before, after in zip(base, head, strict=True):
        p_values = [_fisher(int(b), int(a), samples) for b, a in zip(before, after, strict=True)]
        wrong += any(holm(p_values, MUST_PASS_LEVEL).rejected)
    if wilson(wrong, runs, 0.99).low > MUST_PASS_LEVEL:
        broken.append(f"{fixtures} x {samples} at {passing}: {wrong} of {runs} runs fail by chance")
    return [
        numbers.count(fixtures, "fixture"),
        numbers.count(samples, "sample"),
        f"{passing * 100:.0f} % pass",
        rate(wrong, runs),
    ]


@lru_cache
def _fisher(base: int, head: int, samples: int) -> float:
    return fisher_exact(base, samples, head, samples)


def main(arguments: Sequence[str] | None = None) -> int:
    return show(table, BEGIN, END, 4000, arguments)


if __name__ == "__main__":
    sys.exit(main())
