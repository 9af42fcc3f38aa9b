"""Makes calls to models: how many at the same time, which prompt first, with which retries."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed, NotRecorded
from gatekeeper.sampling.client import CachingClient, LimitedClient, ModelClient
from gatekeeper.sampling.limits import Meter, Reserve
from gatekeeper.sampling.retries import RetryPolicy, Sleep, call_with_retries, within

# Lets one call write a prefix to the provider's cache before others read it.
#
# A provider can read a prefix only after the answer of the call that wrote it has begun. Calls
# that start at the same time would each write it, and writing is dearer than reading anew.


_Prefix = tuple[str, tuple[Message, ...]]

KEPT_SECONDS = 300
"""How long a provider keeps a prefix after its last use: five minutes at Anthropic."""

_FAILURES = 2
"""After this many failed writers, calls stop waiting. If a provider does not answer at all, calls
that wait for each other would take much longer to fail."""


class PrefixWriter:
    """Holds back calls whose prefix another call is writing."""

    def __init__(self, client: ModelClient, clock: Callable[[], float]) -> None:
        self._client = client if isinstance(client, CachingClient) else None
        self._clock = clock
        self._kept_until: dict[_Prefix, float] = {}
        self._writing: dict[_Prefix, asyncio.Event] = {}
        self._failed: Counter[_Prefix] = Counter()

    @asynccontextmanager
    async def turn(self, request: Request) -> AsyncIterator[None]:
        """Wait while another call writes the request's prefix. A prefix that no call has used for
        `KEPT_SECONDS` is written again. If the writing call fails, the next writes it; after
        `_FAILURES` of them, nobody waits any more. A refusal because of load is no failure here:
        `ModelPace` slows down for it."""
        prefix = self._prefix(request)
        while prefix is not None and prefix in self._writing:
            await self._writing[prefix].wait()
        if prefix is None:
            yield
            return
        if self._clock() < self._kept_until.get(prefix, -math.inf):
            self._use(prefix)
            yield
            return
        ended = self._writing[prefix] = asyncio.Event()
        try:
            yield
            self._use(prefix)
        except CallFailed as failure:
            self._failed[prefix] += not failure.throttled
            if self._failed[prefix] >= _FAILURES:
                self._kept_until[prefix] = math.inf
            raise
        finally:
            del self._writing[prefix]
            ended.set()

    def _use(self, prefix: _Prefix) -> None:
        until = self._clock() + KEPT_SECONDS
        self._kept_until[prefix] = max(until, self._kept_until.get(prefix, until))

    def _prefix(self, request: Request) -> _Prefix | None:
        shared = request.shared_prefix
        if shared is None or self._client is None or not self._client.is_cached(request):
            return None
        return request.model, request.messages[: shared.messages]


# How fast one model is called: as many calls at a time as its provider takes.
#
# A run begins with `limits.concurrency` calls at a time. A provider that refuses a call because of
# load (HTTP 429 or 529) halves that number; answers raise it again, by one call for each round of
# answers. This is additive increase, multiplicative decrease: Chiu, D.-M. and Jain, R. (1989),
# Analysis of the Increase and Decrease Algorithms for Congestion Avoidance in Computer Networks,
# Computer Networks and ISDN Systems 17, 1-14, https://doi.org/10.1016/0169-7552(89)90019-6.
#
# A pause that the provider asks for holds back every call to the model, not only the refused one.
# So does an answer that says that nothing remains of the account's rate limit.


Clock = Callable[[], float]


class ModelPace:
    """Lets calls to one model start, and learns from how they end.

    `allowed` is the number of calls that may be under way now; it stays between 1 and `most`.
    The first call with a prefix that the provider keeps in its cache goes alone (`prefixes`).
    After a refusal that names no pause, the pause is `first_wait_seconds` of the retry policy, and
    doubles with each further round of refusals. `on_refusal` is called for each refused call.
    """

    def __init__(
        self,
        most: int,
        retry: RetryPolicy,
        clock: Clock,
        sleep: Sleep,
        prefixes: PrefixWriter | None = None,
        on_refusal: Callable[[], None] | None = None,
    ) -> None:
        self.allowed = most
        self._prefixes = prefixes
        self._on_refusal = on_refusal
        self._most = most
        self._retry = retry
        self._clock = clock
        self._sleep = sleep
        self._under_way = 0
        self._queue = asyncio.Lock()  # whoever waits for room longest is served first
        self._room = asyncio.Event()  # set when another call may fit
        self._answers = 0  # since `allowed` last changed
        self._round = 0  # refused calls of one round lower `allowed` once
        self._refused_rounds = 0  # in a row
        self._has_answered = False
        self._held_until = clock()

    @asynccontextmanager
    async def place(self, request: Request) -> AsyncIterator[int]:
        """Wait for a place and for the end of any pause. Yields the round that the call is in."""
        alone = self._prefixes.turn(request) if self._prefixes else nullcontext()
        async with alone, self._place() as in_round:
            yield in_round

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[int]:
        async with self._queue:
            while self._under_way >= self.allowed:
                self._room.clear()
                await self._room.wait()
            self._under_way += 1
        try:
            while (seconds := self._held_until - self._clock()) > 0:
                await self._sleep(seconds)
            yield self._round
        finally:
            self._under_way -= 1
            self._room.set()

    def answered(self, pause: float | None = None) -> None:
        """Count an answer: a full round of them allows one more call at a time.

        `pause` is the number of seconds until the provider takes another call; None for none.
        """
        if pause is not None:
            self.hold(pause)
        self._refused_rounds = 0
        self._has_answered = True
        self._answers += 1
        if self.allowed == self._most or self._answers < self.allowed:
            return
        self.allowed += 1
        self._answers = 0
        self._room.set()

    def refused(self, in_round: int, pause: float | None) -> bool:
        """Slow down after a refusal because of load. Returns whether to give the model up: it has
        refused more rounds in a row than the policy's `throttled_attempts`, or three more than that
        if it had answered before. These rounds take three and six minutes.

        Args:
            in_round: what `place` yielded for the call. Of the calls that were under way at the
                same time only the first one lowers the number of calls.
            pause: the seconds that the provider asks to wait; None if it does not say.
        """
        if self._on_refusal:
            self._on_refusal()
        if in_round == self._round:
            self._round += 1
            self._refused_rounds += 1
            self._answers = 0
            self.allowed = max(1, self.allowed // 2)
            if pause is None:
                self.hold(self._own_pause())
        if pause is not None:
            self.hold(pause)
        patience = self._retry.throttled_attempts + (3 if self._has_answered else 0)
        return self._refused_rounds > patience

    def hold(self, seconds: float) -> None:
        """Start no call for the given number of seconds, at most the policy's
        `longest_wait_seconds`."""
        until = self._clock() + min(seconds, self._retry.longest_wait_seconds)
        self._held_until = max(self._held_until, until)

    def _own_pause(self) -> float:
        first = self._retry.first_wait_seconds
        spread = random.uniform(0, first)  # noqa: S311  # programs that share a key come back apart
        return float(first * 2 ** min(self._refused_rounds - 1, 20)) + spread


def pace_of_each_model(
    most: int,
    retry: RetryPolicy,
    clock: Clock,
    sleep: Sleep,
    client: ModelClient,
    on_refusal: Callable[[], None] | None = None,
) -> Mapping[str, ModelPace]:
    """Return the paces of all models of a run; each is made when its model is first called."""
    prefixes = PrefixWriter(client, clock)
    return defaultdict(lambda: ModelPace(most, retry, clock, sleep, prefixes, on_refusal))


# Makes one call to a model under the limits of the run, with retries.
#
# Calls for answers and questions to judges both go through here, so limits, pace, prices and
# retries are the same for both.


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
