"""Takes fresh samples of the fixtures that seem to have broken, after the planned samples."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from gatekeeper.contract.values.trial import Outcome, Request, Sample, Trial
from gatekeeper.gate.comparison.confirmation import STEPS, Confirming, Step
from gatekeeper.gate.measuring.monitor import EvaluationMonitor, Watches
from gatekeeper.gate.measuring.run_parts import count_again, count_together, lost_trials
from gatekeeper.gate.plan.alpha import confirms_fixtures
from gatekeeper.gate.plan.plan import Job

if TYPE_CHECKING:
    from gatekeeper.sampling.runner import Run, Watch


class AskAgain(Protocol):
    """Runs trials within what the run so far leaves of the limits."""

    def __call__(
        self, trials: Sequence[Trial], watch: Watch, so_far: Run, *, at_once: int
    ) -> Awaitable[Run]:
        """Return what was answered. `at_once` is the most calls at the same time."""
        ...


async def confirm_broken(jobs: Sequence[Job], watches: Watches, sampled: Run, ask: AskAgain) -> Run:
    """Sample the fixtures again that seem to have broken, in every contract in which they can
    decide anything, and give each monitor what they show. Returns the run with these calls."""
    found = [
        (monitor, Confirming(monitor.evaluation, monitor.level, monitor.outcomes, job.order_seed))
        for job in jobs
        if not any(w.regressed for w in watches.of(job))
        for monitor in watches.of(job)
        if monitor.level is not None and confirms_fixtures(monitor.evaluation.contract)
    ]
    for step in STEPS:
        while sampled.ended == "done":
            watch = _FreshWatch(watches, step, found)
            if not watch.trials:
                break
            sampled = await _take(watch, found, sampled, ask)
    ended = (None, None) if sampled.ended == "done" else (sampled.ended, sampled.detail)
    for monitor, confirming in found:
        monitor.broken = replace(confirming.result, ended=ended[0], detail=ended[1])
        monitor.fresh = confirming.fresh
    return sampled


async def _take(
    watch: _FreshWatch,
    found: Sequence[tuple[EvaluationMonitor, Confirming]],
    sampled: Run,
    ask: AskAgain,
) -> Run:
    # One pair of each fixture: it often tells that the next one is not needed.
    at_once = len({(t.contract, t.contract_from, t.fixture, t.arm) for t in watch.trials})
    asked = await ask(watch.trials, watch, sampled, at_once=at_once)
    if lost := lost_trials(asked):
        so_far = count_together(sampled, asked)
        asked = count_again(asked, await ask(lost, watch, so_far, at_once=at_once))
    for _, confirming in found if asked.unrecorded else ():
        confirming.unrecorded |= any(o.sample.completion is None for o in confirming.fresh)
    return count_together(sampled, replace(asked, unrecorded={}))


class _FreshWatch:
    """Wants fresh samples of a fixture until they decide about it."""

    def __init__(
        self, watches: Watches, step: Step, found: Sequence[tuple[EvaluationMonitor, Confirming]]
    ) -> None:
        self._watches = watches
        self._of = {
            id(trial): (trial, monitor, confirming)
            for monitor, confirming in found
            for trial in confirming.begin(step)
        }
        trials = (trial for trial, _, _ in self._of.values())
        self.trials = sorted(trials, key=lambda trial: trial.repetition)
        watches.expect([trial for trial in self.trials if self.wants(trial)])

    def wants(self, trial: Trial) -> bool:
        return self._of[id(trial)][2].wants(trial)

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        return self._of[id(sample.trial)][1].questions(sample)

    def evaluate(self, sample: Sample) -> Outcome:
        return self._of[id(sample.trial)][1].evaluate(sample)

    def add(self, outcome: Outcome) -> None:
        self._of[id(outcome.sample.trial)][2].take(outcome)
        self._watches.count(outcome.sample)
