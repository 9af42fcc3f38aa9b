"""Are fixtures that broke found, is a harmless change spared, and what do the fresh samples cost?

    python -m benchmarks.broken_fixtures [--runs 250] [--seed 1] [--write benchmarks/error-rates.md]

Every run is decided twice with the same samples. Before: by the comparison of the suite alone, with
all of alpha, 0.4 of it in the first round, and no end for futility. Now: as by default, where fresh
samples of single fixtures confirm what seems broken (confirmation.py). Prints the tables, or
writes them between the markers of a page. Ends with exit status 1 if a promise is broken.
"""

from __future__ import annotations

import os

# Before numpy is loaded: the processes share the processors out already.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import get_context
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import binom

from benchmarks.decisions.table import markdown_table, precision
from benchmarks.simulation_page import rate, show
from gatekeeper.contract.changes.affected import AffectedContract
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.definition import (
    CheckSpec,
    Contract,
    Fixture,
    GatePolicy,
    MessageTemplate,
    Prompt,
    SamplingPolicy,
    Target,
)
from gatekeeper.contract.values.trial import Outcome, Trial
from gatekeeper.gate.plan.alpha import FIXTURES
from gatekeeper.gate.plan.plan import Job, plan_job
from gatekeeper.gate.selftest import against_itself, ending, made_up, play
from gatekeeper.stats.paired import sequential
from gatekeeper.stats.paired.sequential import SequentialTest

BEGIN, END = "<!-- bench-broken-fixtures:begin -->", "<!-- bench-broken-fixtures:end -->"
ALPHA, MARGIN = 0.05, 0.05
FOUND = 0.95
"""How often fixtures that broke outright are found at least, in a suite that rarely flickers."""
LOST = 0.025
"""How much less often a drop of all inputs may be found than before."""
DOUBT = 0.0005
"""A promise counts as broken if a row as bad as this would be rarer."""
Rates = NDArray[np.float64]
Differences = NDArray[np.int8]
Passes = NDArray[np.int8]
"""1 for each sample that passes: by arm (base, head), fixture and round."""
Change = Callable[[Generator, int], tuple[Rates, Rates]]
"""Draws the pass rates of so many fixtures on base and on head."""


@dataclass(frozen=True)
class Suite:
    fixtures: int
    samples: int
    contracts: int = 1

    def __str__(self) -> str:
        shape = f"{self.fixtures} × {self.samples}"
        return shape if self.contracts == 1 else f"{self.contracts} contracts of {shape}"


@dataclass(frozen=True)
class Case:
    """A change of a suite, by its name in `CHANGES`; of `broken` fixtures, head's pass rate falls
    from 1 to `left`."""

    suite: Suite
    change: str
    broken: int = 0
    left: float = 0.0


class Decided(NamedTuple):
    """Whether a run was blocked, and how many single calls it made, before and now."""

    blocked_before: int
    calls_before: int
    blocked: int
    calls: int


@dataclass(frozen=True)
class Promise:
    """Fixtures that must pass, samples of each on each arm, and their pass rate on both arms."""

    fixtures: int
    samples: int
    passing: float


def _alike(passing: float) -> Change:
    def draw(_: Generator, fixtures: int) -> tuple[Rates, Rates]:
        rates = np.full(fixtures, passing)
        return rates, rates.copy()

    return draw


def _heterogeneous(rng: Generator, fixtures: int) -> tuple[Rates, Rates]:
    rates = np.where(rng.random(fixtures) < 0.05, 0.0, rng.beta(4, 0.6, fixtures))
    return rates, rates.copy()


def _flickering(rng: Generator, fixtures: int) -> tuple[Rates, Rates]:
    rates = np.where(rng.random(fixtures) < 0.3, 0.5, 0.97)
    return rates, rates.copy()


