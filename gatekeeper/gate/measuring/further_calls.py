"""What a run asks after its planned samples: for lost answers once more, for fresh samples of what
seems to have broken, and for judges' preferences. Joins these parts, and counts their calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.trial import Completion, Outcome, QuestionId, Request, Sample, Trial
from gatekeeper.gate.comparison.confirmation import STEPS, Confirming, Step
from gatekeeper.gate.comparison.preference import EvaluationPreferences, has_preferences
from gatekeeper.gate.measuring.monitor import EvaluationMonitor, Watches
from gatekeeper.gate.plan.alpha import confirms_fixtures, shared_level
from gatekeeper.gate.plan.plan import Job
from gatekeeper.gate.results.parts import (
    Calls,
    JudgeCalls,
    ModelUse,
    price_if_all_known,
    sum_if_all_known,
)
from gatekeeper.sampling.judging import JudgeTally
from gatekeeper.sampling.runner import EverySample, Run, Watch

Amount = TypeVar("Amount", int, float)


class Ask(Protocol):
    """Runs trials within what the run so far leaves of the limits."""

    def __call__(
        self,
        trials: Sequence[Trial],
        watch: Watch,
        so_far: Run,
        *,
        known: Mapping[int, Completion] | None = None,
        at_once: int | None = None,
    ) -> Awaitable[Run]:
        """Return what was answered. `known` are answers by the trial's index, and `at_once` is the
        most calls at the same time."""
        ...


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
        cost_usd=_sum_of_known([first.cost_usd, second.cost_usd]),
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
        _sum_of_known([a.cost_usd, b.cost_usd]),
    )


def count_calls(sampled: Run) -> Calls:
    """Return how many calls were made and not made, and what providers say of their tokens."""
    answers = [s.completion for s in sampled.samples if s.completion and not s.shared]
    paid = [completion for completion in answers if not completion.replayed]
    others = _answers_of_others(sampled.samples)
    every = [*paid, *(answer for each in others.values() for answer in each)]
    by_contract: dict[str, dict[str, ModelUse]] = defaultdict(dict)
    for (contract, model), answers_of in others.items():
        by_contract[contract][model] = _use(answers_of)
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
        of_others=by_contract,
    )


def _answers_of_others(samples: Iterable[Sample]) -> dict[tuple[str, str], list[Completion]]:
    """Return the paid answers of judges and simulated users by contract and model, once each:
    samples share them. The same question about an anchor is asked, and paid for, again."""
    found: dict[tuple[str, str], list[Completion]] = defaultdict(list)
    counted: set[tuple[QuestionId, int]] = set()
    for sample in samples:
        users = sample.completion.users if sample.completion else ()
        for answer in (*sample.judge_answers, *users):
            said = answer.completion
            if said and not said.replayed and (answer.asked, id(said)) not in counted:
                counted.add((answer.asked, id(said)))
                found[sample.trial.contract, answer.asked.model].append(said)
    return found


def _use(answers: Sequence[Completion]) -> ModelUse:
    """Add up what answers of one model took."""
    return ModelUse(
        len(answers),
        sum_if_all_known(answer.prompt_tokens for answer in answers),
        sum_if_all_known(answer.completion_tokens for answer in answers),
        price_if_all_known(answer.cost_usd for answer in answers),
    )


def _is_judged(sample: Sample) -> bool:
    return any(answer.completion for answer in sample.judge_answers)


def _asked(tally: JudgeTally, samples: int) -> JudgeCalls | None:
    """Return the calls to judges or simulated users, which helped so many samples; None if there is
    none."""
    if not (tally.made or tally.cached or tally.failed):
        return None
    cost = tally.cost_usd if tally.made else 0.0
    return JudgeCalls(tally.made, tally.cached, tally.failed, samples, cost)


def _sum_of_known(counts: Iterable[Amount | None]) -> Amount | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


# Asks once more, at the end of sampling, for the answers that were lost.
#
# Calls fail more often on long answers, so lost answers are not lost by chance. Each lost call gets
# one more try, on base and on head alike. A contract that ended early needs none: its result was
# certain whatever the lost answers would have been.


async def retake_lost(jobs: Sequence[Job], watches: Watches, sampled: Run, ask: Ask) -> Run:
    """Sample the lost trials again, and judge each contract as if their answers had come at once.
    Returns the run with these calls."""
    if not sampled.failed:
        return sampled
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


class _LostWatch(EverySample):
    """Wants every lost trial."""

    def __init__(self, watches: Watches) -> None:
        super().__init__(watches.questions, watches.evaluate)
        self._watches = watches

    def add(self, outcome: Outcome) -> None:
        super().add(outcome)
        self._watches.count(outcome.sample)


async def confirm_broken(jobs: Sequence[Job], watches: Watches, sampled: Run, ask: Ask) -> Run:
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
    ask: Ask,
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


async def compare_pairs(jobs: Sequence[Job], watches: Watches, sampled: Run, ask: Ask) -> Run:
    """Have judges compare the outputs of every contract that asks for it, once both samples of a
    pair are there, and give each monitor its results. Returns the run with these calls counted."""
    found = [
        (watch, EvaluationPreferences(watch.evaluation, _preference_level(watch), watch.outcomes))
        for job in jobs
        if has_preferences(job) and not any(w.regressed for w in watches.of(job))
        for watch in watches.of(job)
        if watch.level is not None
    ]
    heads = [(pairs, outcome.sample) for _, pairs in found for outcome in pairs.heads()]
    asked = None
    if heads and sampled.ended == "done":
        watch = _PairWatch({id(sample.trial): pairs for pairs, sample in heads})
        answers = {number: sample.completion for number, (_, sample) in enumerate(heads)}
        known = {number: answer for number, answer in answers.items() if answer is not None}
        asked = await ask([sample.trial for _, sample in heads], watch, sampled, known=known)
    for monitor, pairs in found:
        monitor.preferences = pairs.finish()  # what was not asked about is not measured
        monitor.outcomes = [pairs.with_findings(outcome) for outcome in monitor.outcomes]
    if asked is None:
        return sampled
    # The samples themselves are those of the run, and count there.
    return count_together(sampled, replace(asked, samples=(), failed=0, surplus=0))


def _preference_level(monitor: EvaluationMonitor) -> float:
    return shared_level(monitor.evaluation.contract, monitor.level or 0.0, "preference")


class _PairWatch:
    """Wants a pair until the comparisons of its evaluation are decided."""

    def __init__(self, by_trial: Mapping[int, EvaluationPreferences]) -> None:
        self._by_trial = by_trial

    def wants(self, trial: Trial) -> bool:
        return not self._by_trial[id(trial)].settled

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        return self._by_trial[id(sample.trial)].questions(sample)

    def evaluate(self, sample: Sample) -> Outcome:
        return Outcome(sample)

    def add(self, outcome: Outcome) -> None:
        self._by_trial[id(outcome.sample.trial)].take(outcome.sample)
