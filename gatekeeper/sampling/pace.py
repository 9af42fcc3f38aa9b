"""Decides how many calls are made at the same time, and which prompt is cached first."""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Request, SharedPrefix
from gatekeeper.errors import CallFailed
from gatekeeper.sampling.client import CachingClient, ModelClient
from gatekeeper.sampling.retries import RetryPolicy, Sleep

# Which messages all requests of an arm begin with: a provider can keep them in its cache.


def shared_prefixes(arms: Sequence[Collection[tuple[Message, ...]]]) -> list[SharedPrefix | None]:
    """Return the prefix that all conversations of each arm share; None for every arm if one of them
    shares nothing.

    Both arms are treated alike: if one were cached and the other not, its calls would seem cheaper
    and faster. So the size of the shorter prefix counts for both.
    """
    lengths = [_shared_messages(conversations) for conversations in arms]
    if not lengths or not all(lengths):
        return [None for _ in arms]
    size = min(
        _size(next(iter(conversations))[:length])
        for conversations, length in zip(arms, lengths, strict=True)
    )
    return [SharedPrefix(length, size) for length in lengths]


def _shared_messages(conversations: Collection[tuple[Message, ...]]) -> int:
    """Return how many messages the conversations begin with; 0 if there are not two of them."""
    distinct = set(conversations)
    if len(distinct) < 2:
        return 0
    shared = 0
    for messages in zip(*distinct, strict=False):
        if len(set(messages)) > 1:
            break
        shared += 1
    return shared


def _size(messages: Sequence[Message]) -> int:
    return sum(len(m.content.encode("utf-8", "surrogatepass")) for m in messages)


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