def _temperature_zero(rng: Generator, fixtures: int) -> tuple[Rates, Rates]:
    flipped, before = rng.random(fixtures) < 0.1, rng.random(fixtures) < 0.95
    broke = rng.random(fixtures) < 0.5
    base, head = np.where(flipped, broke, before), np.where(flipped, ~broke, before)
    return base.astype(float), head.astype(float)


def _symmetric(rng: Generator, fixtures: int) -> tuple[Rates, Rates]:
    step = rng.choice([-0.25, 0.25, 0.0], fixtures, p=[0.15, 0.15, 0.7])
    return np.full(fixtures, 0.7), 0.7 + step


def _few_fall(_: Generator, fixtures: int) -> tuple[Rates, Rates]:
    head = np.full(fixtures, 0.95)
    head[: max(1, fixtures // 10)] = 0.45
    return np.full(fixtures, 0.9), head


def _few_rise(rng: Generator, fixtures: int) -> tuple[Rates, Rates]:
    few = rng.random(fixtures) < 0.05
    return np.where(few, 0.05, 0.95), np.where(few, 0.95, 0.95 - 0.9 * 0.05 / 0.95)


def _shifted(step: float) -> Change:
    def draw(_: Generator, fixtures: int) -> tuple[Rates, Rates]:
        return np.full(fixtures, 0.95), np.full(fixtures, 0.95 + step)

    return draw


def _share_fails(share: float) -> Change:
    def draw(_: Generator, fixtures: int) -> tuple[Rates, Rates]:
        head = np.full(fixtures, 0.95)
        head[: round(share * fixtures)] = 0.0
        return np.full(fixtures, 0.95), head

    return draw


SPREAD: dict[str, Change] = {
    "+5 points": _shifted(0.05),
    "-2 points": _shifted(-0.02),
    "-5 points": _shifted(-0.05),
    "-10 points": _shifted(-0.1),
    "-20 points": _shifted(-0.2),
    "10 % fail": _share_fails(0.1),
    "20 % fail": _share_fails(0.2),
}
"""What a change does to all inputs, or to a share of them."""
CHANGES: dict[str, Change] = {
    "every fixture passes in 95 %": _alike(0.95),
    "every fixture passes in 80 %": _alike(0.8),
    "pass rates differ, 5 % of fixtures always fail": _heterogeneous,
    "30 % of fixtures pass in half of their samples": _flickering,
    "the same, and the provider's quality wanders": _flickering,
    "temperature 0, 10 % of fixtures change their outcome": _temperature_zero,
    "15 % of fixtures fall by 25 points, 15 % rise by 25": _symmetric,
    "10 % of fixtures fall by 45 points, all others rise by 5": _few_fall,
}
USUAL, *_OTHERS, WANDERING, DETERMINISTIC, EVEN, FEW = CHANGES
MOST = "5 % of inputs rise by 90 points, all others fall by 5"
"""Most inputs get worse, so it is outside of what the comparison of the suite promises."""
_DRAWN = CHANGES | SPREAD | {MOST: _few_rise}

BROKEN_SUITES = [Suite(f, n) for f in (20, 40, 100) for n in (1, 2, 3, 10)]
NULL_SUITES = (
    Suite(20, 1), Suite(20, 10), Suite(40, 2), Suite(50, 10), Suite(100, 1), Suite(100, 10),
)  # fmt: skip
_NULLS = [USUAL, *_OTHERS, WANDERING, DETERMINISTIC]
HARMLESS = [
    *(Case(suite, change) for change in _NULLS for suite in NULL_SUITES),
    *(
        Case(Suite(20, 3, contracts=5), change)
        for change in (USUAL, "30 % of fixtures pass in half of their samples")
    ),
]
EVENED_OUT = [Case(suite, change) for change in (EVEN, FEW) for suite in NULL_SUITES]
MOST_FALL = [Case(suite, MOST) for suite in NULL_SUITES]
OUTRIGHT, IN_PART = (
    [[Case(suite, USUAL, k, left) for k in range(1, 6)] for suite in BROKEN_SUITES]
    for left in (0.0, 0.5)
)
AMONG_FLICKERING = [
    [Case(suite, _OTHERS[-1], k) for k in range(1, 6)] for suite in BROKEN_SUITES[1::3]
]
SPREAD_SUITES = (
    Suite(20, 5), Suite(20, 10), Suite(50, 10), Suite(40, 25), Suite(100, 10), Suite(100, 1),
    Suite(300, 1), Suite(30, 3), Suite(40, 2),
)  # fmt: skip
SPREAD_OUT = [[Case(suite, change) for change in (USUAL, *SPREAD)] for suite in SPREAD_SUITES]
_DROPS = [case for row in SPREAD_OUT for case in row if case.change.endswith("points")]
PROMISES = (
    Promise(1, 5, 0.9), Promise(5, 1, 0.9), Promise(5, 5, 0.9), Promise(40, 1, 0.97),
    Promise(20, 10, 0.7), Promise(20, 3, 0.5),
)  # fmt: skip


_INTRODUCTION = """\
Each entry has {runs:,} runs with seed {seed}. "a→b" is the comparison of the suite as it was →
the default. {precise}

**Runs blocked, %**, if a change affects all inputs, or a share of them. Every fixture passes in
95 % of its samples on base. Differences have a standard error of at most {error:.1f} points."""
_CALLS = "**Mean number of calls** in the same runs:"
_FOUND = """\
**Fixtures found that broke**, %, if 1 or 5 did. They always passed on base; all others pass in 95 %
of their samples. Calls are those for 1."""
_AMONG_FLICKERING = """\
**The same in a suite that flickers**: 30 % of the others pass in half of their samples."""
_HARMLESS = "**Harmless changes blocked**, %:"
_EVENED_OUT = """\
**A change evens out over all inputs, but single fixtures got worse**. The comparison of the suite
must not block it, unless most inputs get worse, as in the last row. The default may, because it
also makes a claim about each fixture. Blocked, %:"""
_PROMISED = """\
**Fixtures that must pass**, %. A harmless change counts as blocked if any of them blocks it. The
one that is found passed as often as the others on base, and never on head."""


def decide(case: Case, rng: Generator) -> Decided:
    """Decide one run, with the strictest of Holm's levels if there are several contracts."""
    each = [_contract(case, rng, ALPHA / case.suite.contracts) for _ in range(case.suite.contracts)]
    before, calls_before, after, calls = (sum(column) for column in zip(*each, strict=True))
    return Decided(min(1, before), calls_before, min(1, after), calls)


def _contract(case: Case, rng: Generator, alpha: float) -> Decided:
    suite = case.suite
    base, head = _DRAWN[case.change](rng, suite.fixtures)
    base[: case.broken], head[: case.broken] = 1.0, case.left
    order = rng.permutation(suite.fixtures)
    model = _Model(base[order], head[order], rng, wandering=case.change == WANDERING)
    passes = model.round(suite.samples)
    before, calls_before = _compared(suite, passes[0] - passes[1], alpha)
    temperature = 0 if case.change == DETERMINISTIC else 1
    job = _job(suite.fixtures, suite.samples, alpha, temperature)
    draw = _Draw(job, model, passes)
    blocked = ending(play(job, draw)) == "fail"
    return Decided(before, calls_before, blocked, draw.calls)


@lru_cache
def _job(
    fixtures: int, samples: int, alpha: float, temperature: int, *, must_pass: bool = False
) -> Job:
    """Return a contract's job, whose fixtures are in a random order, with the same prompt on both
    arms. If they `must_pass`, they are the only ones that are sampled again."""
    prompt = Prompt("prompt.txt", (MessageTemplate("user", "{{ id }}", 1),), "{{ id }}")
    contract = Contract(
        name="simulated",
        path="simulated.yaml",
        target=Target(prompt, "simulated", {"temperature": temperature}),
        fixtures=tuple(
            Fixture(str(number), {"id": str(number)}, must_pass=must_pass)
            for number in range(fixtures)
        ),
        checks=(CheckSpec("contains", "passes", {"value": "passes"}),),
        sampling=SamplingPolicy(samples=samples),
        gate=GatePolicy(alpha=alpha, margin=MARGIN, claim="inputs" if must_pass else "both"),
    )
    affected = AffectedContract(contract.name, contract.path, None, contract, (), True)
    job = against_itself(plan_job(affected, Policy(), "0" * 32))
    assert job is not None  # noqa: S101
    return job


class _Draw:
    """Draws the outcomes of one run by the gate's own code: those that are planned from `passes`,
    fresh ones from the model."""

    def __init__(self, job: Job, model: _Model, passes: Passes) -> None:
        self.calls = 0
        self._model = model
        self._passes = passes
        places = dict.fromkeys(trial.fixture for trial in job.trials)
        self._place = {fixture: place for place, fixture in enumerate(places)}

    def __call__(self, trial: Trial) -> Outcome:
        self.calls += 1
        arm, place = int(trial.arm == "head"), self._place[trial.fixture]
        if trial.confirms:
            return made_up(trial, passed=self._model.sample(arm, place))
        return _planned(_ById(trial), passed=bool(self._passes[arm][place, trial.repetition]))


class _ById:
    """A trial of a job that is kept, which is hashed by its identity: that is quick."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial

    def __hash__(self) -> int:
        return id(self.trial)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and self.trial is other.trial


@lru_cache(maxsize=100_000)
def _planned(trial: _ById, *, passed: bool) -> Outcome:
    return made_up(trial.trial, passed=passed)


def _compared(suite: Suite, drawn: Differences, alpha: float) -> tuple[bool, int]:
    """Return whether the comparison of the suite found head worse as it was before, and how many
    calls it took."""
    test = SequentialTest(suite.fixtures, suite.samples, alpha, ALPHA, MARGIN)
    with patch.object(sequential, "WALK_SHARE", 0.4):
        if early := test.after_pairs(drawn[:, 0], drawn[:, 0]):
            return early[0] == "regressed", 2 * early[1]
        for rounds in range(1, suite.samples + 1):
            seen = drawn[:, :rounds]
            if found := test.after_round(seen, seen):
                return found == "regressed", 2 * seen.size
    raise AssertionError("the last look decides")


class _Model:
    """Draws the differences of pairs. If it is `wandering`, its quality is a slow random walk on
    the scale of log odds (autoregressive, 0.97 from call to call, with standard deviation 1.2),
    and base or head goes first at random."""

    def __init__(self, base: Rates, head: Rates, rng: Generator, *, wandering: bool) -> None:
        self._rng = rng
        self._rates = base, head
        self._wandering = wandering
        self._quality = rng.normal(0, 1.2)

    def round(self, samples: int) -> Passes:
        """Return whether each sample passes: by arm, fixture and round."""
        fixtures = len(self._rates[0])
        if self._wandering:
            taken = [[self._pair(f) for f in range(fixtures)] for _ in range(samples)]
            return np.array(taken, dtype=np.int8).transpose(2, 1, 0)
        shape = fixtures, samples
        both = [self._rng.random(shape) < rates[:, None] for rates in self._rates]
        return np.array(both, dtype=np.int8)

    def sample(self, arm: int, fixture: int) -> bool:
        """Return whether one more sample passes."""
        return bool(self._rng.random() < self._rate(arm, fixture))

    def _pair(self, fixture: int) -> tuple[bool, bool]:
        arms = [0, 1] if self._rng.random() < 0.5 else [1, 0]
        passed = {arm: self.sample(arm, fixture) for arm in arms}
        return passed[0], passed[1]

    def _rate(self, arm: int, fixture: int) -> float:
        passing = float(self._rates[arm][fixture])
        if not self._wandering or passing in (0.0, 1.0):
            return passing
        self._quality = 0.97 * self._quality + self._rng.normal(0, 1.2 * (1 - 0.97**2) ** 0.5)
        odds = passing / (1 - passing) * np.exp(self._quality)
        return float(odds / (1 + odds))


@dataclass(frozen=True)
class Counted:
    """The sums over the runs of a case."""

    blocked_before: int
    calls_before: float
    blocked: int
    calls: float
    differ: int = 0
    """How many runs were blocked before or now, but not both."""

    def error(self, runs: int) -> float:
        """The standard error of the difference in the share of blocked runs."""
        mean = (self.blocked - self.blocked_before) / runs
        return float(np.sqrt(max(1 / runs, self.differ / runs - mean**2) / runs))


def count(number: int, case: Case, runs: int, seed: int) -> Counted:
    rng = np.random.default_rng([seed, number])
    decided = [decide(case, rng) for _ in range(runs)]
    before, calls_before, after, calls = np.array(decided).sum(axis=0).tolist()
    differ = sum(one.blocked_before != one.blocked for one in decided)
    return Counted(before, calls_before / runs, after, calls / runs, differ)


def keep(number: int, promise: Promise, runs: int, seed: int) -> tuple[int, int, float]:
    """Return how often fixtures that must pass block a harmless change, how often one of them that
    always fails on head is found, and the mean of the calls for fresh samples if nothing broke."""
    rng = np.random.default_rng([seed, number, 1])
    rates = np.full(promise.fixtures, promise.passing)
    broken = rates.copy()
    broken[0] = 0.0
    job = _job(promise.fixtures, promise.samples, ALPHA, 1, must_pass=True)
    wrong = found = fresh = 0
    for _ in range(runs):
        for head in (rates, broken):
            model = _Model(rates, head, rng, wandering=False)
            monitor = play(job, _Draw(job, model, model.round(promise.samples)))
            broke = monitor.broken is not None and bool(monitor.broken.fixtures("broke"))
            if head is rates:
                wrong, fresh = wrong + broke, fresh + len(monitor.fresh)
            else:
                found += broke or monitor.regressed
    return wrong, found, fresh / runs


def table(seed: int, runs: int) -> tuple[str, list[str]]:
    """The tables, and the promises that are broken."""
    cases = [*HARMLESS, *EVENED_OUT]
    for rows in (SPREAD_OUT, OUTRIGHT, IN_PART, AMONG_FLICKERING):
        cases += [case for row in rows for case in row]
    cases += MOST_FALL
    with get_context("spawn").Pool() as pool:
        each = dict.fromkeys(cases)
        jobs = [(n, case, runs, seed) for n, case in enumerate(each)]
        counted = dict(zip(each, pool.starmap(count, jobs, chunksize=1), strict=True))
        promised = [(n, promise, runs, seed) for n, promise in enumerate(PROMISES)]
        kept = pool.starmap(keep, promised, chunksize=1)
    parts = (
        _INTRODUCTION.format(
            runs=runs,
            seed=seed,
            precise=precision(runs),
            error=100 * max(counted[c].error(runs) for c in _DROPS),
        ),
        _spread_out(counted, lambda one: (one.blocked_before, one.blocked), 100 / runs),
        _CALLS,
        _spread_out(counted, lambda one: (one.calls_before, one.calls), 1),
        _FOUND,
        _found({"always fail": OUTRIGHT, "fail half of the time": IN_PART}, counted, runs),
        _AMONG_FLICKERING,
        _found({"always fail": AMONG_FLICKERING}, counted, runs),
        _HARMLESS,
        _by_change(HARMLESS, counted, partial(_blocked, runs=runs)),
        _CALLS,
        _by_change(HARMLESS, counted, _calls),
        _EVENED_OUT,
        _by_change([*EVENED_OUT, *MOST_FALL], counted, partial(_blocked, runs=runs)),
        _CALLS,
        _by_change([*EVENED_OUT, *MOST_FALL], counted, _calls),
        _PROMISED,
        _promises(kept, runs),
    )
    text = "\n\n".join(parts)
    return text, [*_broken(counted, runs), *_not_kept(kept, runs)]


def _pair(before: float, after: float) -> str:
    return f"{before:.0f}→{after:.0f}"


def _spread_out(
    counted: dict[Case, Counted],
    read: Callable[[Counted], tuple[float, float]],
    scale: float,
) -> str:
    def cells(row: Sequence[Case]) -> Iterator[str]:
        for case in row:
            before, now = read(counted[case])
            yield _pair(before * scale, now * scale)

    header = ["suite", "no change", *SPREAD]
    return markdown_table(header, ([str(row[0].suite), *cells(row)] for row in SPREAD_OUT))


def _found(
    kinds: dict[str, Sequence[Sequence[Case]]], counted: dict[Case, Counted], runs: int
) -> str:
    def cells(row: Sequence[Case]) -> Iterator[str]:
        for case in (row[0], row[-1]):
            found = counted[case]
            yield _pair(found.blocked_before / runs * 100, found.blocked / runs * 100)
        yield _calls(counted[row[0]])

    header = ["suite"]
    for kind in kinds:
        header += [f"1: {kind}", f"5: {kind}", "calls"]
    rows = zip(*kinds.values(), strict=True)
    return markdown_table(
        header, ([str(row[0][0].suite), *(c for one in row for c in cells(one))] for row in rows)
    )


def _by_change(
    cases: Sequence[Case], counted: dict[Case, Counted], read: Callable[[Counted], str]
) -> str:
    """One row for each change, and one column for each suite."""
    suites = list(dict.fromkeys(case.suite for case in cases))
    shown = {(case.change, case.suite): read(counted[case]) for case in cases}
    rows = (
        [change, *(shown.get((change, suite), "–") for suite in suites)]
        for change in dict.fromkeys(case.change for case in cases)
    )
    return markdown_table(["change", *map(str, suites)], rows)


def _blocked(found: Counted, runs: int) -> str:
    return f"{rate(found.blocked_before, runs)}→{rate(found.blocked, runs)}"


def _calls(found: Counted) -> str:
    return _pair(found.calls_before, found.calls)


def _promises(kept: Sequence[tuple[int, int, float]], runs: int) -> str:
    header = ["must pass", "pass rate", "harmless change blocked", "one that always fails found"]
    header += ["fresh calls, nothing changed"]
    rows = (
        [
            f"{promise.fixtures} × {promise.samples}",
            f"{promise.passing * 100:.0f} %",
            rate(wrong, runs),
            rate(found, runs),
            f"{calls:.1f}",
        ]
        for promise, (wrong, found, calls) in zip(PROMISES, kept, strict=True)
    )
    return markdown_table(header, rows)


def _broken(counted: dict[Case, Counted], runs: int) -> list[str]:
    wrong = [
        f"{case}: blocked {found.blocked} of {runs}"
        for case in HARMLESS
        if binom.sf((found := counted[case]).blocked - 1, runs, ALPHA) < DOUBT
    ]
    missed = [
        f"{case}: found {found.blocked} of {runs}"
        for row in OUTRIGHT
        for case in row
        if binom.cdf((found := counted[case]).blocked, runs, FOUND) < DOUBT
    ]
    weaker = [
        f"{case}: found {found.blocked_before}, now {found.blocked} of {runs}"
        for case in _DROPS
        if (found := counted[case]).blocked_before - found.blocked
        > runs * (LOST + 3.3 * found.error(runs))
    ]
    return [*wrong, *missed, *weaker]


def _not_kept(kept: Sequence[tuple[int, int, float]], runs: int) -> list[str]:
    return [
        f"{promise}: blocked {wrong} of {runs} by mistake"
        for promise, (wrong, _, _) in zip(PROMISES, kept, strict=True)
        if binom.sf(wrong - 1, runs, ALPHA * FIXTURES) < DOUBT
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    return show(table, BEGIN, END, 250, arguments)


if __name__ == "__main__":
    sys.exit(main())
