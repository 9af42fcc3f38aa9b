"""The situations in which a gate must neither cry wolf nor sleep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from benchmarks.decisions.stream import Bools, Floats, Ints, Stream

FIXTURES = 100
ROUNDS = 10
ALPHA = 0.05
"""What a contract promises; where several are evaluated at once, they share it."""
MARGIN = 0.05
"""The drop that head is allowed: "not worse" claims that it is smaller."""
SUITES = ((20, 0.32), (50, 0.15), (200, 0.05))
"""Numbers of fixtures, each with a margin that so many can show."""

Truth = Literal["null", "effect", "margin"]
"""Head is no worse; it is worse; it is worse by exactly the margin."""

Draw = Callable[[Generator, int], Stream]
"""Draws that many runs."""


@dataclass(frozen=True)
class Scenario:
    name: str
    truth: Truth
    draw: Draw
    contracts: int = 1
    """So many are evaluated at once; each is one row of the stream."""
    margin: float = MARGIN


def steady(base: float, head: float, fixtures: int = FIXTURES, rounds: int = ROUNDS) -> Draw:
    """Every fixture passes at one rate."""

    def draw(rng: Generator, runs: int) -> Stream:
        shape = (runs, fixtures, rounds)
        return _stream(_passes(rng, base, shape), _passes(rng, head, shape))

    return draw


def mixed_effects(base: float = 0.7, share: float = 0.3, step: float = 0.25) -> Draw:
    """Some fixtures get better and as many worse; over inputs it evens out."""

    def draw(rng: Generator, runs: int) -> Stream:
        return _mixed(rng, runs, np.ones(FIXTURES, int), base, share, step)

    return draw


def copied_mixed_effects(copies: float = 0.3) -> Draw:
    """The same, where some fixtures are copies of others and share their effect."""

    def draw(rng: Generator, runs: int) -> Stream:
        return _mixed(rng, runs, _sizes_with_copies(rng, copies), 0.7, 0.3, 0.25)

    return draw


def temperature_zero(base: float = 0.95, flips: float = 0.08, copies: float = 0.0) -> Draw:
    """Asked again, a model answers the same; copies of an input get the same answer, too."""

    def draw(rng: Generator, runs: int) -> Stream:
        sizes = _sizes_with_copies(rng, copies)
        shape = (runs, sizes.size, 1)
        before = _passes(rng, base, shape)
        flipped = _passes(rng, flips, shape)
        broke = _passes(rng, 0.5, shape)
        base_passes = np.where(flipped, broke, before)
        head_passes = np.where(flipped, ~broke, before)
        return _stream(_repeated(base_passes, sizes), _repeated(head_passes, sizes), sizes)

    return draw


def drifting(first: float = 0.95, last: float = 0.6) -> Draw:
    """The provider gets worse while the run goes on, and both arms with it."""

    def draw(rng: Generator, runs: int) -> Stream:
        in_order = np.linspace(first, last, FIXTURES * ROUNDS, dtype=np.float32)
        rates = in_order.reshape(ROUNDS, FIXTURES).T
        shape = (runs, FIXTURES, ROUNDS)
        return _stream(_passes(rng, rates, shape), _passes(rng, rates, shape))

    return draw


def failing_calls(base: float = 0.95, failing: float = 0.05) -> Draw:
    """Some calls of either arm get no answer, so fixtures have unequal numbers of pairs."""

    def draw(rng: Generator, runs: int) -> Stream:
        shape = (runs, FIXTURES, ROUNDS)
        return Stream(
            _passes(rng, base, shape),
            _passes(rng, base, shape),
            base_answered=_passes(rng, 1 - failing, shape),
            head_answered=_passes(rng, 1 - failing, shape),
            sizes=np.ones(FIXTURES, int),
        )

    return draw


def broken(
    share: float,
    base: float = 0.95,
    fixtures: int = FIXTURES,
    kept: float | None = None,
    rounds: int = ROUNDS,
) -> Draw:
    """Head never passes on some fixtures, each with probability `share`; the rest is as before.
    Where something is `kept`, they pass that much of the times they did."""

    def draw(rng: Generator, runs: int) -> Stream:
        shape = (runs, fixtures, rounds)
        whole = ~_passes(rng, share, (runs, fixtures, 1))
        before, after = _passes(rng, base, shape), _passes(rng, base, shape)
        spared = whole if kept is None else whole | _passes(rng, kept, shape)
        return _stream(before, after & spared)

    return draw


def at_margin(fixtures: int, margin: float, base: float, kept: float | None) -> Scenario:
    """So many fixtures broken, outright or by half, that the mean drop is the margin."""
    share = margin / (base * (1 - (kept or 0.0)))
    how = "broken outright" if kept is None else "broken by half"
    name = f"{fixtures} fixtures, {share * 100:.0f} % of them {how}, base pass rate {base:g}"
    return Scenario(name, "margin", broken(share, base, fixtures, kept), margin=margin)


def _mixed(
    rng: Generator, runs: int, sizes: Ints, base: float, share: float, step: float
) -> Stream:
    per_input = (runs, sizes.size, 1)
    moved = _passes(rng, share, per_input)
    up = _passes(rng, 0.5, per_input)
    effect = np.where(moved, np.where(up, step, -step), 0.0).astype(np.float32)
    rates = base + np.repeat(effect, sizes, axis=1)
    shape = (runs, int(sizes.sum()), ROUNDS)
    return _stream(_passes(rng, base, shape), _passes(rng, rates, shape), sizes)


def _passes(rng: Generator, rate: float | Floats, shape: tuple[int, ...]) -> Bools:
    return rng.random(shape, dtype=np.float32) < rate


def _repeated(once: Bools, sizes: Ints) -> Bools:
    return np.repeat(np.repeat(once, sizes, axis=1), ROUNDS, axis=2)


def _sizes_with_copies(rng: Generator, share: float) -> Ints:
    """How often each input stands in a suite of which `share` are copies of the others."""
    copies = round(share * FIXTURES)
    inputs = FIXTURES - copies
    return 1 + np.bincount(rng.integers(inputs, size=copies), minlength=inputs)


def _stream(base: Bools, head: Bools, sizes: Ints | None = None) -> Stream:
    """Every call answers; without `sizes` no fixture is a copy."""
    answered = np.ones_like(base)
    each = np.ones(base.shape[1], int) if sizes is None else sizes
    return Stream(base, head, answered, answered, each)


SCENARIOS: tuple[Scenario, ...] = (
    Scenario("identical prompts", "null", steady(0.95, 0.95)),
    Scenario("effects differ by fixture, mean effect zero", "null", mixed_effects()),
    Scenario("temperature 0, 8 % of fixtures change their outcome", "null", temperature_zero()),
    Scenario("30 % of fixtures are copies, temperature 0", "null", temperature_zero(copies=0.3)),
    Scenario(
        "30 % of fixtures are copies, effects differ by input", "null", copied_mixed_effects()
    ),
    *(
        Scenario(f"base pass rate {rate:g}", "null", steady(rate, rate))
        for rate in (0.5, 0.9, 0.99, 1.0)
    ),
    *(Scenario(f"{n} fixtures", "null", steady(0.95, 0.95, fixtures=n)) for n in (10, 50, 200)),
    Scenario("provider drifts from 0.95 to 0.6", "null", drifting()),
    Scenario("1 % of calls fail", "null", failing_calls(failing=0.01)),
    Scenario("5 % of calls fail", "null", failing_calls()),
    Scenario("8 contracts at once, at least one blocked", "null", steady(0.95, 0.95), contracts=8),
    *(
        Scenario(f"{name} fixtures broken outright", "effect", broken(share))
        for name, share in (
            ("all", 1.0),
            ("50 % of", 0.5),
            ("20 % of", 0.2),
            ("10 % of", 0.1),
            ("5 % of", 0.05),
        )
    ),
    Scenario(
        "pass rate of every fixture 0.1 lower, 50 fixtures x 5 samples",
        "effect",
        steady(0.95, 0.85, fixtures=50, rounds=5),
    ),
    Scenario("pass rate of every fixture 0.05 lower", "margin", steady(0.95, 0.95 - MARGIN)),
    Scenario("5 % of fixtures broken, base pass rate 1", "margin", broken(MARGIN, base=1.0)),
    *(
        at_margin(fixtures, margin, base, kept)
        for fixtures, margin in SUITES
        for base in (1.0, 0.95)
        for kept in (None, 0.5)
    ),
)
