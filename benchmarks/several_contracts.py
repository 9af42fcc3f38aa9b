"""Do comparisons that cannot find anything leave alpha to the others, and is it still kept?

    python -m benchmarks.several_contracts [--runs 400] [--seed 1] [--write FILE]

One prompt has a contract that can show a drop and others that hardly change. All comparisons get
the same answers, so that a fixture whose arms are swapped is swapped in all of them. It ends with
an error if a harmless change is blocked more often than alpha allows.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.decisions.table import precision
from benchmarks.simulation_page import CountedCases, share
from gatekeeper.stats.intervals.intervals import wilson
from gatekeeper.stats.multiple import holm_levels
from gatekeeper.stats.paired.sequential import SequentialTest, Stop

ALPHA = 0.05
BEGIN, END = "<!-- bench-several:begin -->", "<!-- bench-several:end -->"
Differences = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Case:
    """So many further comparisons, whose fixtures change with the chance `others_change`. Those of
    the first change with the chance `changes`; `broken` of them break in every sample instead."""

    others: int
    others_change: float
    fixtures: int = 12
    samples: int = 1
    changes: float = 0.5
    broken: int = 0
    tarone: bool = True


_NULLS = [
    Case(others, change, fixtures, samples)
    for fixtures, samples in ((12, 1), (100, 1), (20, 3))
    for others, change in ((0, 0.0), (20, 0.0), (20, 0.1), (20, 0.5))
]
_FOUND = [
    Case(20, change, changes=0.0, broken=broken, tarone=tarone)
    for change in (0.0, 0.1)
    for broken in (6, 8)
    for tarone in (False, True)
]
CASES = (*_NULLS, *_FOUND)


def _run(test: SequentialTest, drawn: Differences) -> tuple[Stop, int, int]:
    early = test.after_pairs(drawn[:, 0], drawn[:, 0])
    if early:
        return early[0], 0, early[1]
    for done in range(1, test.rounds + 1):
        stop = test.after_round(drawn[:, :done], drawn[:, :done])
        if stop:
            return stop, done, len(drawn)
    raise AssertionError("the last look decides")


def is_blocked(case: Case, rng: np.random.Generator) -> bool:
    """Return whether one run finds any comparison worse."""
    level = ALPHA / (case.others + 1)
    test = SequentialTest(case.fixtures, case.samples, level, ALPHA, 0.05)
    shape = case.fixtures, case.samples
    swaps = rng.choice(np.array([-1, 1], dtype=np.int8), size=(case.fixtures, 1))
    ends: dict[int, tuple[Differences, tuple[Stop, int, int]]] = {}
    for number in range(case.others + 1):
        chance = case.others_change if number else case.changes
        drawn = (swaps * (rng.random(shape) < chance)).astype(np.int8)
        if not number:
            drawn[: case.broken] = 1
        ends[number] = drawn, _run(test, drawn)

    def rejects(number: int, level: float) -> bool:
        drawn, (_, rounds, pairs) = ends[number]
        return test.evaluate(drawn[:, :rounds], drawn[:pairs, 0], level).regressed

    def attainable(number: int) -> float:
        drawn, (stop, rounds, pairs) = ends[number]
        shown: NDArray[Any] = drawn[:, :rounds] if rounds else drawn[:pairs, :1]
        changed = int((shown != 0).any(axis=1).sum())
        return test.attainable(drawn[:, :rounds], changed, stop)

    smallest = {number: attainable(number) for number in ends} if case.tarone else {}
    levels = holm_levels(dict.fromkeys(ends, ALPHA), rejects, attainable=smallest)
    return any(rejects(number, levels[number]) for number in ends)


def count(case: Case, runs: int, seed: int) -> int:
    """Return in how many runs a comparison was found worse."""
    rng = np.random.default_rng([seed, CASES.index(case)])
    return sum(is_blocked(case, rng) for _ in range(runs))


def table(found: Mapping[Case, int], runs: int, seed: int) -> str:
    """Return the tables of the page."""
    lines = [
        f"Each entry has {runs:,} runs with seed {seed}. {precision(runs)}",
        "",
        "| fixtures | samples | other comparisons | their fixtures that change | harmless change "
        "blocked |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {c.fixtures} | {c.samples} | {c.others} | {c.others_change:.0%} | "
        f"{share(found[c], runs)} |"
        for c in _NULLS
        if c in found
    ]
    lines += [
        "",
        "| broken fixtures of 12 | fixtures of 20 other comparisons that change | found by Holm "
        "alone | found with Tarone |",
        "|---|---|---|---|",
    ]
    for alone, tarone in zip(_FOUND[::2], _FOUND[1::2], strict=True):
        if alone in found and tarone in found:
            lines.append(
                f"| {alone.broken} | {alone.others_change:.0%} | {share(found[alone], runs)} | "
                f"{share(found[tarone], runs)} |"
            )
    return "\n".join(lines) + "\n"


def broken_promises(found: Mapping[Case, int], runs: int) -> list[str]:
    """Return what is blocked more often than alpha allows."""
    return [
        f"{case}: blocked {happened} of {runs}"
        for case, happened in found.items()
        if not case.broken and wilson(happened, runs, 0.999).low > ALPHA
    ]


SIMULATION = CountedCases(CASES, count, table, broken_promises, BEGIN, END)

if __name__ == "__main__":
    sys.exit(SIMULATION.main(400))
