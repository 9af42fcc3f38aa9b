"""Measures how often this gate errs on a suite, from samples that base's prompt already has.

Base is compared with itself many times, each time by the plan, the claims and the decisions of a
real run (`monitor.py`, `further_calls.py`), without a call to a model. A harmless change is one
half of a fixture's samples against the other half. What it takes to be found is measured with
changes that are made up: of some fixtures, every sample fails on head; or of all fixtures, some.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from gatekeeper.contract.values.trial import Arm, CheckResult, Completion, Outcome, Sample, Trial
from gatekeeper.gate.comparison.must_pass import must_pass_results
from gatekeeper.gate.comparison.pair_counts import visible_drop
from gatekeeper.gate.comparison.paired_comparison import Comparison
from gatekeeper.gate.decision.conclude import levels_of_claims
from gatekeeper.gate.decision.fixture_reasons import broken_reasons
from gatekeeper.gate.measuring.further_calls import confirm_broken
from gatekeeper.gate.measuring.monitor import EvaluationMonitor, Watches
from gatekeeper.gate.plan.alpha import ALL, compares_pairs_alone, comparison_alpha
from gatekeeper.gate.plan.plan import Evaluation, Job
from gatekeeper.gate.results.selftest_result import CHANGES, HARMLESS, OPEN, Change, Count, Selftest

if TYPE_CHECKING:
    from gatekeeper.gate.work import Work
    from gatekeeper.sampling.runner import Run, Watch

LEAST_SAMPLES = 4
"""With fewer samples of a fixture, on average, nothing tells how often it flickers."""

_MOST_SAMPLES = 1_000
"""Of a fixture, from the counts of the history: more say hardly more, and take memory."""

Pools = Mapping[str, Sequence[Outcome]]
"""The samples of base's prompt, by fixture."""
Ending = Literal["fail", "inconclusive", "pass"]
Result = TypeVar("Result")


def against_itself(job: Job) -> Job | None:
    """Return the job of a run with the contract's prompt on both arms; None if the contract
    compares no outputs one by one."""
    own = job.evaluations[0]
    if compares_pairs_alone(own.contract):
        return None
    trials = [trial for trial in own.trials if trial.arm == "head"]
    arms: Sequence[Arm] = ("base", "head")
    both = tuple(replace(trial, arm=arm) for trial in trials for arm in arms)
    paired = replace(own, base=own.head, trials=both, unpaired=(), unanswerable=())
    return replace(job, base=job.contract, evaluations=(paired,))


def sampled_whole(work: Work) -> Work:
    """Return the work with every planned sample taken, also if objectives are certain before."""
    jobs = []
    for job in work.jobs:
        own = job.evaluations[0]
        sampling = replace(own.contract.sampling, mode="fixed")
        whole = replace(own, contract=replace(own.contract, sampling=sampling))
        jobs.append(replace(job, evaluations=(whole,)))
    return replace(work, jobs=tuple(jobs))


def pools_of(outcomes: Sequence[Outcome]) -> Pools:
    """Return the measured samples of each fixture."""
    found: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.passed is not None:
            found.setdefault(outcome.sample.trial.fixture, []).append(outcome)
    return found


def pools_of_counts(job: Job, counts: Mapping[str, Count]) -> Pools:
    """Return samples with these counts of samples and of failed ones, by fixture; of very many, a
    part in which as large a share failed."""
    first: dict[str, Trial] = {}
    for trial in job.evaluations[0].trials:
        first.setdefault(trial.fixture, trial)
    pools = {}
    for fixture, (samples, failed) in counts.items():
        if fixture not in first or not samples:
            continue
        kept = min(samples, _MOST_SAMPLES)
        lost = round(failed * kept / samples)
        bad, good = (made_up(first[fixture], passed=passed) for passed in (False, True))
        pools[fixture] = [bad] * lost + [good] * (kept - lost)
    return pools


def missing_samples(job: Job, pools: Pools) -> str | None:
    """Say why the samples are too few; None if they are enough."""
    fixtures = {trial.fixture for trial in job.evaluations[0].trials}
    without = sorted(fixtures - pools.keys())
    if without:
        more = f" and {len(without) - 1:,} more" if len(without) > 1 else ""
        return f"there is no sample of the fixture `{without[0]}`{more}"
    mean = fmean(len(pools[fixture]) for fixture in fixtures)
    if mean < LEAST_SAMPLES:
        return f"{mean:.1f} samples of each fixture do not tell how often it flickers"
    return None


def selftest(
    job: Job, pools: Pools, runs: int, seed: str, changes: Sequence[Change] = CHANGES
) -> Selftest:
    """Make so many runs of each change. The same seed gives the same result.

    Args:
        job: The job of `against_itself`.
        pools: At least one sample of each fixture.
        runs: How many runs of each change.
        seed: Any text.
        changes: What to measure. A change of more fixtures than pass on base is left out.
    """
    counts: dict[str, Count] = {}
    calls: list[int] = []
    for change in changes:
        if change.broken > len(_breakable(job.evaluations[0], pools)):
            continue
        rng = random.Random(f"{seed} {change.name}")  # noqa: S311  # no secret
        found = [rehearse(job, pools, change, rng) for _ in range(runs)]
        endings = [ended for ended, _ in found]
        counts[change.name] = runs, endings.count("fail")
        if change == HARMLESS:
            calls = [made for _, made in found]
            counts[OPEN] = runs, endings.count("inconclusive")
    units = len(job.evaluations[0].units())
    return Selftest(units, counts, fmean(calls) if calls else None, len(job.trials))


