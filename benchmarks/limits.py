"""How often is a limit on cost or latency exceeded by chance? A simulation at exactly the limit.

    python -m benchmarks.limits [--runs 2000] [--seed 1] [--write benchmarks/error-rates.md]

Prints the table, or writes it between the markers of a page. Ends with exit status 1 if a head that
takes exactly what the limit allows, input by input, is found to exceed it more often than the level
allows, or any other one in more than 5 % of runs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import binom

from benchmarks.decisions.table import markdown_table, precision
from benchmarks.simulation_page import rate, show
from gatekeeper import numbers
from gatekeeper.stats.intervals.relative_change import relative_change, rise_beyond

BEGIN, END = "<!-- bench-limits:begin -->", "<!-- bench-limits:end -->"
LIMIT = 0.25
LEVEL = 0.005
"""One limit of a contract that is evaluated alone, at an alpha of 5 %."""
WORST = 0.05
RISES = (0.6, 1.0)
SPREAD = 0.5
"""How unlike inputs are: sigma of a lognormal."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """Calls whose mean or quantile rises by a known share. `base` and `head` are the sigmas of the
    calls of one input; `tail` is the share of calls that take eight times as much. `base_tail` is
    the share of base's calls that take ten times as much, where inputs are alike. `by_input` says
    that each input has a rise of its own, and its calls are all alike."""

    name: str
    inputs: int
    samples: int
    quantile: float | None
    base: float = 0.4
    head: float = 0.4
    tail: float = 0.0
    base_tail: float = 0.0
    by_input: bool = False

    @property
    def is_alike(self) -> bool:
        """Whether both arms have the same distribution but for the rise."""
        return self.base == self.head and not self.by_input and not self.base_tail

    def draw(self, rng: Generator, rise: float) -> tuple[Floats, Floats]:
        shape = (self.inputs, self.samples)
        level = rng.lognormal(0, SPREAD, (self.inputs, 1))
        if self.by_input:
            own = rng.gamma(1.0, 1.0, (self.inputs, 1))
            return np.broadcast_to(level, shape), np.broadcast_to(level * own * (1 + rise), shape)
        base, head = (self._calls(rng, sigma, shape) for sigma in (self.base, self.head))
        dear = np.where(rng.random(shape) < self.base_tail, 10.0, 1.0)
        own = level if not self.base_tail else np.ones_like(level)
        return own * base * dear, own * head * (1 + rise) * self._balance()

    def _calls(self, rng: Generator, sigma: float, shape: tuple[int, int]) -> Floats:
        long = np.where(rng.random(shape) < self.tail, 8.0, 1.0)
        calls: Floats = rng.lognormal(0, sigma, shape) * long
        return calls

    def _balance(self) -> float:
        """What gives arms of unlike scatter the same mean or the same quantile."""
        if self.quantile is None:
            return math.exp((self.base**2 - self.head**2) / 2) * (1 + 9 * self.base_tail)
        both = (math.hypot(SPREAD, sigma) for sigma in (self.base, self.head))
        before, after = both
        return math.exp(float(ndtri(self.quantile)) * (before - after))


def _worlds(label: str, quantile: float | None, inputs: int, more: int) -> list[World]:
    return [
        World(f"{label}, base and head alike", inputs, 1, quantile),
        World(f"{label}, base and head alike", inputs, 5, quantile),
        World(f"{label}, base and head alike", more, 1, quantile),
        World(
            f"{label}, 5 % of calls take 8 times the usual amount", inputs, 1, quantile, tail=0.05
        ),
        World(f"{label}, head varies more than base", inputs, 1, quantile, 0.3, 0.8),
        World(f"{label}, head varies less than base", inputs, 1, quantile, 0.8, 0.3),
    ]


WORLDS = (
    *_worlds("mean", None, 20, 60),
    World("mean, head varies less than base", 60, 1, None, 0.8, 0.3),
    World("mean, base varies with sigma 1.2, head with 0.2", 20, 1, None, 1.2, 0.2),
    World(
        "mean, 5 % of base's calls take 10 times as much, head always the same",
        20,
        1,
        None,
        0.1,
        0.0,
        base_tail=0.05,
    ),
    World("mean, each input with its own rise", 20, 1, None, by_input=True),
    *_worlds("p50", 0.5, 20, 60),
    *_worlds("p95", 0.95, 40, 100),
    World("p95, head varies less than base", 100, 1, 0.95, 0.8, 0.3),
)


def table(seed: int, runs: int, worlds: Sequence[World] = WORLDS) -> tuple[str, list[str]]:
    """The table, and the promises that are broken."""
    rng = np.random.default_rng(seed)
    broken: list[str] = []
    rows = []
    for world in worlds:
        wrong = _exceeded(world, LIMIT, rng, runs)
        if binom.sf(wrong - 1, runs, LEVEL if world.is_alike else WORST) < 0.0005:
            broken.append(f"{wrong} of {runs} runs exceed the limit by chance: {world}")
        fewer = max(1, runs // 5)
        rows.append(
            [
                world.name,
                f"{world.inputs} inputs x {numbers.count(world.samples, 'sample')}",
                rate(wrong, runs),
                rate(_bootstrap_alone(world, rng, fewer), fewer),
                *(rate(_exceeded(world, rise, rng, fewer), fewer) for rise in RISES),
            ]
        )
    text = (
        f'Each row has {runs:,} runs for the column "wrongly exceeded", and '
        f"{max(1, runs // 5):,} runs for each other column, with seed {seed}. The limit is "
        f"+{LIMIT * 100:g} %, and the level of the test is {LEVEL * 100:g} %. Figures are % of "
        f"runs. {precision(runs)}\n\n"
    )
    head = [
        "what is limited",
        "inputs x samples",
        "wrongly exceeded",
        "wrongly exceeded, bootstrap alone",
    ]
    found = [f"found at an increase of +{rise * 100:g} %" for rise in RISES]
    return text + markdown_table([*head, *found], rows), broken


def _exceeded(world: World, rise: float, rng: Generator, runs: int) -> int:
    found = 0
    for _ in range(runs):
        base, head = world.draw(rng, rise)
        rose = rise_beyond(LIMIT, base.tolist(), head.tolist(), LEVEL, rng, world.quantile)
        found += rose is not None and rose.exceeds
    return found


def _bootstrap_alone(world: World, rng: Generator, runs: int) -> int:
    found = 0
    for _ in range(runs):
        base, head = (arm.tolist() for arm in world.draw(rng, LIMIT))
        change = relative_change(base, head, 1 - 2 * LEVEL, rng, world.quantile, 2000)
        found += change is not None and change.interval is not None and change.interval.low > LIMIT
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    return show(table, BEGIN, END, 2000, arguments)


if __name__ == "__main__":
    sys.exit(main())
