"""What do related fixtures do to the gate, and what does `cluster` do about it?

    python -m benchmarks.clusters [--runs 1000] [--seed 1] [--write benchmarks/error-rates.md]

Fixtures come in families that flip together: variants of one case. The runs are those of the gate:
its plan, its order, its stopping rule and its objectives, once with the families named as clusters
and once with every fixture by itself. Only the model is simulated. It ends with an error if
clusters block more harmless changes than alpha allows, find fewer than four fifths of the worse
ones where little flips, or call an objective met too often that is exactly at its target.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from benchmarks.decisions.table import precision
from benchmarks.simulation_page import CountedCases, share
from gatekeeper import numbers
from gatekeeper.contract.policies.policy import Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.trial import CheckResult, Completion, Outcome, Sample, Trial
from gatekeeper.gate.comparison.paired_comparison import Comparison
from gatekeeper.gate.objectives.objectives import slo_results
from gatekeeper.gate.plan.alpha import levels
from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.work import plan_check
from gatekeeper.stats.intervals.intervals import wilson

ALPHA = 0.05
TARGET = 0.9
_TAKEN_ALONG = 0.8
"""The chance that a fixture flips if its family does."""
_FEWEST_FOUND = 0.8
_STEADY = 0.05
"""If more families flip than this, 20 of them are too few to find surely what broke a third."""
BEGIN, END = "<!-- bench-clusters:begin -->", "<!-- bench-clusters:end -->"


@dataclass(frozen=True, slots=True)
class Suite:
    """So many families of one size, and how often a family flips without getting worse. At
    temperature 0 there is one sample, else there are more and each has the family's rate."""

    families: int
    size: int
    flips: float
    samples: int = 1

    @property
    def broken(self) -> int:
        """How many families a worse head breaks: 6 of 20."""
        return round(0.3 * self.families)


@dataclass(frozen=True, slots=True)
class Case:
    """`question` is what may go wrong: a harmless change fails, a worse one is found, an objective
    at exactly its target is called met."""

    suite: Suite
    question: str
    clustered: bool


SUITES = (
    Suite(20, 10, 0.05),
    Suite(20, 10, 0.1),
    Suite(20, 10, 0.3),
    Suite(40, 3, 0.1),
    Suite(40, 3, 0.3),
    Suite(20, 10, 0.3, samples=5),
    Suite(40, 3, 0.3, samples=5),
)
QUESTIONS = ("harmless", "worse", "at target")


def cases() -> Iterator[Case]:
    for suite in SUITES:
        # An objective is the same question with one sample and with several.
        for question in QUESTIONS[: 3 if suite.samples == 1 else 2]:
            for clustered in (False, True):
                yield Case(suite, question, clustered)


@lru_cache(maxsize=16)
def planned(suite: Suite, *, clustered: bool) -> Job:
    """One contract whose prompt changes, with the suite's fixtures."""
    rows = "".join(
        f"{family}-{member},{family}-{member},{f'family {family}' if clustered else ''}\n"
        for family in range(suite.families)
        for member in range(suite.size)
    )
    contract = (
        "contract: 1\nname: words\nprompt: words.txt\nmodel: m/x\n"
        "fixtures: [{file: words.csv}]\nchecks: [{type: contains, value: ok}]\n"
        f"sampling: {{samples: {suite.samples}}}\nslo: {{success_rate: {TARGET}}}\n"
    )

    def revision(arm: str, sha: str) -> MemoryRevision:
        files = {
            "contracts/words.yaml": contract,
            "contracts/words.txt": f"{arm} {{{{ word }}}}",
            "contracts/words.csv": f"id,word,cluster\n{rows}",
        }
        return MemoryRevision({path: text.encode() for path, text in files.items()}, sha * 40)

    change = Change(revision("Base", "b"), revision("Head", "c"))
    return plan_check(change, Policy(), order_seed="0").jobs[0]


