"""Trying a call again, or not twice: when, after how long, and how long one try may take."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception
from tenacity.wait import wait_exponential_jitter

from gatekeeper.contract.values.trial import Completion
from gatekeeper.errors import CallFailed

Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How stubbornly one call is tried, and when a run is given up.

    `attempts` counts the first try too. A server that asks for a pause (Retry-After) gets
    it, up to `longest_wait_seconds`; otherwise the pause doubles from `first_wait_seconds`,
    with jitter. A call that was refused because of load is tried up to `throttled_attempts` times,
    enough for 64 calls at a time to become one; `ModelPace` decides how long it waits.
    `give_up_after` calls in a row that failed for good end a run in which none
    has succeeded yet; three times as many end any run.
    """

    attempts: int = 4
    throttled_attempts: int = 7
    timeout_seconds: float = 60.0
    first_wait_seconds: float = 1.0
    longest_wait_seconds: float = 60.0
    give_up_after: int = 10


async def call_with_retries(
    attempt: Callable[[], Awaitable[Completion]], policy: RetryPolicy, sleep: Sleep
) -> Completion:
    """Return the attempt's answer. Raises the CallFailed of the last attempt."""
    try:
        return await attempt()  # most calls succeed at once and need none of what follows
    except CallFailed as failure:
        if not _is_retryable(failure):
            raise
        return await _retry_after(failure, attempt, policy, sleep)


def _is_retryable(error: BaseException) -> bool:
    return isinstance(error, CallFailed) and error.retryable and not error.fatal


async def _retry_after(
    failure: CallFailed,
    attempt: Callable[[], Awaitable[Completion]],
    policy: RetryPolicy,
    sleep: Sleep,
) -> Completion:
    """Return the answer of a later attempt. `failure` is how the first one ended."""
    backoff = wait_exponential_jitter(
        multiplier=policy.first_wait_seconds,
        max=policy.longest_wait_seconds,
        jitter=policy.first_wait_seconds,
    )

    refused_for_load = 0

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, CallFailed) and error.throttled:
            return 0.0
        requested = error.retry_after if isinstance(error, CallFailed) else None
        return backoff(state) if requested is None else min(requested, policy.longest_wait_seconds)

    def is_enough(state: RetryCallState) -> bool:
        nonlocal refused_for_load
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, CallFailed) and error.throttled:
            refused_for_load += 1
            return refused_for_load >= policy.throttled_attempts
        return state.attempt_number - refused_for_load >= policy.attempts

    retrying = AsyncRetrying(
        retry=retry_if_exception(_is_retryable),
        stop=is_enough,
        wait=wait,
        sleep=sleep,
        reraise=True,
    )

    failures = [failure]

    async def first_failure_then_attempts() -> Completion:
        if failures:
            raise failures.pop()
        return await attempt()

    return await retrying(first_failure_then_attempts)


async def within(seconds: float, call: Awaitable[Completion]) -> Completion:
    """Return the call's answer. Raises CallFailed if it takes longer than `seconds`."""
    # asyncio.timeout rather than catching TimeoutError around the call: a TimeoutError of
    # the client's own must not be mistaken for ours.
    try:
        async with asyncio.timeout(seconds) as limit:
            return await call
    except TimeoutError as error:
        if not limit.expired():
            raise
        said = f"no answer within {seconds:g} s"
        raise CallFailed(said, retryable=True, billable=True) from error


K = TypeVar("K")
V = TypeVar("V")


class Once(Generic[K, V]):
    """Asks for each answer once: the second to ask waits for the first, and asks itself if that
    fails or is cancelled. `known` are the answers so far."""

    def __init__(self) -> None:
        self.known: dict[K, V] = {}
        self._under_way: dict[K, asyncio.Event] = {}

    async def get(
        self,
        key: K,
        make: Callable[[], Awaitable[V]],
        keeps: Callable[[V], bool] = lambda _: True,
    ) -> V:
        """Return the answer. One that is not kept is asked for again."""
        while key not in self.known:
            other = self._under_way.get(key)
            if other is not None:
                await other.wait()
                continue
            ended = self._under_way[key] = asyncio.Event()
            try:
                answer = await make()
                if not keeps(answer):
                    return answer
                self.known[key] = answer
            finally:
                del self._under_way[key]
                ended.set()
        return self.known[key]
