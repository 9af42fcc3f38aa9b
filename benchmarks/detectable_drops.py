"""Does a run find the drop that its report says it could find?

    python -m benchmarks.detectable_drops [--runs 4000] [--seed 1] [--write FILE]

Prints a table, or writes it between the markers of a page. Ends with exit status 1 if the drop that
a report calls visible is found in fewer than 80 % of runs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.decisions.table import markdown_table, precision
from benchmarks.simulation_page import rate, show
from gatekeeper import numbers
from gatekeeper.gate.comparison.pair_counts import POWER, visible_drop
from gatekeeper.stats.intervals.intervals import wilson
from gatekeeper.stats.paired.mcnemar import mcnemar_exact
from gatekeeper.stats.paired.power import minimum_detectable_effect
from gatekeeper.stats.paired.sequential import SequentialTest

BEGIN, END = "<!-- bench-detectable-drops:begin -->", "<!-- bench-detectable-drops:end -->"
LEVEL = 0.05
DROPS = ((30, 0), (30, 1), (30, 3), (100, 2), (100, 8), (200, 4), (200, 16))
"""Fixtures, and how many of them were broken by chance, with as many fixed."""
GRADED = ((50, 1), (100, 1), (20, 5))
"""Fixtures and samples of each, whose answers have scores."""
SCORE_DROP, PASSES = 0.06, 0.7
"""By how much head's mean score is lower, and the score at which an answer passes."""


def table(seed: int, runs: int) -> tuple[str, list[str]]:
    """The table, and the promises that are broken."""
    rng = np.random.default_rng(seed)
    broken: list[str] = []
    drops = [_drop_row(rng, runs, *case, broken) for case in DROPS]
    said = (
        f"Each row has {runs:,} runs with seed {seed}. Figures are % of runs. {precision(runs)}\n\n"
    )
    header = [
        "fixtures",
        "flicker",
        "reported detectable drop",
        "found",
        "found, if the drop is computed from breaks alone",
    ]
    graded = [_graded_row(rng, min(runs, 1000), *design, broken) for design in GRADED]
    scores = (
        "\n\nThe same answers with scores, compared by passes and with `gate.on: score`. A "
        "fixture's mean score is normal with mean 0.8 and deviation 0.12, each answer's deviation "
        f"from it 0.15. An answer passes from {PASSES}. Head is worse by {SCORE_DROP} on average, "
        f"or by 0: then every finding is false. Each row has {min(runs, 1000):,} runs.\n\n"
    )
    titles = [
        "fixtures x samples",
        "found by passes",
        "by scores",
        "false, passes",
        "false, scores",
    ]
    text = said + markdown_table(header, drops) + scores + markdown_table(titles, graded)
    return text, broken


def _graded_row(
    rng: Generator, runs: int, fixtures: int, samples: int, broken: list[str]
) -> list[str]:
    """How often a drop of the score, and none, is found by passes and by scores."""
    by_pass, by_score = (
        SequentialTest(fixtures, samples, LEVEL, LEVEL, 0.05, walks=walks)
        for walks in (True, False)
    )
    counts = []
    for drop in (SCORE_DROP, 0.0):
        each = [_graded_differences(rng, fixtures, samples, drop) for _ in range(runs)]
        counts.append(sum(_finds(by_pass, passes, 1) for passes, _ in each))
        counts.append(sum(_finds(by_score, scores, 100) for _, scores in each))
    design = f"{fixtures} x {samples}"
    if wilson(counts[3], runs, 0.99).low > LEVEL:
        broken.append(f"{design}: {counts[3]} of {runs} harmless changes are worse by their scores")
    return [design, *(rate(count, runs) for count in counts)]


def _graded_differences(
    rng: Generator, fixtures: int, samples: int, drop: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    means = rng.normal(0.8, 0.12, (fixtures, 1))
    noise = rng.normal(0, 0.15, (2, fixtures, samples))
    base, head = (np.clip(means + noise[arm] - arm * drop, 0, 1) for arm in (0, 1))
    passes = (base >= PASSES).astype(int) - (head >= PASSES).astype(int)
    return passes, np.rint(100 * base).astype(int) - np.rint(100 * head).astype(int)


def _finds(test: SequentialTest, sampled: NDArray[np.int64], scale: int) -> bool:
    """Whether a run that stops as soon as its result is certain finds head worse."""
    sizes = np.full(len(sampled), scale)
    stop = test.after_pairs(sampled[:, 0], sampled[:, 0], sizes)
    if stop is not None:
        return stop[0] == "regressed"
    for look in test.looks:
        so_far = sampled[:, : look.rounds]
        found = test.after_round(so_far, so_far, sizes)
        if found is not None:
            return found == "regressed"
    return False


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
