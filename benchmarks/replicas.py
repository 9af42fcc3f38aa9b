"""Does a provider with one bad replica make a harmless change fail, or hide a worse one?

    python -m benchmarks.replicas [--runs 400] [--seed 1] [--write benchmarks/error-rates.md]

The provider sends each request to the next of 2, 3 or 4 replicas, and one of them answers badly.
The runs are those of the gate: its plan, its runner, its stopping rule. Only time and model are
simulated. Each case is shown with the arms of a pair in random order, as the gate asks them, and
with base always first, as it did before. It ends with an error if random order fails more harmless
changes than alpha allows or finds fewer than four fifths of the worse ones.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from benchmarks.decisions.table import precision
from benchmarks.simulated_time import SimulatedLoop
from benchmarks.simulation_page import CountedCases, share
from gatekeeper.contract.policies.policy import Limits, Policy
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.gate.measuring.monitor import Watches
from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.work import plan_check
from gatekeeper.sampling.retries import RetryPolicy
from gatekeeper.sampling.runner import run_trials
from gatekeeper.stats.intervals.intervals import wilson

PERIODS = (2, 3, 4)
CONCURRENCIES = (1, 2, 16)
ALPHA = 0.05
WORSE = 0.5
"""What is left of the pass rate after the change that must be found."""

_GOOD = 0.95  # the pass rate on a sound replica
_BAD = 0.05
_FIXTURES = 80
_FEWEST_FOUND = 0.8
_CONTRACT = """\
contract: 1
name: words
prompt: words.txt
model: m/x
fixtures: [{file: words.csv}]
checks: [{type: contains, value: ok}]
sampling: {samples: 3}
"""
BEGIN, END = "<!-- bench-replicas:begin -->", "<!-- bench-replicas:end -->"


@dataclass(frozen=True, slots=True)
class Case:
    """How many replicas, how many calls at a time, and what head keeps of the pass rate."""

    period: int
    concurrency: int
    kept: float
    base_first: bool = False


@dataclass
class Replicas:
    """A provider that sends the n-th request to replica n modulo `case.period`."""

    case: Case
    drawn: random.Random
    asked: int = field(init=False)

    def __post_init__(self) -> None:
        self.asked = self.drawn.randrange(self.case.period)

    async def complete(self, request: Request) -> Completion:
        replica = self.asked % self.case.period
        self.asked += 1
        await asyncio.sleep(self.drawn.lognormvariate(0, 0.5))
        head = request.messages[0].content.startswith("Head")
        rate = (_GOOD if replica else _BAD) * (self.case.kept if head else 1)
        return Completion("ok" if self.drawn.random() < rate else "no")

    async def aclose(self) -> None: ...


def planned() -> Job:
    """One contract whose prompt changes, with 80 fixtures and up to three samples of each."""
    words = "".join(f"id{n},word {n}\n" for n in range(_FIXTURES))

    def revision(arm: str, sha: str) -> MemoryRevision:
        files = {
            "contracts/words.yaml": _CONTRACT,
            "contracts/words.txt": f"{arm} {{{{ word }}}}",
            "contracts/words.csv": f"id,word\n{words}",
        }
        return MemoryRevision({path: text.encode() for path, text in files.items()}, sha * 40)

    change = Change(revision("Base", "b"), revision("Head", "c"))
    return plan_check(change, Policy(), order_seed="0").jobs[0]


def is_found_worse(job: Job, case: Case, seed: str) -> bool:
    """Whether one run of the gate finds head worse."""
    job = job.in_order(seed)
    if case.base_first:
        job = _base_first(job)
    watches = Watches([job])
    limits = Limits(None, None, None, case.concurrency)
    provider = Replicas(case, random.Random(seed))  # noqa: S311
    loop = SimulatedLoop()
    try:
        run = run_trials(
            job.trials, provider, watches, limits, retry=RetryPolicy(), clock=loop.time
        )
        loop.run_until_complete(run)
    finally:
        loop.close()
    return any(watch.regressed for watch in watches.of(job))


def _base_first(job: Job) -> Job:
    (evaluation,) = job.evaluations
    pairs = zip(evaluation.trials[::2], evaluation.trials[1::2], strict=True)
    trials = tuple(t for pair in pairs for t in sorted(pair, key=lambda trial: trial.arm))
    return replace(job, evaluations=(replace(evaluation, trials=trials),))


def _count(case: Case, runs: int, seed: int) -> int:
    job = planned()
    return sum(is_found_worse(job, case, f"{seed}|{number}|{case}") for number in range(runs))


def cases() -> Iterator[Case]:
    for period in PERIODS:
        for concurrency in CONCURRENCIES:
            for kept in (1.0, WORSE):
                for base_first in (False, True):
                    yield Case(period, concurrency, kept, base_first)


def table(found: Mapping[Case, int], runs: int, seed: int) -> str:
    lines = [
        f"Each entry has {runs:,} runs with seed {seed}. Each run has {_FIXTURES} fixtures, and a "
        f"pass rate of {_GOOD:.0%} on a good replica and {_BAD:.0%} on the bad replica. "
        f"{precision(runs)}",
        "",
        "| replicas | calls at a time | harmless change blocked, random order | harmless change "
        "blocked, base always first | regression found, random order | regression found, base "
        "always first |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for period in PERIODS:
        for concurrency in CONCURRENCIES:
            entries = [
                share(found[Case(period, concurrency, kept, first)], runs)
                for kept in (1.0, WORSE)
                for first in (False, True)
            ]
            lines.append(f"| {period} replicas | {concurrency} at a time | {' | '.join(entries)} |")
    return "\n".join(lines) + "\n"


def broken_promises(found: Mapping[Case, int], runs: int) -> list[str]:
    """The cases in random order that surely fail more or find fewer than they may."""
    broken = []
    for case, count in found.items():
        interval = wilson(count, runs, 0.999)
        fails_too_often = case.kept == 1 and interval.low > ALPHA
        finds_too_few = case.kept < 1 and interval.high < _FEWEST_FOUND
        if not case.base_first and (fails_too_often or finds_too_few):
            broken.append(f"{case}: {count} of {runs}")
    return broken


SIMULATION = CountedCases(list(cases()), _count, table, broken_promises, BEGIN, END)


if __name__ == "__main__":
    sys.exit(SIMULATION.main(400))