def rehearse(job: Job, pools: Pools, change: Change, rng: random.Random) -> tuple[Ending, int]:
    """Make one run. Return how it ended, of what compares the arms, and how many calls it took."""
    job = job.in_order(f"{rng.getrandbits(128):032x}")
    draw = _Draw(job.evaluations[0], pools, change, rng)
    return ending(play(job, draw)), draw.calls


def play(job: Job, draw: Callable[[Trial], Outcome]) -> EvaluationMonitor:
    """Make one run with outcomes that are drawn, in the order in which it samples."""
    from gatekeeper.sampling.runner import Run

    watches = Watches([job])
    for trial in job.trials:
        if watches.wants(trial):
            watches.add(draw(trial))

    async def ask(trials: Sequence[Trial], watch: Watch, *_: object, **__: object) -> Run:
        for trial in trials:
            if watch.wants(trial):
                watch.add(draw(trial))
        return Run((), 0, 0, 0, 0, 0.0, "done")

    _without_waiting(confirm_broken([job], watches, Run((), 0, 0, 0, 0, 0.0, "done"), ask))
    (monitor,) = watches.of(job)
    return monitor


def ending(monitor: EvaluationMonitor) -> Ending:
    """Return what the comparison of the suite, broken fixtures and those that must pass say, as
    `conclude` decides it; other reasons are left out."""
    contract, claims = monitor.evaluation.contract, monitor.claims
    levels = dict(levels_of_claims(monitor, comparison_alpha(contract)))
    decides = contract.gate.claim != "fixtures"
    if decides and any(claims[c].evaluate(level).regressed for c, level in levels.items()):
        return "fail"
    complete = monitor.complete or not monitor.settled
    must = must_pass_results(contract, monitor.outcomes, monitor.broken, complete=complete)
    broke = [r.verdict for r in broken_reasons(monitor.broken, better=False)]
    if "fail" in broke or any(result.found == "broke" for result in must):
        return "fail"
    if "inconclusive" in broke or any(result.found == "unknown" for result in must):
        return "inconclusive"
    open_ = decides and any(_is_open(claims[c], c, level) for c, level in levels.items())
    return "inconclusive" if open_ else "pass"


def _is_open(comparison: Comparison, claim: str, level: float) -> bool:
    """Return whether a claim that found nothing is inconclusive: head may be worse by more than the
    margin, or no drop could have been found."""
    test, drop = comparison.test, comparison.largest_drop()
    if claim != ALL and drop <= max(test.margin, 1 / max(1, test.fixtures)):
        return False
    if visible_drop(test.fixtures, comparison.flicker, level, test.rounds) is None:
        return True
    return comparison.stopped != "not_worse" and drop > test.margin


def _breakable(evaluation: Evaluation, pools: Pools) -> list[str]:
    """Return the inputs that decide and pass at least half of their samples."""
    units = evaluation.units().values()
    inputs = [f for unit in units for f in unit if f not in evaluation.same_input]
    return [fixture for fixture in inputs if _passing(pools[fixture]) >= 0.5]


def _passing(outcomes: Sequence[Outcome]) -> float:
    return fmean(outcome.passed is True for outcome in outcomes)


class _Draw:
    """Draws the samples of one run: each fixture's own in a random order, and any of them again
    when all were drawn. Fixtures with the same input share an answer."""

    def __init__(
        self, evaluation: Evaluation, pools: Pools, change: Change, rng: random.Random
    ) -> None:
        self.calls = 0
        self._rng = rng
        self._pools = pools
        self._left: dict[str, list[Outcome]] = {}
        self._same_input = evaluation.same_input
        self._shared: dict[tuple[str, Arm, int], Outcome] = {}
        breakable = _breakable(evaluation, pools)
        self._broken = frozenset(rng.sample(breakable, change.broken) if change.broken else ())
        self._fails = change.drop / (fmean(map(_passing, pools.values())) or 1.0)

    def __call__(self, trial: Trial) -> Outcome:
        fixture = self._same_input.get(trial.fixture, trial.fixture)
        key = fixture, trial.arm, trial.repetition
        drawn = self._shared.get(key)
        if drawn is None:
            drawn = self._drawn(fixture, trial.arm)
            self.calls += 1
            if self._same_input:
                self._shared[key] = drawn
        return replace(drawn, sample=replace(drawn.sample, trial=trial))

    def _drawn(self, fixture: str, arm: Arm) -> Outcome:
        if fixture not in self._left:
            pool = self._pools[fixture]
            self._left[fixture] = self._rng.sample(pool, len(pool))
        left = self._left[fixture]
        drawn = left.pop() if left else self._rng.choice(self._pools[fixture])
        if arm == "base" or not drawn.passed:
            return drawn
        fails = fixture in self._broken or (self._fails and self._rng.random() < self._fails)
        return _failed(drawn) if fails else drawn


def _failed(outcome: Outcome) -> Outcome:
    failed = (replace(result, passed=False) for result in outcome.check_results)
    return replace(outcome, check_results=tuple(failed), pass_score=None)


def made_up(trial: Trial, *, passed: bool) -> Outcome:
    """Return an outcome of the trial that passes or fails."""
    sample = Sample(trial, Completion("passes" if passed else "fails"))
    return Outcome(sample, (CheckResult("all", passed),))


def _without_waiting(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run what never waits, also within a running event loop."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        result: Result = ended.value
        return result
    raise RuntimeError("it waited")