class Model:
    """Answers of one run. A family that flips passes on one arm and fails on the other, whichever;
    with several samples it passes half as often there."""

    def __init__(self, case: Case, drawn: random.Random) -> None:
        suite = case.suite
        self._drawn, self._samples = drawn, suite.samples
        self._answers: dict[tuple[str, str], float] = {}
        broken = set(drawn.sample(range(suite.families), suite.broken))
        for family in range(suite.families):
            arm = drawn.choice(("base", "head")) if drawn.random() < suite.flips else None
            if case.question == "worse" and family in broken:
                arm = "head"
            fails = case.question == "at target" and drawn.random() >= TARGET
            for member in range(suite.size):
                flips = arm if drawn.random() < _TAKEN_ALONG else None
                for each in ("base", "head"):
                    rate = 0.0 if fails or (each == flips and case.question != "at target") else 1.0
                    self._answers[f"{family}-{member}", each] = rate

    def passes(self, trial: Trial) -> bool:
        rate = self._answers[trial.fixture, trial.arm]
        if self._samples > 1:
            rate = 0.45 + 0.5 * rate
        return self._drawn.random() < rate


def goes_wrong_or_right(case: Case, seed: str) -> bool:
    """Whether one run of the gate does what the case asks about."""
    drawn = random.Random(seed)  # noqa: S311
    job = planned(case.suite, clustered=case.clustered).in_order(seed)
    evaluation, model = job.evaluations[0], Model(case, drawn)
    if case.question == "at target":
        return _is_met(job, model)
    comparison = Comparison(evaluation, levels([job])[job.contract.name, "head"])
    for trial in evaluation.trials:
        comparison.add(_outcome(trial, model))
        if comparison.stopped:
            return comparison.stopped == "regressed"
    return comparison.stopped == "regressed"


def _is_met(job: Job, model: Model) -> bool:
    """Whether the objective is called met, from one sample of each fixture."""
    evaluation = job.evaluations[0]
    asked = [t for t in evaluation.trials if t.arm == "head" and t.repetition == 0]
    (found,) = slo_results(
        job.contract,
        [_outcome(trial, model) for trial in asked],
        Counter(trial.fixture for trial in asked),
        counts_with=evaluation.counts_with,
        same_input=evaluation.same_input,
    )
    return found.met is True


def _outcome(trial: Trial, model: Model) -> Outcome:
    passed = model.passes(trial)
    sample = Sample(trial, Completion("ok" if passed else "no"))
    return Outcome(sample, (CheckResult("contains", passed),))


def _count(case: Case, runs: int, seed: int) -> int:
    return sum(goes_wrong_or_right(case, f"{seed}|{number}|{case}") for number in range(runs))


def table(found: Mapping[Case, int], runs: int, seed: int) -> str:
    lines = [
        f"Each entry has {runs:,} runs with seed {seed}. If a family flips, each of its fixtures "
        f"flips with a probability of {_TAKEN_ALONG}. {precision(runs)}",
        "",
        "| families | families that flip | samples of each fixture | harmless change blocked, "
        "fixtures count separately | harmless change blocked, clusters | 30 % of families broken, "
        f"found with clusters | objective of {TARGET:.0%} wrongly met, fixtures count separately | "
        f"objective of {TARGET:.0%} wrongly met, clusters |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for suite in SUITES:
        shown = [
            share(found.get(Case(suite, question, clustered)), runs)
            for question, clustered in (
                ("harmless", False),
                ("harmless", True),
                ("worse", True),
                ("at target", False),
                ("at target", True),
            )
        ]
        lines.append(
            f"| {suite.families} families of {suite.size} fixtures | {suite.flips:.0%} flip | "
            f"{numbers.count(suite.samples, 'sample')} | {' | '.join(shown)} |"
        )
    return "\n".join(lines) + "\n"


def broken_promises(found: Mapping[Case, int], runs: int) -> list[str]:
    """The cases with clusters that surely fail more or find fewer than they may."""
    broken = []
    for case, count in found.items():
        interval = wilson(count, runs, 0.999)
        too_often = case.question != "worse" and interval.low > ALPHA
        steady = case.suite.samples == 1 and case.suite.flips <= _STEADY
        too_few = case.question == "worse" and steady and interval.high < _FEWEST_FOUND
        if case.clustered and (too_often or too_few):
            broken.append(f"{case}: {count} of {runs}")
    return broken


SIMULATION = CountedCases(list(cases()), _count, table, broken_promises, BEGIN, END)


if __name__ == "__main__":
    sys.exit(SIMULATION.main(1000))
