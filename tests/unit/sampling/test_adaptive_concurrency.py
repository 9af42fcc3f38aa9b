"""How many calls to a model are under way while its provider takes fewer than it is sent."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fake_client import FakeClient, FakeTime, FakeWatch, content, heads, run, trial

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.sampling.pace import ModelPace
from gatekeeper.sampling.retries import RetryPolicy

RETRY = RetryPolicy()
REQUEST = trial(0).request
MANY = Limits(cost_usd=None, calls=None, minutes=None, concurrency=16)


def overloaded(pause: float | None = None) -> CallFailed:
    return CallFailed("HTTP 429", retryable=True, throttled=True, retry_after=pause)


def a_pace(most: int = 16) -> tuple[ModelPace, FakeTime]:
    time = FakeTime()
    return ModelPace(most, RETRY, time, time.sleep), time


async def one_call(pace: ModelPace) -> int:
    async with pace.place(REQUEST) as in_round:
        return in_round


def test_calls_of_one_round_that_are_refused_halve_the_number_once() -> None:
    async def check() -> None:
        pace, _ = a_pace(16)
        for _ in range(10):
            pace.refused(0, 0)
        assert pace.allowed == 8
        pace.refused(await one_call(pace), 0)
        assert pace.allowed == 4

    asyncio.run(check())


def test_each_refusal_is_told_to_who_listens() -> None:
    time, heard = FakeTime(), [0]

    def hear() -> None:
        heard[0] += 1

    async def check() -> None:
        pace = ModelPace(16, RETRY, time, time.sleep, on_refusal=hear)
        for _ in range(3):
            pace.refused(0, 0)
        pace.answered()

    asyncio.run(check())
    assert heard == [3]


def test_one_call_at_a_time_is_always_allowed() -> None:
    async def check() -> None:
        pace, _ = a_pace(3)
        for _ in range(5):
            pace.refused(await one_call(pace), 0)
        assert pace.allowed == 1

    asyncio.run(check())


def test_each_round_of_answers_allows_one_call_more_up_to_the_most() -> None:
    async def check() -> None:
        pace, _ = a_pace(4)
        pace.refused(0, 0)
        seen = []
        for _ in range(12):
            pace.answered()
            seen.append(pace.allowed)
        assert seen == [2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4]

    asyncio.run(check())


@pytest.mark.parametrize(("pause", "waited"), [(7.0, 7.0), (3600.0, RETRY.longest_wait_seconds)])
def test_a_pause_holds_back_every_call(pause: float, waited: float) -> None:
    async def check() -> None:
        pace, time = a_pace()
        started = time.now
        pace.refused(0, pause)
        await asyncio.gather(*(one_call(pace) for _ in range(3)))
        assert time.now - started >= waited
        assert max(time.slept) == pytest.approx(waited)

    asyncio.run(check())


def test_without_a_pause_asked_for_the_pause_doubles_until_an_answer() -> None:
    async def check() -> None:
        pace, time = a_pace()
        for _ in range(8):
            pace.refused(await one_call(pace), None)
        await one_call(pace)
        pauses = list(time.slept)
        assert [low <= pause <= low + 1 for low, pause in zip([1, 2, 4, 8, 16, 32], pauses)]  # noqa: B905
        assert pauses[6:] == pytest.approx([RETRY.longest_wait_seconds] * 2)
        pace.answered()
        pace.refused(await one_call(pace), None)
        await one_call(pace)
        assert 1 <= time.slept[-1] <= 2

    asyncio.run(check())


def test_a_call_that_is_cancelled_while_it_is_held_gives_its_place_back() -> None:
    async def check() -> None:
        pace, _ = a_pace(1)
        pace._sleep = lambda _: asyncio.Event().wait()  # type: ignore[assignment, return-value]
        pace.hold(10)
        held = asyncio.create_task(one_call(pace))
        await asyncio.sleep(0)
        held.cancel()
        await asyncio.wait([held])
        pace._held_until = 0
        assert await asyncio.wait_for(one_call(pace), 60) == 0

    asyncio.run(check())


def test_a_call_that_waits_for_room_goes_before_one_that_comes_later() -> None:
    async def check() -> None:
        pace, _ = a_pace(1)
        began: list[str] = []

        async def call(name: str) -> None:
            async with pace.place(REQUEST):
                began.append(name)
                await asyncio.sleep(0)

        async def first_and_third() -> None:
            await call("first")
            await call("third")

        await asyncio.gather(first_and_third(), call("second"))
        assert began == ["first", "second", "third"]

    asyncio.run(check())


@given(st.integers(1, 9), st.lists(st.lists(st.booleans(), min_size=1, max_size=9), max_size=8))
def test_no_place_is_lost_or_gained(most: int, rounds: list[list[bool]]) -> None:
    """After any refusals and answers as many calls as are allowed can be under way, no more."""

    async def check() -> None:
        pace, _ = a_pace(most)

        async def call(answered: bool) -> None:
            async with pace.place(REQUEST) as in_round:
                await asyncio.sleep(0)
                if not answered:
                    pace.refused(in_round, 0)
            if answered:
                pace.answered()

        for calls in rounds:
            await asyncio.gather(*map(call, calls))
            assert 1 <= pace.allowed <= most
        assert await most_at_once(pace) == pace.allowed

    asyncio.run(check())


async def most_at_once(pace: ModelPace) -> int:
    """How many calls get a place while none ends."""
    entered = 0
    end = asyncio.Event()

    async def call() -> None:
        nonlocal entered
        async with pace.place(REQUEST):
            entered += 1
            await end.wait()

    calls = [asyncio.create_task(call()) for _ in range(12)]
    for _ in range(30):
        await asyncio.sleep(0)
    found = entered
    end.set()
    await asyncio.gather(*calls)
    return found


class Overloaded(FakeClient):
    """A provider that takes `room` calls at a time and refuses the others."""

    def __init__(self, room: int, pause: float | None = None) -> None:
        super().__init__()
        self.room, self.pause, self.refused = room, pause, 0

    async def complete(self, request: Request) -> Completion:
        if self.under_way >= self.room:
            self.refused += 1
            raise overloaded(self.pause)
        return await super().complete(request)


@pytest.mark.parametrize("room", [1, 3, 10])
@pytest.mark.parametrize("pause", [None, 5])
def test_a_provider_that_takes_few_calls_at_a_time_answers_all(
    room: int, pause: float | None
) -> None:
    client = Overloaded(room, pause)
    result = run(heads(100), client, limits=MANY)
    assert (result.failed, result.ended, len(result.samples)) == (0, "done", 100)
    assert (client.most, result.throttled) == (room, client.refused)
    assert result.made == 100 + client.refused
    # Halving from 16 to `room` takes at most 31 refusals; each probe of one more call, one.
    assert client.refused <= 31 + 100 / room


def test_a_call_that_is_always_refused_fails_after_seven_tries() -> None:
    client = FakeClient(lambda _: overloaded())
    result = run(heads(1), client, limits=MANY)
    assert (result.made, result.throttled, result.failed) == (7, 7, 1)
    assert result.samples[0].error == "HTTP 429"


def test_refusals_because_of_load_do_not_use_up_the_other_tries() -> None:
    ends = [overloaded(), CallFailed("HTTP 500", retryable=True), overloaded(), None]

    def answer(_: Request) -> Completion | CallFailed:
        return ends.pop(0) or Completion("yes")

    result = run(heads(1), FakeClient(answer), limits=MANY, retry=RetryPolicy(attempts=2))
    assert (result.made, result.throttled, result.failed) == (4, 2, 0)


def test_calls_that_wait_for_a_pause_are_not_made_once_the_answer_is_sure() -> None:
    time = FakeTime()
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        if seconds < 1:
            await asyncio.sleep(0)
            return
        pauses.append(seconds)
        await asyncio.Event().wait()  # nobody waits until the pause is over

    time.sleep = sleep  # type: ignore[method-assign]
    refused = asyncio.Event()

    async def first_is_slow(request: Request) -> Completion:
        if content(request) == "head 0":
            await refused.wait()
            for _ in range(20):
                await asyncio.sleep(0)
            return Completion("yes")
        refused.set()
        raise overloaded(30)

    limits = Limits(cost_usd=None, calls=None, minutes=None, concurrency=4)
    result = run(heads(10), FakeClient(first_is_slow), FakeWatch(enough=1), limits, time=time)
    assert pauses
    assert (len(result.samples), result.ended) == (1, "done")
    assert result.made + result.saved == 10


def test_models_are_held_back_each_on_its_own() -> None:
    async def check() -> None:
        one, time = a_pace()
        other = ModelPace(16, RETRY, time, time.sleep)
        one.hold(30)
        await one_call(other)
        assert time.slept == []

    asyncio.run(check())


def test_an_answer_that_leaves_nothing_holds_back_the_next_calls() -> None:
    """The first answer says that the limit is used up: the calls after it wait, none is refused."""
    time, asked_at = FakeTime(), []
    started = time.now

    def answer(request: Request) -> Completion:
        asked_at.append(time.now - started)
        return Completion(content(request), pause=20.0 if len(asked_at) == 1 else None)

    one = Limits(cost_usd=None, calls=None, minutes=None, concurrency=1)
    result = run(heads(3), FakeClient(answer), limits=one, time=time)
    assert asked_at == [0, pytest.approx(20), pytest.approx(20)]
    assert (result.throttled, result.made) == (0, 3)
    assert len(result.samples) == 3


def test_a_hostile_pause_of_an_answer_is_bounded() -> None:
    async def check() -> None:
        pace, time = a_pace()
        pace.answered(1e9)
        started = time.now
        await one_call(pace)
        assert time.now - started == pytest.approx(RETRY.longest_wait_seconds)

    asyncio.run(check())


@pytest.mark.parametrize(("answered_before", "minutes"), [(False, 3), (True, 6)])
def test_a_provider_that_refuses_every_call_is_given_up(
    answered_before: bool, minutes: int
) -> None:
    """Twenty minutes of refusals help nobody, and the limit on minutes is not their cause."""

    def answer(_: Request) -> Completion:
        if answered_before and not answered:
            answered.append(True)
            return Completion("ok", cost_usd=0.0)
        raise overloaded()

    answered: list[bool] = []
    client = FakeClient(answer)
    time = FakeTime()
    started = time()
    result = run(heads(2000), client, limits=MANY, time=time)
    assert result.ended == "fatal"
    assert bool(answered) is answered_before
    assert "429" in str(result.detail)
    assert (time() - started) / 60 == pytest.approx(minutes, abs=0.5)
