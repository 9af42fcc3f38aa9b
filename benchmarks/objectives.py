"""Simulates how often objectives and freezes are decided correctly, next to the former method.

    python -m benchmarks.objectives [--runs 2000] [--seed 1] [--write benchmarks/error-rates.md]

Prints the tables, or writes them between the markers of a page. Ends with exit status 1 where,
by more than the simulation's own error, an objective that is kept exactly is called met or missed
in more than 2.5 % of runs, or freezes in more than 5 % of windows, or where a freeze that issue 11
asks for comes too late.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.decisions.table import markdown_table, precision
from benchmarks.simulation_page import rate, show
from gatekeeper.stats.intervals.gaffke import proven_side
from gatekeeper.stats.intervals.intervals import UNSEEN, clustered_rate_interval, wilson
from gatekeeper.stats.objectives.error_budget import FREEZE_ERROR
from gatekeeper.stats.objectives.rate_boundary import Look, compare_nights

BEGIN, END = "<!-- bench-objectives:begin -->", "<!-- bench-objectives:end -->"
WINDOW = 28
"""Nights."""
WRONG = 0.025
FREEZE_COLUMNS = [
    "prompt",
    "within 7 nights",
    "within 14 nights",
    "within 28 nights",
    "within 28 nights, if a spent budget always froze",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Draw = Callable[[Generator, int, int], tuple[Ints, Ints]]


@dataclass(frozen=True)
class Suite:
    """Inputs whose samples pass with a mean rate of exactly the `target`. `draw` gives how many
    samples of each passed, and how many it has."""

    name: str
    target: float
    draw: Callable[[Generator], tuple[Ints, Ints]]


@dataclass(frozen=True)
class Amounts:
    """Costs or tokens of inputs with a known mean; `most` is their limit, if there is one."""

    name: str
    inputs: int
    mean: float
    draw: Callable[[Generator, int], Floats]
    most: float | None = None


@dataclass(frozen=True)
class Nights:
    """A prompt that fails at `rate` where `allowed` may, with so many samples a night. `draw` gives
    how many failed and how many there were, for each of so many windows and nights."""

    name: str
    allowed: float
    rate: float
    draw: Draw


def rare(inputs: int, samples: int, share: float, target: float) -> Suite:
    """A few inputs always fail, the others so seldom that the target is kept."""

    def draw(rng: Generator) -> tuple[Ints, Ints]:
        rates = np.where(rng.random(inputs) < share, 0.0, target / (1 - share))
        return rng.binomial(samples, rates), np.full(inputs, samples)

    name = f"{share * 100:g} % of inputs always fail, {inputs} inputs x {samples} samples"
    return Suite(name, target, draw)


def mixed(inputs: int, samples: int, target: float) -> Suite:
    """Easy and hard inputs."""

    def draw(rng: Generator) -> tuple[Ints, Ints]:
        rates = rng.beta(5 * target, 5 * (1 - target), inputs)
        return rng.binomial(samples, rates), np.full(inputs, samples)

    return Suite(f"easy and hard inputs, {inputs} inputs x {samples} samples", target, draw)


def copied(inputs: int, copies: int, of: int, target: float) -> Suite:
    """Some inputs stand in several fixtures, at temperature 0."""

    def draw(rng: Generator) -> tuple[Ints, Ints]:
        sizes = np.where(np.arange(inputs) < of, copies, 1)
        return np.where(rng.random(inputs) < target, sizes, 0), sizes

    verb = "occurs" if of == 1 else "occur"
    return Suite(f"{of} of {inputs} inputs {verb} in {copies} fixtures each", target, draw)


def lognormal(inputs: int, sigma: float, most: float | None = None) -> Amounts:
    name = f"lognormal, sigma {sigma:g}"
    return Amounts(
        name, inputs, math.exp(sigma**2 / 2), lambda rng, n: rng.lognormal(0, sigma, n), most
    )


def rarely_dear(inputs: int, share: float, times: float, most: float | None = None) -> Amounts:
    def draw(rng: Generator, n: int) -> Floats:
        return np.where(rng.random(n) < share, times, 1.0) * rng.lognormal(-0.005, 0.1, n)

    name = f"{share * 100:g} % of inputs take {times:g} times as much"
    return Amounts(name, inputs, 1 + share * (times - 1), draw, most)


SUITES = (
    rare(100, 10, 0.009, 0.99),
    rare(100, 50, 0.005, 0.99),
    rare(50, 50, 0.005, 0.99),
    rare(50, 10, 0.04, 0.95),
    rare(20, 10, 0.05, 0.9),
    mixed(20, 10, 0.9),
    mixed(40, 3, 0.95),
    mixed(200, 10, 0.8),
    copied(60, 15, 3, 0.9),
    copied(100, 3, 30, 0.95),
    copied(40, 20, 1, 0.95),
)
AMOUNTS = (
    *(lognormal(n, sigma) for sigma in (0.5, 1.0, 2.0) for n in (10, 40)),
    lognormal(100, 0.5, 60.0),
    *(rarely_dear(n, share, times) for share, times in ((0.01, 50), (0.02, 20)) for n in (20, 100)),
    rarely_dear(100, 0.01, 50, 100.0),
)


def nights_alike(rate: float, samples: int, spread: float = 0.0) -> Draw:
    """Independent samples; half of the fixtures fail by `spread` more, half by so much less."""

    def draw(rng: Generator, windows: int, nights: int) -> tuple[Ints, Ints]:
        half = samples // 2
        failed = rng.binomial(half, rate + spread, (windows, nights))
        failed += rng.binomial(samples - half, rate - spread, (windows, nights))
        return failed, np.full((windows, nights), samples)

    return draw


def nights_that_vary(rate: float, samples: int, correlation: float) -> Draw:
    """Beta-binomial: every night has a rate of its own."""
    size = 1 / correlation - 1

    def draw(rng: Generator, windows: int, nights: int) -> tuple[Ints, Ints]:
        rates = rng.beta(rate * size, (1 - rate) * size, (windows, nights))
        return rng.binomial(samples, rates), np.full((windows, nights), samples)

    return draw


def families(rate: float, samples: int, size: int) -> Draw:
    """Fixtures of one family pass or fail together, and nobody declared it."""

    def draw(rng: Generator, windows: int, nights: int) -> tuple[Ints, Ints]:
        failed = size * rng.binomial(samples // size, rate, (windows, nights))
        return failed, np.full((windows, nights), samples)

    return draw


def cut(rate: float, samples: int, first: int, most: int) -> Draw:
    """A night with more than `most` failures among its first samples ends there."""

    def draw(rng: Generator, windows: int, nights: int) -> tuple[Ints, Ints]:
        failed = rng.binomial(first, rate, (windows, nights))
        more = rng.binomial(samples - first, rate, (windows, nights))
        ends = failed > most
        return np.where(ends, failed, failed + more), np.where(ends, first, samples)

    return draw


def uneven(rate: float, fewest: int, most: int) -> Draw:
    """Nights of any size."""

    def draw(rng: Generator, windows: int, nights: int) -> tuple[Ints, Ints]:
        sizes = np.exp(rng.uniform(math.log(fewest), math.log(most), (windows, nights)))
        samples = sizes.astype(np.int64)
        return rng.binomial(samples, rate), samples

    return draw


TARGET_95 = 0.05
NIGHTS = (
    *(
        Nights(f"pass rate {(1 - r) * 100:g} %, objective 95 %", TARGET_95, r, nights_alike(r, 20))
        for r in (0.03, 0.05, 0.10, 0.20)
    ),
    Nights(
        "pass rate 95 %, objective 95 %, half of the fixtures pass 90 % and half pass 100 %",
        TARGET_95,
        0.05,
        nights_alike(0.05, 20, 0.05),
    ),
    *(
        Nights(
            f"pass rate 95 %, objective 95 %, nights differ by {points} points (sd)",
            TARGET_95,
            0.05,
            nights_that_vary(0.05, 20, rho),
        )
        for points, rho in ((3, 0.02), (5, 0.05), (7, 0.1))
    ),
    Nights(
        "pass rate 95 %, objective 95 %, families of 5 fixtures, not declared",
        TARGET_95,
        0.05,
        families(0.05, 20, 5),
    ),
    Nights(
        "pass rate 95 %, objective 95 %, 120 samples, a night with 6 failures among 40 ends",
        TARGET_95,
        0.05,
        cut(0.05, 120, 40, 5),
    ),
    Nights(
        "pass rate 95 %, objective 95 %, 5 to 200 samples a night",
        TARGET_95,
        0.05,
        uneven(0.05, 5, 200),
    ),
    Nights(
        "pass rate 99 %, objective 99 %, 100 samples a night", 0.01, 0.01, nights_alike(0.01, 100)
    ),
    Nights(
        "pass rate 98 %, objective 99 %, 100 samples a night", 0.01, 0.02, nights_alike(0.02, 100)
    ),
)


def frozen_nights(failed: Ints, samples: Ints, allowed: float) -> NDArray[np.bool_]:
    """Whether each window is frozen after each of its nights."""
    shares = failed / samples
    frozen = np.zeros(failed.shape, dtype=bool)
    for window, (share, number) in enumerate(zip(shares.tolist(), samples.tolist(), strict=True)):
        looks = [
            Look(1, failing, 1 / size, night / WINDOW)
            for night, (failing, size) in enumerate(zip(share, number, strict=True))
        ]
        over = np.cumsum(share) > allowed * np.arange(1, len(looks) + 1)
        for night in np.flatnonzero(over).tolist():
            found = compare_nights(looks[: night + 1], allowed, FREEZE_ERROR)
            frozen[window, night] = found is not None and found.frozen
    return frozen


def overspent_nights(failed: Ints, samples: Ints, allowed: float) -> NDArray[np.bool_]:
    """The same by the rule before: frozen where as many failed as the budget allows."""
    total = np.cumsum(failed, axis=1)
    return (total > 0) & (total >= allowed * np.cumsum(samples, axis=1) - 1e-9)


def evaluated(suite: Suite, rng: Generator) -> tuple[str | None, str | None]:
    """What a run says of an objective at its exact target, and what it said before."""
    passed, samples = suite.draw(rng)
    now = proven_side((passed / samples).tolist(), suite.target)
    found = clustered_rate_interval(passed.tolist(), samples.tolist())
    assert found is not None  # noqa: S101 - there are inputs
    return now, _side(found.low, found.high, suite.target)


def priced(amounts: Amounts, rng: Generator) -> tuple[str | None, str | None]:
    """The same of a mean: above it is missed, below it is met. Before, by Student's t."""
    from scipy.special import stdtrit

    drawn = amounts.draw(rng, amounts.inputs)
    largest = float(drawn.max())
    most = max(largest, UNSEEN * largest if amounts.most is None else amounts.most)
    now = proven_side((drawn / most).tolist(), min(1.0, amounts.mean / most))
    half = float(stdtrit(drawn.size - 1, 0.975)) * float(drawn.std(ddof=1)) / drawn.size**0.5
    return now, _side(float(drawn.mean()) - half, float(drawn.mean()) + half, amounts.mean)


