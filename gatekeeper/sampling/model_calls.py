"""Makes one call to a model under the limits of the run, with retries.

Calls for answers and questions to judges both go through here, so limits, pace, prices and retries
are the same for both.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed, NotRecorded
from gatekeeper.sampling.adaptive_concurrency import ModelPace
from gatekeeper.sampling.client import LimitedClient, ModelClient
from gatekeeper.sampling.limits import Meter, Reserve
from gatekeeper.sampling.retries import RetryPolicy, Sleep, call_with_retries, within


class NotNeeded(Exception):
    """The call is not wanted any more, or the run has ended."""


@dataclass(eq=False, slots=True)
class Order:
    """One call to make, and what came of it.

    `is_needed` is asked again before each attempt. `on_start` is called when a request is about to
    be sent. `sent` counts the requests that reached a model, retries included, and `cost_usd` sums
    their known costs. `reserve` is what the attempt under way has set aside.
    """

    request: Request
    is_needed: Callable[[], bool]
    on_start: Callable[[], None] = lambda: None
    sent: int = 0
    cost_usd: float | None = None
    reserve: Reserve | None = None
    unrecorded: bool = False

    @property
    def holds_money(self) -> bool:
        """Whether money is set aside for an attempt that is under way."""
        return self.reserve is not None and self.reserve.amount > 0


class ModelCalls:
    """Makes calls. `throttled` counts requests that were refused because of load, `unrecorded`
    counts, by recording, the requests that it has no answer for."""

    def __init__(
        self,
        client: ModelClient,
        retry: RetryPolicy,
        meter: Meter,
        sleep: Sleep,
        pace: Mapping[str, ModelPace],
    ) -> None:
        self.throttled = 0
        self.unrecorded: Counter[str] = Counter()
        self._client = client
        self._retry = retry
        self._meter = meter
        self._sleep = sleep
        self._pace = pace
        self._slots: dict[str, asyncio.Semaphore | None] = {}

    async def make(self, order: Order) -> Completion:
        """Return the answer. Raises CallFailed, LimitReached, AnswerMissing, and NotNeeded if the
        call is not wanted any more."""
        async with self._slot(order.request.model) or contextlib.nullcontext():
            return await call_with_retries(lambda: self._attempt(order), self._retry, self._sleep)

    async def _attempt(self, order: Order) -> Completion:
        request = order.request
        pace = self._pace[request.model]
        async with pace.place(request) as in_round:
            await self._meter.wait_for_turn(request)
            if not order.is_needed():
                raise NotNeeded
            try:
                completion = await self._ask(order)
            except CallFailed as failure:
                if failure.throttled:
                    self.throttled += 1
                    failure.fatal = pace.refused(in_round, failure.retry_after)
                raise
        if not completion.replayed:
            pace.answered(completion.pause)
        return completion

    async def _ask(self, order: Order) -> Completion:
        request = order.request
        order.reserve = await self._meter.start(request)
        completion, called, billable = None, True, True
        try:
            called = order.is_needed()  # there may have been a long wait for room
            if not called:
                raise NotNeeded
            order.on_start()
            completion = await within(self._retry.timeout_seconds, self._client.complete(request))
            called = not completion.replayed
        except NotRecorded as missing:
            self.unrecorded[missing.path] += 1
            order.unrecorded, called = True, False
            raise
        except CallFailed as failure:
            billable = failure.billable
            raise
        finally:
            self._meter.finish(order.reserve, completion, called=called, billable=billable)
            order.sent += called
            if called and completion and completion.cost_usd is not None:
                order.cost_usd = (order.cost_usd or 0.0) + completion.cost_usd
        return completion

    def _slot(self, model: str) -> asyncio.Semaphore | None:
        if model not in self._slots:
            width = self._client.slots(model) if isinstance(self._client, LimitedClient) else None
            self._slots[model] = None if width is None else asyncio.Semaphore(width)
        return self._slots[model]


class FailureCount:
    """Counts failed calls in a row, and says when to give up."""

    def __init__(self, retry: RetryPolicy) -> None:
        self._retry = retry
        self._successes = 0
        self._in_a_row = 0

    def succeeded(self) -> None:
        """Count an answer."""
        self._successes += 1
        self._in_a_row = 0

    def reason_to_give_up(self, failure: CallFailed) -> str | None:
        """Count a failed call. Returns why the run has to end; None if it goes on."""
        if isinstance(failure, NotRecorded):
            return None  # says nothing of the next request, and costs nothing
        self._in_a_row += 1
        if failure.fatal:
            return str(failure)
        patience = self._retry.give_up_after * (3 if self._successes else 1)
        if self._in_a_row >= patience:
            return f"{patience} calls failed in a row; the last call failed with: {failure}"
        return None
