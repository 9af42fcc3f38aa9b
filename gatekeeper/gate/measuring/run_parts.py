"""Joins parts of a run that follow each other, counts its calls with their tokens, and asks once
more for lost answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.trial import Completion, Outcome, QuestionId, Request, Sample, Trial
from gatekeeper.gate.results.parts import Calls, JudgeCalls, sum_if_all_known

if TYPE_CHECKING:
    from gatekeeper.gate.measuring.monitor import EvaluationMonitor, Watches
    from gatekeeper.gate.plan.plan import Job
    from gatekeeper.sampling.judging import JudgeTally
    from gatekeeper.sampling.runner import Run, Watch


def limits_left(limits: Limits, sampled: Run) -> Limits:
    """Return what the run may still spend; the caller knows how much time is left."""
    return limits.less(sampled.made, sampled.cost_usd)


def count_together(first: Run, second: Run) -> Run:
    """Return both runs as one. What the second did not need was never planned."""
    return replace(
        first,
        samples=(*first.samples, *second.samples),
        made=first.made + second.made,
        failed=first.failed + second.failed,
        surplus=first.surplus + second.surplus,
        cost_usd=_sum(first.cost_usd, second.cost_usd),
        throttled=first.throttled + second.throttled,
        unrecorded={**first.unrecorded, **second.unrecorded},
        ended=second.ended,
        detail=second.detail,
        author=second.author,
        judged=_both(first.judged, second.judged),
        simulated=_both(first.simulated, second.simulated),
        charged_usd=first.charged_usd + second.charged_usd,
    )


def count_again(first: Run, again: Run) -> Run:
    """Return a run of which `again` asked once more for what was lost."""
    found = {id(sample.trial): sample for sample in again.samples if sample.completion}
    samples = tuple(found.get(id(sample.trial), sample) for sample in first.samples)
    return replace(count_together(first, again), samples=samples, failed=first.failed - len(found))


def retaken(first: Run, again: Run) -> Run:
    """Return a run whose lost answers were asked for once more, at its end: a limit that left some
    of them out did not end it."""
    stopped = again if again.ended == "interrupted" else first
    both = count_again(first, again)
    return replace(both, ended=stopped.ended, detail=stopped.detail, author=False)


def lost_trials(run: Run) -> list[Trial]:
    """Return the trials that got no answer, and may get one. A recording has no other answer."""
    if run.ended != "done" or run.unrecorded:
        return []
    return [sample.trial for sample in run.samples if sample.completion is None]


def _both(a: JudgeTally, b: JudgeTally) -> JudgeTally:
    return type(a)(
        a.made + b.made,
        a.answered + b.answered,
        a.cached + b.cached,
        a.failed + b.failed,
        _sum(a.cost_usd, b.cost_usd),
    )


def _sum(*costs: float | None) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


# Counts the calls of a run, and the tokens that they took.


def count_calls(sampled: Run) -> Calls:
    """Return how many calls were made and not made, and what providers say of their tokens."""
    answers = [s.completion for s in sampled.samples if s.completion and not s.shared]
    paid = [completion for completion in answers if not completion.replayed]
    every = [*paid, *_answers_of_others(sampled.samples)]
    return Calls(
        made=sampled.made,
        cached=len(answers) - len(paid),
        saved=sampled.saved,
        failed=sampled.failed,
        surplus=sampled.surplus,
        unrecorded=sum(sampled.unrecorded.values()),
        throttled=sampled.throttled,
        prompt_tokens=sum_if_all_known(c.prompt_tokens for c in every),
        completion_tokens=sum_if_all_known(c.completion_tokens for c in every),
        cached_tokens=_sum_of_known(c.cached_tokens for c in paid),
        cache_write_tokens=_sum_of_known(c.cache_write_tokens for c in paid),
        reasoning_tokens=_sum_of_known(c.reasoning_tokens for c in paid),
        judge=_asked(sampled.judged, sum(map(_is_judged, sampled.samples))),
        user=_asked(sampled.simulated, sum(bool(answer.users) for answer in answers)),
    )


def _answers_of_others(samples: Iterable[Sample]) -> Iterable[Completion]:
    """Return the paid answers of judges and simulated users, once each: samples share them."""
    found: dict[QuestionId, Completion] = {}
    for sample in samples:
        users = sample.completion.users if sample.completion else ()
        for answer in (*sample.judge_answers, *users):
            if answer.completion and not answer.completion.replayed:
                found[answer.asked] = answer.completion
    return found.values()


def _is_judged(sample: Sample) -> bool:
    return any(answer.completion for answer in sample.judge_answers)


def _asked(tally: JudgeTally, samples: int) -> JudgeCalls | None:
    """Return the calls to judges or simulated users, which helped so many samples; None if there is
    none."""
    if not (tally.made or tally.cached or tally.failed):
        return None
    cost = tally.cost_usd if tally.made else 0.0
    return JudgeCalls(tally.made, tally.cached, tally.failed, samples, cost)


def _sum_of_known(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


# Asks once more, at the end of sampling, for the answers that were lost.
#
# Calls fail more often on long answers, so lost answers are not lost by chance. Each lost call gets
# one more try, on base and on head alike. A contract that ended early needs none: its result was
# certain whatever the lost answers would have been.


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
    return retaken(sampled, again)


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