def _side(low: float, high: float, target: float) -> str | None:
    return "above" if low >= target else "below" if high < target else None


def tables(seed: int, runs: int) -> tuple[str, list[str]]:
    """The tables, and the promises that are broken."""
    rng = np.random.default_rng(seed)
    broken: list[str] = []
    rates = [
        _verdict_row(
            s.name, f"{s.target * 100:g} %", partial(evaluated, s, rng), runs, broken, "above"
        )
        for s in SUITES
    ]
    means = [
        _verdict_row(
            f"{a.name}, {a.inputs} inputs",
            "none" if a.most is None else f"{a.most / a.mean:.0f} times the mean",
            partial(priced, a, rng),
            runs,
            broken,
            "below",
        )
        for a in AMOUNTS
    ]
    freezes = [_freeze_row(case, rng, runs, broken) for case in NIGHTS]
    text = "\n\n".join(
        (
            f"Each suite and each prompt has {runs:,} runs, with seed {seed}. {precision(runs)} "
            '"Met" and "missed" may each be wrong in up to 2.5 % of runs. Columns with the name of '
            "a method are the interval that Gatekeeper used before.",
            "**Rates exactly at their target**, in % of runs:",
            markdown_table(["suite", "target", *_decision_columns("Korn and Graubard")], rates),
            "**Costs or tokens whose mean is exactly the target**, in % of runs:",
            markdown_table(
                ["amounts", "limit of a call", *_decision_columns("Student's t")], means
            ),
            "**Prompts that are ever frozen**, in % of runs, with a run every night and a window "
            "of 28 days:",
            markdown_table(FREEZE_COLUMNS, freezes),
        )
    )
    return text, broken


