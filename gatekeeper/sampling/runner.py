"""Turns trials into samples: concurrent calls, retries and limits, evidence in plan order.

Calls finish in any order, but `Watch.add` sees their samples in plan order, and no sample of a
contract that earlier ones already decided. The result of a run therefore depends on the models'
answers, never on which connection was faster.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Protocol

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.trial import Completion, Outcome, Request, Sample, Trial
from gatekeeper.errors import CallFailed, NotRecorded
from gatekeeper.sampling.calls import SharedCall, State, group_calls
from gatekeeper.sampling.client import AnswerMissing, ModelClient
from gatekeeper.sampling.conversations import SharedAnswers, converse
from gatekeeper.sampling.judging import JudgeTally, Judging, OnJudgeAnswer
from gatekeeper.sampling.limits import Clock, LimitReached, Meter, Price
from gatekeeper.sampling.pace import FailureCount, ModelCalls, NotNeeded, Order, pace_of_each_model
from gatekeeper.sampling.retries import RetryPolicy, Sleep
from gatekeeper.sampling.stored_text import MOST_OF_MESSAGE, is_long, shorten, stored_completion

CALLS_AHEAD = 8
"""How many calls per concurrent one may be started beyond the first that has no answer yet.

Further calls would be paid for before they can be evidence. With fewer, the run waits for every
slow answer; more save no time: `benchmarks/ahead.py` has the figures.
"""

Ended = Literal["done", "limit", "interrupted", "fatal"]

OnAnswer = Callable[[Trial, Completion], None]

_CANCEL_SECONDS = 1.0  # a client that does not heed its cancellation is left behind after this


class Watch(Protocol):
    """Receives the evidence as it arrives, and decides when there is enough."""

    def wants(self, trial: Trial) -> bool:
        """Return whether the trial can still change anything. Once False, always False."""
        ...

    def questions(self, sample: Sample) -> Sequence[Request]:
        """Return what judges are still to be asked about a sample with a completion, given the
        judge answers that it carries. Called in any order."""
        ...

    def evaluate(self, sample: Sample) -> Outcome:
        """Evaluate a sample, and cut texts that are too long. Called in any order."""
        ...

    def add(self, outcome: Outcome) -> None:
        """Add an evaluated sample to the evidence. Called in plan order."""
        ...


class EverySample:
    """A watch that wants every sample, and keeps what is evaluated."""

    def __init__(
        self,
        questions: Callable[[Sample], Sequence[Request]],
        evaluate: Callable[[Sample], Outcome],
    ) -> None:
        self.outcomes: list[Outcome] = []
        self.questions, self.evaluate = questions, evaluate

    def wants(self, _: Trial) -> bool:
        return True

    def add(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


@dataclass(frozen=True, slots=True)
class Run:
    """What was gathered, and how it ended. `made` counts the requests sent, with retries. `saved`
    counts the planned calls that were not needed any more; trials that share a call were planned as
    one. `failed` counts the samples without an answer, `unrecorded`, by recording, the requests
    that it has none for: no model was called, nor for answers from a recording. `surplus` counts
    the calls that were under way when their contract was decided: paid for and in `made`, but not
    evidence. `throttled` counts the requests that a provider refused because of load. `judged` are
    the calls to judges, `simulated` those to simulated users; those that were sent are in `made`
    too. `cost_usd` sums the known costs, None if none is known; `charged_usd` adds the highest
    possible cost of each other call. `author` says that a fatal failure is the author's to fix
    (exit 2).
    """

    samples: tuple[Sample, ...]
    made: int
    saved: int
    failed: int
    surplus: int
    cost_usd: float | None
    ended: Ended
    detail: str | None = None
    author: bool = False
    unrecorded: Mapping[str, int] = field(default_factory=dict)
    throttled: int = 0
    judged: JudgeTally = field(default_factory=JudgeTally)
    simulated: JudgeTally = field(default_factory=JudgeTally)
    charged_usd: float = 0.0


async def run_trials(
    trials: Sequence[Trial],
    client: ModelClient,
    watch: Watch,
    limits: Limits,
    *,
    known: Mapping[int, Completion] | None = None,
    retry: RetryPolicy | None = None,
    stop: asyncio.Event | None = None,
    clock: Clock = time.monotonic,
    sleep: Sleep = asyncio.sleep,
    price: Price | None = None,
    on_answer: OnAnswer | None = None,
    on_refusal: Callable[[], None] | None = None,
    together: bool = False,
    judged: Mapping[str, Completion] | None = None,
    on_judge_answer: OnJudgeAnswer | None = None,
    holds: Callable[[Trial], bool] = lambda _: False,
) -> Run:
    """Run the trials, as many as are needed and allowed.

    `known` are the answers of trials, by index, for which no model is called. `stop` ends the run
    with the samples so far. The caller closes the client. `price` gives the highest possible cost
    of a request; without one, the limit counts only actual costs. `on_answer` gets each answer,
    with a trial that requested it; `on_refusal` is called for each request that is refused because
    of load. `together` starts all allowed calls at once. `judged` are known answers of judges, by
    `question_key`; `on_judge_answer` gets each new one. `holds` tells whether a trial has to wait
    for the samples before it, which may show that it is not needed.
    """
    meter = Meter(limits, clock, sleep, price, together=together)
    width = max(1, len(trials) if together else limits.concurrency)
    retry = retry or RetryPolicy()
    pace = pace_of_each_model(width, retry, clock, sleep, client, on_refusal)
    calls = ModelCalls(client, retry, meter, sleep, pace)
    runner = _Runner(trials, known or {}, watch, retry, meter, calls, width, on_answer)
    runner.judging = Judging(calls, retry, judged or {}, on_judge_answer, runner.give_up)
    runner.users = Judging(calls, retry, {}, None, runner.give_up, "simulated user")
    runner.holds = holds
    return await runner.run(stop or asyncio.Event())


class _Runner:
    judging: Judging
    users: Judging
    holds: Callable[[Trial], bool]

    def __init__(
        self,
        trials: Sequence[Trial],
        known: Mapping[int, Completion],
        watch: Watch,
        retry: RetryPolicy,
        meter: Meter,
        model_calls: ModelCalls,
        width: int,
        on_answer: OnAnswer | None,
    ) -> None:
        self._width = width
        self._trials = trials
        self._watch = watch
        self._meter = meter
        self._model_calls = model_calls
        self._on_answer = on_answer
        self._shared = SharedAnswers(trials, known)
        self._calls, self._call_of = group_calls(trials, known)
        for call in self._calls:
            if call.known and self._has_questions(call):
                call.state, call.queued = "waiting", True
        self._queue = deque(call for call in self._calls if call.queued)
        self._held = deque[SharedCall]()  # in plan order, so the first is released first
        # Taken by each call as it leaves the queue, given back when its first sample is delivered.
        self._room = width * CALLS_AHEAD
        self._moved = asyncio.Event()
        self._running: set[SharedCall] = set()
        self._failures = FailureCount(retry)
        self._failed = 0
        self._samples: list[Sample] = []
        self._delivered = 0
        self._ended: Ended = "done"
        self._detail: str | None = None
        self._author = False
        self._halt = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> Run:
        self._deliver()
        # Not in a TaskGroup: after an error it waits for clients that heed no cancellation.
        workers = [asyncio.create_task(self._work()) for _ in range(self._width)]
        work = asyncio.create_task(asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION))
        signals = [asyncio.create_task(event.wait()) for event in (self._halt, stop)]
        try:
            await asyncio.wait(
                [work, *signals],
                timeout=self._meter.seconds_left(),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if stop.is_set() and not work.done():
                self._end("interrupted", "interrupted")
            elif not work.done() and not self._halt.is_set():
                self._end("limit", self._meter.out_of_time())
        finally:
            if any(not worker.done() or worker.cancelled() for worker in workers):
                self._end("interrupted", "interrupted")  # a worker that goes on makes no more calls
            await _cancel_all([work, *signals, *workers])
        self._deliver(past_gaps=True)
        found = self._result()
        # The judges refer to this runner, so its calls would stay until garbage is collected.
        for calls in (self._calls, self._call_of, self._queue, self._held):
            calls.clear()
        return found

    def _free_call(self) -> SharedCall | None:
        """Return the first call of the plan that may start now; None if it is to wait."""
        if self._held and not self._is_held(self._held[0]):
            return self._held.popleft()
        while self._queue and self._room:
            self._room -= 1
            call = self._queue.popleft()
            if not self._is_held(call):
                return call
            self._held.append(call)
        # Without a call under way, no sample would come that releases one.
        return self._held.popleft() if self._held and not self._running else None

    def _is_held(self, call: SharedCall) -> bool:
        wanted = [self._trials[i] for i in call.trials if self._watch.wants(self._trials[i])]
        return bool(wanted) and all(map(self.holds, wanted))

    async def _work(self) -> None:
        while self._ended == "done" and (self._queue or self._held):
            call = self._free_call()
            if call is None:
                self._moved.clear()
                await self._moved.wait()
                continue
            if not self._wanted(call):
                self._settle(call, "unwanted")
                continue
            # In the worker's own task, so the next call is sent before other answers are looked at.
            # Calls whose answers came together would otherwise wait for each other again and again.
            with call.cancellable():
                self._running.add(call)
                await self._make(call)
            self._running.discard(call)
            if call.free or call.error is not None:
                await asyncio.sleep(0)  # maybe nothing was waited for: signals come through here

    async def _make(self, call: SharedCall) -> None:
        try:
            if call.completion is None:
                await self._answer(call)
            await self._ask_judges(call)
        except NotNeeded:
            if call.state == "running":
                self._settle(call, "surplus")
            elif self._ended == "done":
                self._settle(call, "unwanted")
        except LimitReached as limit:
            call.state = "lost" if call.state == "running" else "waiting"
            self._end("limit", str(limit))
        except AnswerMissing as missing:
            call.state = "lost"
            self._end("interrupted", str(missing))
        except CallFailed as failure:
            call.unrecorded |= isinstance(failure, NotRecorded)
            call.error = shorten(str(failure), MOST_OF_MESSAGE)
            self._settle(call, "answered")
            reason = self._failures.reason_to_give_up(failure)
            if reason is not None:
                self.give_up(reason, failure)
        else:
            self._settle(call, "answered")

    async def _answer(self, call: SharedCall) -> None:
        """Get the model's answer."""

        def start() -> None:
            call.state = "running"

        async def make(request: Request) -> Completion:
            call.order = Order(request, lambda: self._is_needed(call), start)
            try:
                answer = await self._model_calls.make(call.order)
            finally:
                call.unrecorded, call.order = call.order.unrecorded, None
            self._failures.succeeded()
            return answer

        user = partial(self.users.answer, is_needed=lambda: self._is_needed(call), caller=call)
        trial = self._trials[call.trials[0]]
        ask = partial(self._shared.ask, trial, make=make)
        call.completion = await converse(trial.request, ask, user)
        if self._on_answer and not call.free:
            self._on_answer(trial, call.completion)

    async def _ask_judges(self, call: SharedCall) -> None:
        """Ask the judges about each sample of the call that is wanted."""
        is_needed = partial(self._is_needed, call)
        for index in call.trials:
            if not self._watch.wants(self._trials[index]):
                continue
            answers = await self.judging.answers_about(
                self._sample(index, call), self._watch.questions, is_needed, call
            )
            if answers:
                call.judge_answers[index] = answers

    def _has_questions(self, call: SharedCall) -> bool:
        return any(bool(self._watch.questions(self._sample(index, call))) for index in call.trials)

    def give_up(self, reason: str, failure: CallFailed) -> None:
        """End the run, because calling on would not help."""
        if failure.fatal:
            self._author = failure.author
        self._end("fatal", reason)

    def _is_needed(self, call: SharedCall) -> bool:
        """Return whether the call is needed, and had started before if the run has ended."""
        return self._wanted(call) and (self._ended == "done" or call.state == "running")

    def _wanted(self, call: SharedCall) -> bool:
        return any(self._watch.wants(self._trials[index]) for index in call.trials)

    def _settle(self, call: SharedCall, state: State) -> None:
        call.state = state
        self._let_go_of_long_answer(call)
        self._deliver()

    def _let_go_of_long_answer(self, call: SharedCall) -> None:
        """Evaluate a long answer at once and cut it: a hundred that wait for their turn would fill
        the memory."""
        if call.completion is not None and is_long(call.completion):
            wanted = [index for index in call.trials if self._watch.wants(self._trials[index])]
            call.outcomes = {i: self._watch.evaluate(self._sample(i, call)) for i in wanted}
            kept = next((o.sample.completion for o in call.outcomes.values()), None)
            call.completion = kept or stored_completion(call.completion)

    def _deliver(self, *, past_gaps: bool = False) -> None:
        """Hand over the samples that are next in the plan. Only wanted trials are waited for."""
        before = len(self._samples)
        while self._delivered < len(self._trials):
            index, call = self._delivered, self._call_of[self._delivered]
            awaited = not call.is_over and self._watch.wants(self._trials[index])
            if (call.state == "lost" or awaited) and not past_gaps:
                break
            self._delivered += 1
            if index == call.trials[0] and call.queued:
                self._room += 1
            if call.state == "answered":
                self._add(index, call)
        self._moved.set()
        # Samples that end the sampling of others end that of their own contract too, so the
        # running calls are looked through only if a new sample's own trial is no longer wanted.
        if any(not self._watch.wants(sample.trial) for sample in self._samples[before:]):
            self._cancel_unwanted()

    def _add(self, index: int, call: SharedCall) -> None:
        trial = self._trials[index]
        if not self._watch.wants(trial):
            return
        self._failed += call.completion is None and not call.unrecorded
        outcome = call.outcomes.pop(index, None) or self._watch.evaluate(self._sample(index, call))
        if outcome.sample.shared != call.used:
            outcome = replace(outcome, sample=replace(outcome.sample, shared=call.used))
        call.used = True
        self._samples.append(outcome.sample)
        self._watch.add(outcome)

    def _sample(self, index: int, call: SharedCall) -> Sample:
        output = call.completion.text if call.completion else ""
        answered = (self._trials[index], call.completion, call.error, output)
        judged = call.judge_answers.get(index, ())
        return Sample(*answered, shared=call.used, judge_answers=judged)

    def _cancel_unwanted(self) -> None:
        """Cancel the calls that cannot change anything any more.

        One that money was set aside for goes on while other calls are wanted: cancelled, it would
        count with the most that it can cost, against the limit that the others need.
        """
        unwanted = [c for c in self._running if not c.is_over and not self._wanted(c)]
        if any(c.order and c.order.holds_money for c in unwanted) and self._are_others_wanted():
            unwanted = [c for c in unwanted if not (c.order and c.order.holds_money)]
        for call in unwanted:
            call.cancel()

    def _are_others_wanted(self) -> bool:
        ahead = (self._call_of[index] for index in range(self._delivered, len(self._trials)))
        return any(not call.is_over and self._wanted(call) for call in ahead)

    def _end(self, ended: Ended, detail: str) -> None:
        if self._ended != "done":
            return
        self._ended, self._detail = ended, detail
        self._moved.set()  # whoever waits to go ahead finds that there is no more to do
        if ended == "fatal":
            self._halt.set()

    def _result(self) -> Run:
        unwanted = sum(
            call.state == "unwanted" or (call.known and not call.used) for call in self._calls
        )
        return Run(
            samples=tuple(self._samples),
            made=self._meter.made,
            saved=unwanted,
            failed=self._failed,
            unrecorded=self._model_calls.unrecorded,
            throttled=self._model_calls.throttled,
            surplus=sum(call.is_surplus for call in self._calls),
            cost_usd=self._meter.cost_usd,
            ended=self._ended,
            detail=self._detail,
            author=self._author,
            judged=self.judging.tally,
            simulated=self.users.tally,
            charged_usd=self._meter.charged_usd,
        )


async def _cancel_all(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel the tasks; raise the error of one that failed for another reason."""
    for task in tasks:
        task.cancel()
    done, _ = await asyncio.wait(tasks, timeout=_CANCEL_SECONDS)
    for error in [task.exception() for task in done if not task.cancelled()]:
        if error is not None:
            raise error
