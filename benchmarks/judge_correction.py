"""Simulates a judge that favours longer answers, with and without the correction by labels.

    python -m benchmarks.judge_correction [--runs 4000] [--seed 1] [--write FILE]

The judge passes 90 % of the good answers and fails 80 % of the bad ones, on average. Of two answers
to one input it is more lenient with the longer, and head's are the shorter ones. Ends with exit
status 1 if, by more than the simulation's own error, a corrected comparison blocks more than 5.5 %
of harmless changes, or an interval holds the truth in less than 94 % of runs.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from benchmarks.decisions.table import markdown_table, precision
from benchmarks.simulation_page import rate, show
from gatekeeper.stats.interval import ConfidenceInterval
from gatekeeper.stats.intervals.intervals import wilson
from gatekeeper.stats.judges.judge_accuracy import count_confusion
from gatekeeper.stats.judges.label_shift import corrected_rate
from gatekeeper.stats.judges.prediction_powered import PoweredMean, powered_mean, powered_rate
from gatekeeper.stats.judges.score_shift import corrected_mean
from gatekeeper.stats.paired.mcnemar import mcnemar_exact

BEGIN, END = "<!-- bench-judges:begin -->", "<!-- bench-judges:end -->"
SENSITIVITY, SPECIFICITY = 0.9, 0.8
ALPHA = 0.05
MOST_BLOCKS, LEAST_COVERAGE = 0.055, 0.94

Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Amounts = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """`favour` is by how much the judge passes the longer of two answers more often, and the
    shorter less often. `drop` is by how much head's true rate is lower. `old_rate` is the rate of
    good answers among labels of an earlier run; None if the labels are a random part of this
    one."""

    inputs: int
    labels: int
    favour: float
    drop: float
    base_rate: float = 0.8


CASES = (
    Case(200, 50, 0.0, 0.0),
    Case(200, 50, 0.08, 0.0),
    Case(400, 100, 0.08, 0.0),
    Case(400, 40, 0.08, 0.0),
    Case(400, 100, 0.08, 0.0, 0.95),
    Case(400, 100, 0.08, 0.2),
    Case(400, 200, 0.08, 0.2),
)
SHIFTS = ((0.8, 100), (0.5, 100), (0.5, 40), (0.3, 200))
"""Share of good answers among the labels of an earlier run, and how many labels there are."""


@dataclass
class Found:
    """How many runs blocked, and how many intervals held the truth."""

    uncorrected: int = 0
    corrected: int = 0
    difference_held: int = 0
    rate_held: int = 0
    plain_rate_held: int = 0


def judge(source: Generator, good: Flags, favour: float) -> Flags:
    """Return the verdicts of a judge that is more lenient by `favour`."""
    lenient = np.where(good, SENSITIVITY, 1 - SPECIFICITY) + favour
    return source.random(good.shape) < lenient


def draw(source: Generator, case: Case) -> tuple[Flags, Flags, Flags, Flags]:
    """Return whether each answer of base and head is good, and what the judge says of it."""
    quality = source.random(case.inputs)
    hard = source.random(case.inputs)
    base = quality < case.base_rate
    # Half of the inputs have the same quality on both arms, the others are independent.
    head = np.where(hard < 0.5, quality, source.random(case.inputs)) < case.base_rate - case.drop
    return base, head, judge(source, base, case.favour), judge(source, head, -case.favour)


def simulate(case: Case, runs: int, seed: int) -> Found:
    """Count over the runs. The labels are a random part of the inputs, on both arms."""
    source, found = np.random.default_rng(seed), Found()
    n = case.labels
    for _ in range(runs):
        base, head, base_verdict, head_verdict = draw(source, case)
        broke = int((base_verdict & ~head_verdict).sum())
        fixed = int((head_verdict & ~base_verdict).sum())
        blocked = mcnemar_exact(broke, fixed) <= ALPHA
        found.uncorrected += blocked
        drop = _corrected(n, head.astype(int) - base, head_verdict.astype(int) - base_verdict)
        found.corrected += blocked and drop.p_value_below(0.0) <= ALPHA
        found.difference_held += _holds(drop.interval(), -case.drop)
        truth = case.base_rate - case.drop
        own = _corrected(n, head.astype(int), head_verdict.astype(int))
        found.rate_held += _holds(own.interval(), truth)
        found.plain_rate_held += _holds(wilson(int(head_verdict.sum()), case.inputs), truth)
    return found


def _corrected(labels: int, human: Numbers, judge: Numbers) -> PoweredMean:
    """Return the corrected mean over inputs, of which the first have labels."""
    found = powered_mean(human[:labels].tolist(), judge[:labels].tolist(), judge[labels:].tolist())
    if found is None:
        raise ValueError("a case needs two labels and two inputs without a label")
    return found


def _holds(interval: ConfidenceInterval, truth: float) -> bool:
    return interval.low <= truth <= interval.high


def simulate_shift(
    old_rate: float, labels: int, runs: int, seed: int, inputs: int = 400, rate_now: float = 0.8
) -> tuple[int, int, int]:
    """Return in how many runs the interval of the rate held the truth, if the labels are of an
    earlier run: as judged, by PPI, and by sensitivity and specificity."""
    source, held = np.random.default_rng(seed), [0, 0, 0]
    for _ in range(runs):
        human = source.random(labels) < old_rate
        old = judge(source, human, 0.0)
        verdicts = judge(source, source.random(inputs) < rate_now, 0.0)
        intervals = [wilson(int(verdicts.sum()), inputs)]
        powered = powered_rate(
            human.astype(float).tolist(),
            old.astype(float).tolist(),
            verdicts.astype(float).tolist(),
        )
        corrected = corrected_rate(
            float(verdicts.mean()), inputs, count_confusion(human.tolist(), old.tolist())
        )
        intervals += [powered[1]] if powered else []
        intervals += [corrected.interval] if corrected and corrected.interval else []
        for i, interval in enumerate(intervals):
            held[i] += _holds(interval, rate_now)
    return held[0], held[1], held[2]


SCORES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
GOOD, BAD = (0.05, 0.1, 0.15, 0.3, 0.4), (0.3, 0.25, 0.2, 0.15, 0.1)
SCORE_CASES = (
    ("as now", GOOD, 50),
    ("as now", GOOD, 100),
    ("worse", BAD, 50),
    ("worse", BAD, 100),
    ("worse", BAD, 200),
)
"""The scores among the labels, and how many labels there are; now they are those of GOOD."""


def judge_score(source: Generator, human: Amounts) -> Amounts:
    """Return the scores of a judge that is lenient with bad outputs and strict with good ones."""
    raw = 0.25 + 0.6 * human + source.normal(0, 0.15, human.shape)
    return np.clip(np.round(raw * 4) / 4, 0, 1)


def simulate_scores(
    among: tuple[float, ...], labels: int, runs: int, seed: int, inputs: int = 400
) -> tuple[int, int, int]:
    """Return in how many runs the interval of the mean score held the truth: as judged, by PPI, and
    by the line from people's scores to the judge's."""
    source, held = np.random.default_rng(seed), [0, 0, 0]
    truth = float(SCORES @ np.array(GOOD))
    for _ in range(runs):
        human = source.choice(SCORES, labels, p=among)
        old = judge_score(source, human)
        now = judge_score(source, source.choice(SCORES, inputs, p=GOOD))
        mean, error = float(now.mean()), float(now.std(ddof=1)) / inputs**0.5
        held[0] += abs(mean - truth) <= 1.96 * error
        powered = powered_mean(human.tolist(), old.tolist(), now.tolist())
        line = corrected_mean(mean, error, human.tolist(), old.tolist())
        held[1] += powered is None or _holds(powered.interval(), truth)
        held[2] += line is None or line.interval is None or _holds(line.interval, truth)
    return held[0], held[1], held[2]


def _score_rows(seed: int, runs: int, broken: list[str]) -> list[list[str]]:
    rows = []
    for name, among, labels in SCORE_CASES:
        held = simulate_scores(among, labels, runs, seed)
        promised = held[1:] if among == GOOD else held[2:]
        if any(wilson(count, runs).high < LEAST_COVERAGE for count in promised):
            broken.append(f"scores, {labels} labels {name}: held in {held} of {runs} runs")
        rows.append([name, f"{labels}", *(rate(count, runs) for count in held)])
    return rows


def table(seed: int, runs: int) -> tuple[str, list[str]]:
    """Return the three tables, and the promises that are broken."""
    broken: list[str] = []
    rows = []
    for case in CASES:
        found = simulate(case, runs, seed)
        rows.append(
            [
                f"{case.inputs}",
                f"{case.labels}",
                f"{case.base_rate:.0%}",
                f"{case.drop * 100:.0f}",
                f"{case.favour * 100:.0f}",
                rate(found.uncorrected, runs),
                rate(found.corrected, runs),
                rate(found.difference_held, runs),
                rate(found.plain_rate_held, runs),
                rate(found.rate_held, runs),
            ]
        )
        broken += broken_promises(case, found, runs)
    shifted = [
        [
            f"{old:.0%}",
            f"{labels}",
            *(rate(k, runs) for k in simulate_shift(old, labels, runs, seed)),
        ]
        for old, labels in SHIFTS
    ]
    text = "\n\n".join(
        (
            f"{runs:,} runs of each case, seed {seed}. All figures are % of runs. "
            f"{precision(runs)}",
            "**The labels are of a random part of this run's inputs.**",
            markdown_table(COLUMNS, rows),
            "**The labels come from an earlier run.** This run has 400 inputs, and 80 % of the "
            "answers are good.",
            markdown_table(SHIFT_COLUMNS, shifted),
            "**Scores.** This run has 400 inputs. The judge's score is 0.25 plus 60 % of people's "
            "score, with an error of 0.15, in steps of 0.25.",
            markdown_table(SCORE_COLUMNS, _score_rows(seed, runs, broken)),
        )
    )
    return text, broken


COLUMNS = (
    "Inputs",
    "Labelled",
    "Good on base",
    "True drop, points",
    "Favours the longer, ± points",
    "Blocks, as judged",
    "Blocks, corrected",
    "Interval contains the true difference",
    "Interval contains the true rate, as judged",
    "Interval contains the true rate, corrected",
)
SHIFT_COLUMNS = (
    "Good among the labels",
    "Labels",
    "Interval contains the true rate, as judged",
    "Prediction-powered",
    "By sensitivity and specificity",
)


SCORE_COLUMNS = (
    "Outputs among the labels",
    "Labels",
    "Interval contains the true mean score, as judged",
    "Prediction-powered",
    "By the line",
)


def broken_promises(case: Case, found: Found, runs: int) -> list[str]:
    """Name what is worse than allowed, by more than the simulation's own error."""
    broken = []
    if case.drop == 0 and wilson(found.corrected, runs).low > MOST_BLOCKS:
        broken.append(f"{case}: {found.corrected} of {runs} corrected runs block a harmless change")
    for name in ("difference_held", "rate_held"):
        count = getattr(found, name)
        if wilson(count, runs).high < LEAST_COVERAGE:
            broken.append(f"{case}: {name} in {count} of {runs} runs only")
    return broken


if __name__ == "__main__":
    sys.exit(show(table, BEGIN, END, 4000))
