"""Trials in, samples out: concurrent calls, retries and limits, evidence in plan order.

Calls finish in any order, but `Watch.add` sees their samples in plan order and no sample
of a contract that was already decided by the ones before it. So what a run concludes
depends on what the models said, never on which connection was faster.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol

from gatekeeper.contract.identity import request_digest
from gatekeeper.contract.policy import Limits
from gatekeeper.contract.trial import Completion, Request, Sample, Trial
from gatekeeper.errors import CallFailed, NotRecorded
from gatekeeper.sampling.client import LimitedClient, ModelClient
from gatekeeper.sampling.meter import Clock, LimitReached, Meter
from gatekeeper.sampling.retry import RetryPolicy, Sleep, call_with_retries, within

Ended = Literal["done", "limit", "interrupted", "fatal"]

CALLS_AHEAD = 8
"""How many calls per concurrent one may be started beyond the first that has no answer yet.

What is beyond it is paid for before it can be evidence. Fewer make the run wait for every slow
answer, more save nothing: `benchmarks/ahead.py` has the figures.
"""

_CANCEL_SECONDS = 1.0  # a client that does not heed its cancellation is left behind after this


class Watch(Protocol):
    """Who sees the evidence as it comes in, and knows when there is enough of it."""

    def wants(self, trial: Trial) -> bool:
        """Whether the trial can still change anything. Once False for a trial, always False."""
        ...

    def add(self, sample: Sample) -> None:
        """Take a sample. Called in plan order."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """What was gathered, and how it ended.

    `made` counts the requests sent, retries included. `saved` counts the planned trials
    that needed no call: shared by the other arm, or not wanted any more. `failed` counts
    the samples without an answer, `unrecorded`, by recording, the requests that it has none
    for: no model was asked, and neither was it for what a recording answers. `surplus` counts
    the calls that were under way when their contract was decided: paid for and in `made`, but
    not evidence. `cached` counts the answers that were known before.
    `cost_usd` sums the known costs; None where none is known.
    `author` says that a fatal failure is the author's to fix (exit 2).
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
) -> Run:
    """Run the trials, as many as are wanted and allowed.

    `known` are the answers of trials, by their place, for which no model is asked.
    `stop` ends the run with what was gathered. Closing the client is left to its owner.
    """
    meter = Meter(limits, clock, sleep)
    width = max(1, limits.concurrency)
    retry = retry or RetryPolicy()
    runner = _Runner(trials, known or {}, client, watch, retry, meter, sleep, width)
    return await runner.run(stop or asyncio.Event())


State = Literal["waiting", "running", "answered", "unwanted", "surplus", "lost"]


@dataclass(eq=False, slots=True)
class _Call:
    """One call to a model, for one trial or for the identical ones of both arms.

    `unwanted` was never started, `surplus` was started and cancelled, `lost` was started and
    ended by a limit. `used` says that at least one of its trials took the answer as evidence,
    `known` that no model is asked.
    """

    trials: list[int]
    state: State = "waiting"
    task: asyncio.Task[None] | None = None
    completion: Completion | None = None
    error: str | None = None
    used: bool = False
    known: bool = False
    unrecorded: bool = False

    @property
    def free(self) -> bool:
        """Whether no model was asked."""
        replayed = self.completion is not None and self.completion.replayed
        return self.known or self.unrecorded or replayed


