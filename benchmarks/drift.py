"""Does the drift test cry wolf, and how many nights does it need? A simulation.

    python -m benchmarks.drift [--runs 400] [--seed 1] [--write benchmarks/error-rates.md]

Prints the tables, or writes them between the markers of a page. Ends with exit status 1 where
the test finds a change in more years than ALPHA although nothing changed, or the control
chart gives more than ALARMS_A_YEAR false alarms, by more than the simulation's own error.
"""

from __future__ import annotations

import os

# Before numpy is loaded: the processes share the processors out already.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import multiprocessing
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.decisions.table import markdown_table, precision, write_between_markers
from benchmarks.simulation_page import rate
from gatekeeper.stats.intervals.intervals import wilson
from gatekeeper.stats.nights.control_chart import ControlPoint
from gatekeeper.stats.nights.drift import ALPHA, Night, find_drift

BEGIN, END = "<!-- bench-drift:begin -->", "<!-- bench-drift:end -->"
YEAR = 365
BEFORE, AFTER = 30, 60
"""Nights before a drop, and nights in which it may be found."""
DROPS = (0.05, 0.1, 0.2, 0.5)
ALARMS_A_YEAR = 2.0
"""The chart promises one for normal scores; pass rates are not quite normal."""

Floats = NDArray[np.float64]


def one_like_the_other(_: Generator) -> float:
    return 1.0


@dataclass(frozen=True)
class Setting:
    """How a suite behaves from night to night. `rates` draws the chance of each fixture to pass,
    `tonight` what all of them are multiplied by."""

    name: str
    rates: Callable[[Generator, int], Floats]
    tonight: Callable[[Generator], float] = one_like_the_other
    fixtures: int = 100
    samples: int = 1
    failing: float = 0.0
    """The share of calls that get no answer."""
    memory: float = 0.0
    """How much the quality of a night, with a standard deviation of 3 %, correlates with that of
    the night before. If 0, the quality does not change."""


def always_the_same(rng: Generator, fixtures: int) -> Floats:
    return (rng.random(fixtures) < 0.9).astype(float)


