"""How far a run goes ahead of a call that has no answer yet, and that it never waits for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fake_client import (
    FakeClient,
    FakeTime,
    FakeWatch,
    content,
    fixtures,
    heads,
    run,
    trial,
)

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.trial import Completion, Request, Trial
from gatekeeper.errors import CallFailed
from gatekeeper.sampling.runner import CALLS_AHEAD

AT_ONCE = 2
WINDOW = AT_ONCE * CALLS_AHEAD


def limits(**more: Any) -> Limits:
    return Limits(
        **({"cost_usd": None, "calls": None, "minutes": None} | more), concurrency=AT_ONCE
    )


class Held(FakeClient):
    """The first call gets no answer until as many calls were asked as were to be expected, and
    then some more time in which no other is."""

    def __init__(self, until: int, first: str = "head 0", slots: int | None = None) -> None:
        super().__init__(self.wait)
        self.until, self.first, self.width = until, first, slots
        self.most_ahead = 0

    def slots(self, model: str) -> int | None:
        return self.width

    async def wait(self, request: Request) -> Completion:
        if content(request) == self.first:
            while len(self.asked) < self.until:
                await asyncio.sleep(0)
            for _ in range(100):
                await asyncio.sleep(0)
            self.most_ahead = len(self.asked)
        return Completion(content(request))


def test_no_call_starts_far_ahead_of_one_without_an_answer() -> None:
    client = Held(WINDOW)
    result = run(heads(100), client, limits=limits())
    assert client.most_ahead == WINDOW
    assert (result.made, result.ended) == (100, "done")
    assert fixtures(result.samples) == [f"f{n}" for n in range(100)]


def test_an_early_stop_behind_a_slow_call_pays_for_no_more_than_the_window() -> None:
    result = run(heads(1000), Held(WINDOW), FakeWatch(enough=1), limits())
    assert (result.made, result.surplus) == (WINDOW, WINDOW - 1)
    assert result.made + result.saved == 1000


def test_a_shared_call_takes_one_place() -> None:
    trials = [trial(n, arm, text=f"head {n}") for n in range(50) for arm in ("base", "head")]
    client = Held(WINDOW)
    assert len(run(trials, client, limits=limits()).samples) == 100
    assert client.most_ahead == WINDOW


def test_where_a_client_has_one_slot_the_held_call_keeps_it() -> None:
    client = Held(1, slots=1)
    result = run(heads(50), client, limits=limits())
    assert (client.most_ahead, result.made) == (1, 50)


def test_a_call_that_is_cancelled_does_not_hold_up_the_next_contract() -> None:
    """The first contract is decided by its first sample; its second call never answers."""

    async def answer(request: Request) -> Completion:
        if content(request) == "never":
            await asyncio.Event().wait()
        if content(request) == "slow":
            for _ in range(100):
                await asyncio.sleep(0)
        return Completion("ok")

    class First(FakeWatch):
        def wants(self, trial: Trial) -> bool:
            return trial.contract == "second" or not self.samples

    first = [trial(0, contract="first", text="slow"), trial(1, contract="first", text="never")]
    result = run([*first, *heads(100, "second")], FakeClient(answer), First(), limits())
    assert len(result.samples) == 101
    assert (result.surplus, result.ended) == (1, "done")


def test_a_limit_reached_by_the_first_call_lets_those_that_wait_go_home() -> None:
    """Its retries use up the limit while the others wait for it to be answered."""
    client = FakeClient(
        lambda r: CallFailed("busy", retryable=True) if content(r) == "head 0" else Completion("ok")
    )
    time = FakeTime()
    result = run(heads(100), client, limits=limits(calls=WINDOW + 1), time=time)
    assert result.ended == "limit"
    assert result.made == WINDOW + 1


def test_a_fatal_failure_ends_a_run_that_waits() -> None:
    class Fatal(Held):
        async def wait(self, request: Request) -> Completion:
            await super().wait(request)
            if content(request) == self.first:
                raise CallFailed("no such model", fatal=True)
            return Completion("ok")

    result = run(heads(100), Fatal(WINDOW), limits=limits())
    assert (result.ended, result.made) == ("fatal", WINDOW)


def test_a_stop_ends_a_run_that_waits() -> None:
    client = Held(10_000)
    result = run(heads(100), client, limits=limits(), stop_when=lambda: len(client.asked) >= WINDOW)
    assert (result.ended, result.made) == ("interrupted", WINDOW)
    assert fixtures(result.samples) == [f"f{n}" for n in range(1, WINDOW)]


def test_no_call_of_a_round_starts_before_the_round_before_is_judged() -> None:
    """Another contract, which is not held, goes on meanwhile."""
    watch = FakeWatch()

    def holds(held: Trial) -> bool:
        mine = [sample for sample in watch.samples if sample.trial.contract == held.contract]
        return held.contract == "rounds" and len(mine) < held.repetition * 3

    async def answer(request: Request) -> Completion:
        text = content(request)
        begun.append((text, sum(s.trial.contract == "rounds" for s in watch.samples)))
        for _ in range(50 if text.endswith(" 0") else 1):
            await asyncio.sleep(0)
        if text == "0 of 1" and len(begun) < 5:
            raise CallFailed("busy", retryable=True)
        return Completion(text)

    begun: list[tuple[str, int]] = []
    rounds = [
        replace(trial(n, "head", "rounds", f"{r} of {n}"), repetition=r)
        for r in range(3)
        for n in range(3)
    ]
    others = heads(10, "others")
    result = run([*rounds, *others], FakeClient(answer), watch, limits(), holds=holds)
    assert len(result.samples) == 19
    assert [text for text, _ in begun].count("0 of 1") > 1
    assert [judged for text, judged in begun if text[0] == "1"] == [3] * 3
    assert {judged for text, judged in begun if text[0] == "2"} == {6}
    assert min(judged for text, judged in begun if text.startswith("head")) < 3


def _second_half(watch: FakeWatch, trials: list[Trial]) -> Callable[[Trial], bool]:
    """Hold the second half of the trials until the samples of the first are there."""
    later = {id(held) for held in trials[len(trials) // 2 :]}
    return lambda held: id(held) in later and len(watch.samples) < len(trials) // 2


def test_a_round_that_is_not_needed_costs_nothing() -> None:
    trials, watch = heads(40), FakeWatch(enough=20)
    result = run(trials, None, watch, limits(), holds=_second_half(watch, trials))
    assert (result.made, result.surplus, result.saved) == (20, 0, 20)


@pytest.mark.parametrize("failure", [None, CallFailed("no such model", fatal=True)])
def test_a_run_that_holds_calls_can_be_stopped_and_can_fail(failure: CallFailed | None) -> None:
    async def answer(request: Request) -> Completion:
        if content(request) == "head 19":
            if failure:
                raise failure
            await asyncio.Event().wait()
        return Completion("ok")

    trials, watch, client = heads(40), FakeWatch(), FakeClient(answer)
    holds = _second_half(watch, trials)
    stop = None if failure else lambda: len(client.asked) == 20
    result = run(trials, client, watch, limits(), stop_when=stop, holds=holds)
    assert (result.ended, result.made) == ("fatal" if failure else "interrupted", 20)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_it_always_ends_and_delivers_in_order(data: st.DataObject) -> None:
    """Whatever is slow, fails, is shared, limited, spaced or not wanted any more."""
    contracts = data.draw(st.integers(1, 3))
    trials = [
        trial(n, "head", f"c{c}", data.draw(st.sampled_from(["a", "b", f"own {n}", f"own {n}"])))
        for c in range(contracts)
        for n in range(data.draw(st.integers(0, 25)))
    ]
    turns = data.draw(st.lists(st.integers(0, 60), min_size=1, max_size=8))
    fails = data.draw(st.sampled_from([0, 3, 7]))
    width = data.draw(st.sampled_from([None, 1, 2]))
    enough = data.draw(st.sampled_from([None, 0, 1, 5]))
    most = data.draw(st.sampled_from([None, 5, 40]))
    spaced = data.draw(st.sampled_from([None, 600.0]))
    stage = data.draw(st.sampled_from([None, 0, 1, 4, 10]))
    number_of = {id(t): n for c in range(contracts) for n, t in enumerate(_of(trials, f"c{c}"))}

    def holds(held: Trial) -> bool:
        """Hold a contract's trials in stages; with 0, hold whatever comes."""
        if not stage:
            return stage == 0
        taken = sum(sample.trial.contract == held.contract for sample in watch.samples)
        return taken < number_of[id(held)] // stage * stage

    class Narrow(FakeClient):
        def slots(self, model: str) -> int | None:
            return width

    async def answer(request: Request) -> Completion:
        number = len(client.asked)
        for _ in range(turns[number % len(turns)]):
            await asyncio.sleep(0)
        if fails and number % fails == 0:
            raise CallFailed("no", retryable=True)
        return Completion("ok")

    client = Narrow(answer)
    watch = FakeWatch(enough=enough)
    limited = limits(calls=most, requests_per_minute=spaced)
    result = run(trials, client, watch, limited, holds=holds)
    planned = {id(t): place for place, t in enumerate(trials)}
    places = [planned[id(sample.trial)] for sample in result.samples]
    assert places == sorted(places)
    if result.ended == "done":
        assert _expected(trials, enough) == [planned[id(s.trial)] for s in watch.samples]


def _of(trials: list[Trial], contract: str) -> list[Trial]:
    return [planned for planned in trials if planned.contract == contract]


def _expected(trials: list[Trial], enough: int | None) -> list[int]:
    taken: dict[str, int] = {}
    places = []
    for place, planned in enumerate(trials):
        if enough is None or taken.get(planned.contract, 0) < enough:
            taken[planned.contract] = taken.get(planned.contract, 0) + 1
            places.append(place)
    return places