class _Runner:
    def __init__(
        self,
        trials: Sequence[Trial],
        known: Mapping[int, Completion],
        client: ModelClient,
        watch: Watch,
        retry: RetryPolicy,
        meter: Meter,
        sleep: Sleep,
        width: int,
    ) -> None:
        self._width = width
        self._trials = trials
        self._client = client
        self._watch = watch
        self._retry = retry
        self._meter = meter
        self._sleep = sleep
        self._calls, self._call_of = _group(trials, known)
        self._queue = iter([call for call in self._calls if not call.known])
        # Taken by each call before it starts, given back when its first sample is delivered.
        self._ahead = asyncio.Semaphore(width * CALLS_AHEAD)
        self._running: set[_Call] = set()
        self._slots: dict[str, asyncio.Semaphore | None] = {}
        self._unrecorded: Counter[str] = Counter()
        self._failed = 0
        self._samples: list[Sample] = []
        self._delivered = 0
        self._successes = 0
        self._failures_in_a_row = 0
        self._ended: Ended = "done"
        self._detail: str | None = None
        self._author = False
        self._halt = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> Run:
        self._deliver()
        work = asyncio.create_task(self._work_side_by_side())
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
            await self._cancel_all([work, *signals])
        self._deliver(past_gaps=True)
        return self._result()

    async def _cancel_all(self, tasks: Sequence[asyncio.Task[Any]]) -> None:
        """Cancel what still runs; what failed for a reason of its own is raised."""
        calls = [call.task for call in self._running if call.task is not None]
        for task in (*tasks, *calls):
            task.cancel()
        done, _ = await asyncio.wait([*tasks, *calls], timeout=_CANCEL_SECONDS)
        for task in done:
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def _work_side_by_side(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._width):
                    group.create_task(self._work())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _work(self) -> None:
        for call in self._queue:
            await self._ahead.acquire()
            if self._ended != "done":
                return
            if not self._wanted(call):
                self._settle(call, "unwanted")
                continue
            slot = self._slot(self._trials[call.trials[0]].request.model)
            async with slot or contextlib.nullcontext():
                # In a task of its own, which can be cancelled without its worker.
                call.task = asyncio.create_task(self._make(call))
                self._running.add(call)
                await asyncio.wait([call.task])
                self._running.discard(call)
            if not call.task.cancelled():
                call.task.result()

    async def _make(self, call: _Call) -> None:
        await self._meter.wait_for_turn()
        if self._ended != "done":
            return
        if not self._wanted(call):
            self._settle(call, "unwanted")
            return
        try:
            call.completion = await call_with_retries(
                lambda: self._attempt(call), self._retry, self._sleep
            )
        except LimitReached as limit:
            call.state = "lost" if call.state == "running" else "waiting"
            self._end("limit", str(limit))
        except CallFailed as failure:
            call.error = str(failure)
            self._settle(call, "answered")
            self._count_failure(failure)
        else:
            self._successes += 1
            self._failures_in_a_row = 0
            self._settle(call, "answered")

    async def _attempt(self, call: _Call) -> Completion:
        if call.state == "running":
            await self._meter.wait_for_turn()
        self._meter.start()
        call.state = "running"
        request = self._trials[call.trials[0]].request
        completion, called = None, True
        try:
            completion = await within(self._retry.timeout_seconds, self._client.complete(request))
            called = not completion.replayed
        except NotRecorded as missing:
            self._unrecorded[missing.path] += 1
            call.unrecorded, called = True, False
            raise
        finally:
            self._meter.finish(completion, called=called)
        return completion

    def _slot(self, model: str) -> asyncio.Semaphore | None:
        if model not in self._slots:
            width = self._client.slots(model) if isinstance(self._client, LimitedClient) else None
            self._slots[model] = None if width is None else asyncio.Semaphore(width)
        return self._slots[model]

    def _wanted(self, call: _Call) -> bool:
        return any(self._watch.wants(self._trials[index]) for index in call.trials)

    def _settle(self, call: _Call, state: State) -> None:
        call.state = state
        self._deliver()

    def _deliver(self, *, past_gaps: bool = False) -> None:
        """Hand over the samples that are next in the plan."""
        before = len(self._samples)
        while self._delivered < len(self._trials):
            index = self._delivered
            call = self._call_of[index]
            if call.state in ("waiting", "running", "lost") and not past_gaps:
                break
            self._delivered += 1
            if index == call.trials[0] and not call.known:
                self._ahead.release()
            if call.state == "answered":
                self._add(index, call)
        if len(self._samples) > before:
            self._cancel_unwanted()

    def _add(self, index: int, call: _Call) -> None:
        trial = self._trials[index]
        if not self._watch.wants(trial):
            return
        call.used = True
        self._failed += call.completion is None and not call.unrecorded
        sample = Sample(
            trial=trial,
            completion=call.completion,
            error=call.error,
            output=call.completion.text if call.completion else "",
            shared=index != call.trials[0],
        )
        self._samples.append(sample)
        self._watch.add(sample)

    def _cancel_unwanted(self) -> None:
        """Cancel the calls that cannot change anything any more."""
        for call in self._running:
            if call.state == "running" and call.task is not None and not self._wanted(call):
                call.state = "surplus"
                call.task.cancel()

    def _count_failure(self, failure: CallFailed) -> None:
        if isinstance(failure, NotRecorded):
            return  # says nothing of the next request, and costs nothing
        self._failures_in_a_row += 1
        if failure.fatal:
            self._author = failure.author
            self._end("fatal", str(failure))
            return
        patience = self._retry.give_up_after * (3 if self._successes else 1)
        if self._failures_in_a_row >= patience:
            self._end("fatal", f"{patience} calls failed in a row, the last with: {failure}")

    def _end(self, ended: Ended, detail: str) -> None:
        if self._ended != "done":
            return
        self._ended, self._detail = ended, detail
        for _ in range(self._width):  # whoever waits to go ahead finds that there is no more to do
            self._ahead.release()
        if ended == "fatal":
            self._halt.set()

    def _is_surplus(self, call: _Call) -> bool:
        """Paid for, and evidence for nobody: not for any of the trials that share the call."""
        answered = call.state == "answered" and not call.free
        return call.state == "surplus" or (answered and not call.used)

    def _result(self) -> Run:
        unwanted = sum(
            len(call.trials)
            for call in self._calls
            if call.state == "unwanted" or (call.known and not call.used)
        )
        return Run(
            samples=tuple(self._samples),
            made=self._meter.made,
            saved=unwanted + sum(sample.shared for sample in self._samples),
            failed=self._failed,
            unrecorded=self._unrecorded,
            surplus=sum(self._is_surplus(call) for call in self._calls),
            cost_usd=self._meter.cost_usd,
            ended=self._ended,
            detail=self._detail,
            author=self._author,
        )


def distinct_requests(trials: Sequence[Trial]) -> tuple[Request, ...]:
    """The requests that the trials need when nothing stops early: shared ones once."""
    calls, _ = _group(trials)
    return tuple(trials[call.trials[0]].request for call in calls)


def _group(
    trials: Sequence[Trial], known: Mapping[int, Completion] = MappingProxyType({})
) -> tuple[list[_Call], list[_Call]]:
    """The calls to make in plan order, and the call of each trial.

    Trials of one contract and repetition share a call where their requests are identical:
    asking twice would let chance alone tell arms, repeated fixtures or judges apart.
    What is known is known by pairs, and not asked where another pair still is.
    """
    calls: dict[tuple[object, ...], _Call] = {}
    call_of: list[_Call] = []
    for index, trial in enumerate(trials):
        asked, answer = trial.request, known.get(index)
        digest = request_digest(asked.messages, asked.params)
        key = (trial.contract, asked.model, digest, asked.seed, asked.repetition, answer)
        if key not in calls:
            state: State = "waiting" if answer is None else "answered"
            calls[key] = _Call([], state, completion=answer, known=answer is not None)
        calls[key].trials.append(index)
        call_of.append(calls[key])
    return list(calls.values()), call_of
