"""Asks once more, at the end of sampling, for the answers that were lost.

Calls fail more often on long answers, so lost answers are not lost by chance. Each lost call gets
one more try, on base and on head alike. A contract that ended early needs none: its result was
certain whatever the lost answers would have been.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gatekeeper.contract.values.trial import Outcome, Request, Sample, Trial
from gatekeeper.gate.measuring.monitor import EvaluationMonitor, Watches
from gatekeeper.gate.measuring.run_parts import count_again, lost_trials
from gatekeeper.gate.plan.plan import Job

if TYPE_CHECKING:
    from gatekeeper.sampling.runner import Run, Watch

AskLost = Callable[[Sequence[Trial], "Watch", "Run"], Awaitable["Run"]]
"""Runs trials within what the run so far leaves of the limits."""


async def retake_lost(jobs: Sequence[Job], watches: Watches, sampled: Run, ask: AskLost) -> Run:
    """Sample the lost trials again, and judge each contract as if their answers had come at once.
    Returns the run with these calls."""
    awaited = {id(trial) for job in jobs for trial in _sampled_whole(watches.of(job))}
    lost = [trial for trial in lost_trials(sampled) if id(trial) in awaited]
    if not lost:
        return sampled
    watch = _LostWatch(watches)
    watches.expect(lost)
    again = await ask(lost, watch, sampled)
    found = {id(o.sample.trial): o for o in watch.outcomes if o.sample.completion}
    watches.judge_again(sampled.samples, found)
    stopped = again if again.ended == "interrupted" else sampled
    return replace(
        count_again(sampled, again), ended=stopped.ended, detail=stopped.detail, author=False
    )


def _sampled_whole(monitors: Sequence[EvaluationMonitor]) -> list[Trial]:
    """Return the trials of the evaluations that needed every sample."""
    if any(monitor.regressed for monitor in monitors):
        return []
    return [trial for m in monitors if m.complete for trial in m.evaluation.trials]


class _LostWatch:
    """Wants every lost trial."""

    def __init__(self, watches: Watches) -> None:
        self._watches = watches
        self.outcomes: list[Outcome] = []

    def wants(self, trial: Trial) -> bool:  # noqa: ARG002
        return True

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        return self._watches.questions(sample)

    def evaluate(self, sample: Sample) -> Outcome:
        return self._watches.evaluate(sample)

    def add(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self._watches.count(outcome.sample)