def few_undecided(rng: Generator, fixtures: int) -> Floats:
    rates = always_the_same(rng, fixtures)
    rates[: fixtures // 20] = 0.5
    return rates


def easy_and_hard(rng: Generator, fixtures: int) -> Floats:
    return rng.beta(4.5, 0.5, fixtures)


def nearly_perfect(_: Generator, fixtures: int) -> Floats:
    return np.full(fixtures, 0.985)


def shared_noise(rng: Generator) -> float:
    return float(rng.uniform(0.85, 1))


def one_bad_in_fifty(rng: Generator) -> float:
    return 0.7 if rng.random() < 0.02 else 1.0


TEMPERATURE_0 = Setting("temperature 0", always_the_same)
FEW_UNDECIDED = Setting("temperature 0, 5 of 100 fixtures pass at random", few_undecided)
MIXED = Setting("easy and hard fixtures", easy_and_hard)
THREE = Setting("easy and hard fixtures, 3 samples of each", easy_and_hard, samples=3)
SMALL = Setting("easy and hard fixtures, 10 in all", easy_and_hard, fixtures=10)
PERFECT = Setting("every fixture passes at 98.5 %", nearly_perfect)
FAILING = Setting("easy and hard fixtures, 5 % of calls fail", easy_and_hard, failing=0.05)
NOISY = Setting("easy and hard fixtures, whole nights are good or bad", easy_and_hard, shared_noise)
BAD_NIGHTS = Setting(
    "easy and hard fixtures, one night in 50 is 30 % worse", easy_and_hard, one_bad_in_fifty
)

DEPENDENT = tuple(
    Setting(f"easy and hard fixtures, nights correlate by {memory}", easy_and_hard, memory=memory)
    for memory in (0.3, 0.7)
)
"""Outside of the promise: the nights are not exchangeable."""

QUIET = (TEMPERATURE_0, FEW_UNDECIDED, MIXED, THREE, SMALL, PERFECT, FAILING, NOISY, BAD_NIGHTS)
QUIET += DEPENDENT
DRIFTING = (TEMPERATURE_0, FEW_UNDECIDED, MIXED, THREE, NOISY)


def simulate_nights(
    setting: Setting, rng: Generator, nights: int, change: int | None = None, drop: float = 0.0
) -> list[Night]:
    """So many nights; from night `change` on so many fixtures never pass that the rate is lower
    by `drop`."""
    rates = setting.rates(rng, setting.fixtures)
    after = rates.copy()
    broken = round(drop * setting.fixtures / max(drop, rates.mean()))
    after[rng.permutation(setting.fixtures)[:broken]] = 0.0
    found = []
    quality = 0.0
    for night in range(nights):
        now = rates if change is None or night < change else after
        samples = setting.samples * (rng.random(setting.fixtures) >= setting.failing)
        if setting.memory:
            new = rng.normal(0, (1 - setting.memory**2) ** 0.5) if night else rng.normal()
            quality = setting.memory * quality + new
        tonight = setting.tonight(rng) * (1 + 0.03 * quality)
        passed = rng.binomial(samples, np.clip(now * tonight, 0, 1))
        found.append(Night(tuple(passed.tolist()), tuple(samples.tolist())))
    return found


def quiet_year(setting: Setting, seed: np.random.SeedSequence) -> tuple[bool, int]:
    """Whether the test found a change, and how often the chart began to signal."""
    found = find_drift(simulate_nights(setting, np.random.default_rng(seed), YEAR))
    signals = np.array([point is not None and point.signal for point in found.chart])
    return found.change is not None, int((signals[1:] & ~signals[:-1]).sum())


def delays(setting: Setting, drop: float, seed: np.random.SeedSequence) -> tuple[float, float]:
    """Nights with the drop until the test finds the drop and until the chart signals; infinite if
    they are not within AFTER nights. Alarms from before the drop are not counted."""
    rng = np.random.default_rng(seed)
    found = find_drift(simulate_nights(setting, rng, BEFORE + AFTER, BEFORE, drop))
    detected = found.change.detected - BEFORE + 1 if found.change else np.inf
    return (detected if detected > 0 else np.inf), _first_signal(found.chart[BEFORE:])


def _first_signal(points: Sequence[ControlPoint | None]) -> float:
    return next((i for i, p in enumerate(points, start=1) if p and p.signal), np.inf)


def main() -> int:
    arguments = _arguments()
    seeds = np.random.SeedSequence(arguments.seed).spawn(arguments.runs)
    with multiprocessing.get_context("spawn").Pool(arguments.processes) as pool:
        over_runs = partial(pool.map, iterable=seeds)
        quiet = {s: list(zip(*over_runs(partial(quiet_year, s)), strict=True)) for s in QUIET}
        drifts = {
            (s, drop): np.array(over_runs(partial(delays, s, drop)))
            for s in DRIFTING
            for drop in DROPS
        }
    text = tables(quiet, drifts, arguments.runs, arguments.seed)
    if arguments.write is None:
        print(text)
    else:
        write_between_markers(arguments.write, text, BEGIN, END)
    broken_promises = list(_broken_promises(quiet))
    print(*broken_promises, sep="\n")
    return 1 if broken_promises else 0


def _broken_promises(quiet: dict[Setting, list[Any]]) -> Iterator[str]:
    for setting, (wrong, alarms) in quiet.items():
        if setting in DEPENDENT:
            continue
        if wilson(sum(wrong), len(wrong), 0.99).low > ALPHA:
            yield f"a change found wrongly in {sum(wrong)} of {len(wrong)}: {setting.name}"
        most = ALARMS_A_YEAR * len(alarms)
        if setting is not BAD_NIGHTS and sum(alarms) > most + 3 * most**0.5:
            yield f"{sum(alarms)} false alarms in {len(alarms)} years: {setting.name}"


def tables(
    quiet: dict[Setting, list[Any]],
    drifts: dict[tuple[Setting, float], Floats],
    runs: int,
    seed: int,
) -> str:
    quiet_rows = (
        [s.name, rate(sum(wrong), len(wrong)), f"{np.mean(alarms):.2f}"]
        for s, (wrong, alarms) in quiet.items()
    )
    return "\n\n".join(
        (
            f"Each row has {runs:,} runs with seed {seed}. {precision(runs)}",
            "Years of nights in which **nothing changes**:",
            markdown_table(
                ["setting", "change test wrong, % of years", "alarms of the control chart a year"],
                quiet_rows,
            ),
            f"**The pass rate drops** after {BEFORE} nights. Nights until the change test finds it "
            "/ until the control chart gives an alarm, the first with the drop being night 1: the "
            f"median, and in brackets the 90th percentile. The sign – is more than {AFTER} nights.",
            markdown_table(
                ["setting", *(f"{drop * 100:.0f} points" for drop in DROPS)],
                _delay_rows(drifts),
            ),
        )
    )


def _delay_rows(drifts: Mapping[tuple[Setting, float], Floats]) -> Iterator[list[str]]:
    for setting in dict.fromkeys(setting for setting, _ in drifts):
        found = (drifts[setting, drop] for drop in DROPS)
        yield [setting.name, *(" / ".join(map(_delay, each.T)) for each in found)]


def _delay(nights: Floats) -> str:
    median, most = (np.quantile(nights, q, method="inverted_cdf") for q in (0.5, 0.9))
    shown = [f"{delay:.0f}" if np.isfinite(delay) else "–" for delay in (median, most)]
    return f"{shown[0]} ({shown[1]})"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
