"""Where a run ends: limits, stops, clients that do not heed them."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import Any

import pytest
from support.fake_client import (
    UNLIMITED,
    FakeClient,
    FakeTime,
    FakeWatch,
    content,
    fixtures,
    forever,
    heads,
    run,
    trial,
)

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.trial import Completion, Outcome, Request
from gatekeeper.errors import CallFailed, NotRecorded
from gatekeeper.sampling import runner
from gatekeeper.sampling.retries import RetryPolicy
from gatekeeper.sampling.runner import Run, run_trials


def test_no_call_is_started_beyond_the_limit() -> None:
    client = FakeClient()
    result = run(heads(10), client, limits=Limits(calls=7))
    assert (len(client.asked), result.made) == (7, 7)
    assert (result.ended, result.detail) == ("limit", "the limit of 7 calls is reached")
    assert len(result.samples) == 7


def test_reaching_the_limit_with_the_last_call_is_no_limit() -> None:
    assert run(heads(7), limits=Limits(calls=7)).ended == "done"


def test_retries_count_against_the_limit() -> None:
    client = FakeClient(lambda _: CallFailed("again", retryable=True))
    result = run(heads(1), client, limits=Limits(calls=2))
    assert (result.made, result.ended, result.samples) == (2, "limit", ())


def test_the_cost_limit_counts_what_is_under_way() -> None:
    client = FakeClient(lambda _: Completion("ok", cost_usd=0.25))
    result = run(heads(100), client, limits=Limits(cost_usd=2.0, concurrency=4))
    assert result.cost_usd is not None
    assert 1.0 <= result.cost_usd <= 2.0
    assert result.detail is not None
    assert result.detail.startswith(
        "the cost limit of 2.00 USD is too low for the next call: 2.00 USD are spent"
    )


def test_unknown_costs_reach_no_limit_and_stay_unknown() -> None:
    result = run(heads(20), limits=Limits(cost_usd=0.0))
    assert (result.ended, result.cost_usd) == ("done", None)


def test_what_a_recording_answers_is_no_call_and_costs_nothing() -> None:
    recorded = Completion("ok", cost_usd=0.25, replayed=True)
    limits = Limits(calls=1, cost_usd=0.1, concurrency=1)
    result = run(heads(20), FakeClient(lambda _: recorded), limits=limits)
    assert (result.ended, len(result.samples)) == ("done", 20)
    assert (result.made, result.failed, result.cost_usd) == (0, 0, None)


def test_what_a_recording_has_no_answer_for_is_counted_apart_and_ends_nothing() -> None:
    def answer(request: Request) -> Completion | CallFailed:
        if content(request) in ("head 3", "head 50"):
            return Completion("ok", replayed=True)
        path = "a.jsonl" if content(request) < "head 5" else "b.jsonl"
        return NotRecorded(f"not recorded in {path}", path)

    result = run(heads(60), FakeClient(answer), limits=Limits(calls=1, concurrency=1))
    assert (result.ended, result.made, result.failed, result.surplus) == ("done", 0, 0, 0)
    assert sum(result.unrecorded.values()) == 58
    assert set(result.unrecorded) == {"a.jsonl", "b.jsonl"}
    assert sum(sample.completion is None for sample in result.samples) == 58


def test_a_run_out_of_time_starts_no_call() -> None:
    time = FakeTime()

    async def slow(request: Request) -> Completion:
        time.now += 40
        return Completion("ok")

    limits = Limits(minutes=1, concurrency=1)
    result = run(heads(10), FakeClient(slow), limits=limits, time=time)
    assert result.detail == "the time limit of 1 minutes is reached"
    assert (result.ended, len(result.samples)) == ("limit", 2)


def test_out_of_time_while_calls_hang() -> None:
    result = run(heads(2), FakeClient(forever), limits=Limits(minutes=0.0005))
    assert (result.ended, result.samples) == ("limit", ())


def test_calls_are_spaced_by_requests_per_minute() -> None:
    time = FakeTime()
    limits = Limits(requests_per_minute=30, concurrency=1)
    assert len(run(heads(4), limits=limits, time=time).samples) == 4
    assert time.slept == [2, 2, 2]


def test_calls_are_spaced_by_tokens_per_minute() -> None:
    """The first call is guessed: 8 characters are 2 tokens, and 250 for the answer."""
    time = FakeTime()
    answer = Completion("ok", prompt_tokens=90, completion_tokens=10)
    limits = Limits(tokens_per_minute=600, concurrency=1)
    first = [trial(n, text="8 letter" + "s" * n) for n in range(4)]
    assert len(run(first, FakeClient(lambda _: answer), limits=limits, time=time).samples) == 4
    # 100 tokens take ten seconds of a minute's 600.
    assert time.slept == pytest.approx([10, 10, 10])


@pytest.mark.parametrize(
    ("params", "tokens"),
    [
        ({"max_tokens": 8}, 10),
        ({"max_completion_tokens": 8}, 10),
        ({"max_tokens": 4000}, 252),
        ({"max_tokens": 0}, 252),
        ({"max_tokens": "8"}, 252),
    ],
)
def test_the_first_answers_are_guessed_no_longer_than_they_may_be(
    params: dict[str, object], tokens: int
) -> None:
    time = FakeTime()
    limits = Limits(tokens_per_minute=60, concurrency=1)
    each = (trial(n, text="8 letter", contract=f"c{n}") for n in range(2))
    trials = [replace(t, request=replace(t.request, params=params)) for t in each]
    run(trials, FakeClient(lambda _: Completion("ok")), limits=limits, time=time)
    assert time.slept == pytest.approx([tokens])


def test_tokens_that_are_not_told_count_as_expected() -> None:
    time = FakeTime()
    limits = Limits(tokens_per_minute=252, concurrency=1)
    trials = [trial(n, text="8 letter", contract=f"c{n}") for n in range(3)]
    run(trials, FakeClient(lambda _: Completion("ok")), limits=limits, time=time)
    assert time.slept == pytest.approx([60, 60])


def test_a_recorded_answer_takes_no_tokens() -> None:
    time = FakeTime()
    limits = Limits(tokens_per_minute=1, concurrency=1)
    answer = Completion("ok", prompt_tokens=90, completion_tokens=10, replayed=True)
    run(heads(3), FakeClient(lambda _: answer), limits=limits, time=time)
    assert time.slept == []


def test_retries_wait_for_their_turn_too() -> None:
    time = FakeTime()
    failures = [CallFailed("again", retryable=True, retry_after=0)]
    client = FakeClient(lambda _: failures.pop() if failures else Completion("ok"))
    run(heads(1), client, limits=Limits(requests_per_minute=6), time=time)
    assert 10 in time.slept


def test_what_is_unwanted_after_its_turn_is_not_called() -> None:
    client = FakeClient()
    limits = Limits(requests_per_minute=60, concurrency=3)
    result = run(heads(3), client, FakeWatch(enough=1), limits)
    assert len(client.asked) + result.saved == 3


def test_a_stop_ends_with_what_was_gathered_even_when_calls_hang() -> None:
    watch = FakeWatch()
    client = FakeClient(
        lambda r: forever(r) if content(r) in ("head 1", "head 4") else Completion("ok")
    )
    limits = Limits(concurrency=2)
    result = run(heads(10), client, watch, limits, stop_when=lambda: "head 4" in client.asked)
    assert (result.ended, result.detail) == ("interrupted", "interrupted")
    assert fixtures(result.samples) == ["f0", "f2", "f3"]
    assert result.samples == tuple(watch.samples)


def test_a_stop_comes_through_while_answers_need_no_waiting() -> None:
    class Recording(FakeClient):
        async def complete(self, request: Request) -> Completion:
            return Completion(content(request), replayed=True)

    watch = FakeWatch()
    result = run(heads(100), Recording(), watch, stop_when=lambda: len(watch.samples) > 5)
    assert result.ended == "interrupted"
    assert 5 < len(result.samples) < 50


def test_a_stop_comes_through_while_calls_fail_at_once() -> None:
    class Failing(FakeClient):
        async def complete(self, request: Request) -> Completion:
            raise CallFailed(content(request))

    watch = FakeWatch()
    patient = RetryPolicy(give_up_after=1000)
    result = run(
        heads(100), Failing(), watch, retry=patient, stop_when=lambda: len(watch.samples) > 5
    )
    assert result.ended == "interrupted"
    assert 5 < len(result.samples) < 50


class Faulty(FakeWatch):
    """A watch with an error that shows with the first sample."""

    def add(self, outcome: Outcome) -> None:
        raise RuntimeError(outcome.sample.output)


class Heedless(FakeClient):
    """A client that answers the first request, and heeds no cancellation of others."""

    def __init__(self, *, answers: bool) -> None:
        super().__init__()
        self.answers = answers

    async def complete(self, request: Request) -> Completion:
        self.asked.append(content(request))
        if content(request) != "head 0":
            with contextlib.suppress(asyncio.CancelledError):
                await forever(request)
            if not self.answers:
                await forever(request)
        return Completion("ok")


def test_an_error_starts_no_more_calls_of_clients_that_answer_though_cancelled() -> None:
    client = Heedless(answers=True)
    with pytest.raises(RuntimeError, match="ok"):
        run(heads(100), client, Faulty())
    assert len(client.asked) == 4


def test_an_error_does_not_wait_for_clients_that_heed_no_cancellation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "_CANCEL_SECONDS", 0.01)
    with pytest.raises(RuntimeError, match="ok"):
        run(heads(100), Heedless(answers=False), Faulty())


def test_a_client_that_cancels_its_own_call_does_not_pass_as_done() -> None:
    def answer(request: Request) -> Completion:
        if content(request) == "head 3":
            raise asyncio.CancelledError
        return Completion("ok")

    result = run(heads(30), FakeClient(answer), limits=Limits(concurrency=1))
    assert (result.ended, len(result.samples)) == ("interrupted", 3)


def test_cancelled_calls_do_not_outlive_a_stop() -> None:
    watch = FakeWatch(enough=1)
    client = FakeClient(lambda r: Completion("ok") if content(r) == "head 0" else forever(r))
    trials = [*heads(4, "first"), *(trial(number, contract="second") for number in range(4, 8))]
    result = run(trials, client, watch, stop_when=lambda: bool(watch.samples))
    assert (result.ended, result.surplus, client.under_way) == ("interrupted", 3, 0)


def test_a_stop_that_comes_too_late_changes_nothing() -> None:
    async def main() -> Run:
        stop = asyncio.Event()
        result = await run_trials(heads(2), FakeClient(), FakeWatch(), UNLIMITED, stop=stop)
        stop.set()
        return result

    assert asyncio.run(main()).ended == "done"


def test_a_client_that_ignores_its_cancellation_is_left_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gatekeeper.sampling.runner._CANCEL_SECONDS", 0.01)
    release = asyncio.Event()

    async def stubborn(_: Request) -> Completion:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        return Completion("too late")

    async def main() -> Run:
        stop = asyncio.Event()
        running = asyncio.create_task(
            run_trials(heads(1), FakeClient(stubborn), FakeWatch(), UNLIMITED, stop=stop)
        )
        while len(asyncio.all_tasks()) < 6:
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        stop.set()
        result = await running
        release.set()
        await asyncio.sleep(0)
        return result

    assert asyncio.run(main()).ended == "interrupted"


def test_a_mistake_of_the_program_is_not_taken_for_a_failed_call() -> None:
    def broken(_: Request) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(heads(3), FakeClient(broken))