def _decision_columns(method: str) -> list[str]:
    """Return the headings of wrong decisions, by gatekeeper and by another method."""
    return [
        "wrongly met",
        f"wrongly met, {method}",
        "wrongly missed",
        f"wrongly missed, {method}",
    ]


def _verdict_row(
    name: str,
    setting: str,
    run: Callable[[], tuple[str | None, str | None]],
    runs: int,
    broken: list[str],
    met: str,
) -> list[str]:
    found = [run() for _ in range(runs)]
    cells = []
    for side in (met, "below" if met == "above" else "above"):
        for which in (0, 1):
            wrong = sum(pair[which] == side for pair in found)
            cells.append(rate(wrong, runs))
            if which == 0 and wilson(wrong, runs, 0.99).low > WRONG:
                broken.append(f"{wrong} of {runs} runs are wrong about a side: {name}")
    return [name, setting, *cells]


def _freeze_row(case: Nights, rng: Generator, runs: int, broken: list[str]) -> list[str]:
    failed, samples = case.draw(rng, runs, WINDOW)
    frozen = frozen_nights(failed, samples, case.allowed)
    before = overspent_nights(failed, samples, case.allowed)
    ever = [int(frozen[:, :n].any(axis=1).sum()) for n in (7, 14, WINDOW)]
    if case.rate == case.allowed and wilson(ever[2], runs, 0.99).low > FREEZE_ERROR:
        broken.append(f"{ever[2]} of {runs} are frozen at the exact target: {case.name}")
    if case.rate == 2 * TARGET_95:
        for asked, found in ((0.45, ever[0]), (0.8, ever[1])):
            if wilson(found, runs, 0.99).high < asked:
                broken.append(f"{found} of {runs} are frozen in time: {case.name}")
    return [
        case.name,
        *(rate(count, runs) for count in ever),
        rate(int(before.any(axis=1).sum()), runs),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    return show(tables, BEGIN, END, 2000, arguments)


if __name__ == "__main__":
    sys.exit(main())
