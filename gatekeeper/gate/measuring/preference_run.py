"""Asks judges which output of a pair is better, once both samples of the pair are there."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.trial import Completion, Outcome, Request, Sample, Trial
from gatekeeper.gate.comparison.preference import EvaluationPreferences, has_preferences
from gatekeeper.gate.measuring.monitor import EvaluationMonitor, Watches
from gatekeeper.gate.measuring.run_parts import count_together, limits_left
from gatekeeper.gate.plan.alpha import preference_level
from gatekeeper.gate.plan.plan import Job

if TYPE_CHECKING:
    from gatekeeper.sampling.runner import Run, Watch


class AskJudges(Protocol):
    """Runs trials whose answers are known, and asks their judges."""

    def __call__(
        self, trials: Sequence[Trial], watch: Watch, limits: Limits, known: Mapping[int, Completion]
    ) -> Awaitable[Run]:
        """Return what the judges said."""
        ...


async def compare_pairs(
    jobs: Sequence[Job], watches: Watches, sampled: Run, limits: Limits, ask: AskJudges
) -> Run:
    """Ask about the pairs of every contract that compares outputs, within what the limits leave,
    and give each monitor its results. Returns the run with these calls counted."""
    found = [
        _Preferences(watch)
        for job in jobs
        if has_preferences(job) and not any(w.regressed for w in watches.of(job))
        for watch in watches.of(job)
        if watch.level is not None
    ]
    heads = [(mine, outcome) for mine in found for outcome in mine.pairs.heads()]
    asked = None
    if heads and sampled.ended == "done":
        asked = await ask(
            [outcome.sample.trial for _, outcome in heads],
            _PairWatch({id(o.sample.trial): mine for mine, o in heads}),
            limits_left(limits, sampled),
            {
                number: outcome.sample.completion
                for number, (_, outcome) in enumerate(heads)
                if outcome.sample.completion is not None
            },
        )
    for mine in found:
        mine.conclude()  # what was not asked about is not measured
    if asked is None:
        return sampled
    # The samples themselves are those of the run, and count there.
    return count_together(sampled, replace(asked, samples=(), failed=0, surplus=0))


class _Preferences:
    """The pairs of one evaluation, and its monitor."""

    def __init__(self, monitor: EvaluationMonitor) -> None:
        evaluation = monitor.evaluation
        level = preference_level(evaluation.contract, monitor.level or 0.0)
        self.monitor = monitor
        self.pairs = EvaluationPreferences(evaluation, level, monitor.outcomes)

    def conclude(self) -> None:
        """Give the monitor the results, and its outcomes the answers."""
        self.monitor.preferences = self.pairs.finish()
        self.monitor.outcomes = [self.pairs.with_findings(o) for o in self.monitor.outcomes]


class _PairWatch:
    """Wants a pair until the comparisons of its evaluation are decided."""

    def __init__(self, by_trial: Mapping[int, _Preferences]) -> None:
        self._by_trial = by_trial

    def wants(self, trial: Trial) -> bool:
        return not self._by_trial[id(trial)].pairs.settled

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        return self._by_trial[id(sample.trial)].pairs.questions(sample)

    def evaluate(self, sample: Sample) -> Outcome:
        return Outcome(sample)

    def add(self, outcome: Outcome) -> None:
        self._by_trial[id(outcome.sample.trial)].pairs.take(outcome.sample)
