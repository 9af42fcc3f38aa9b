"""How trials are run: order, sharing, retries, giving up."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from support.fake_client import (
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
from gatekeeper.contract.values.trial import Completion, Request, Trial
from gatekeeper.errors import CallFailed
from gatekeeper.sampling.calls import distinct_requests
from gatekeeper.sampling.retries import RetryPolicy
from gatekeeper.sampling.runner import Run


def test_no_trials_make_an_empty_run() -> None:
    assert run([]) == Run((), 0, 0, 0, 0, None, "done")


def test_samples_come_in_plan_order_whatever_finishes_first() -> None:
    gates: dict[str, asyncio.Event] = {}

    async def last_first(request: Request) -> Completion:
        mine = gates.setdefault(content(request), asyncio.Event())
        if len(gates) == 4:
            gates["head 3"].set()
        await mine.wait()
        previous = f"head {int(content(request).split()[1]) - 1}"
        if previous in gates:
            gates[previous].set()
        return Completion(content(request))

    watch = FakeWatch()
    result = run(heads(4), FakeClient(last_first), watch)
    assert fixtures(watch.samples) == ["f0", "f1", "f2", "f3"]
    assert result.samples == tuple(watch.samples)
    assert [sample.output for sample in result.samples] == [f"head {n}" for n in range(4)]
    assert (result.made, result.ended) == (4, "done")


@pytest.mark.parametrize("concurrency", [1, 3])
def test_no_more_calls_are_under_way_than_allowed(concurrency: int) -> None:
    client = FakeClient()
    run(heads(10), client, limits=Limits(cost_usd=None, concurrency=concurrency))
    assert client.most == concurrency


def test_a_client_can_ask_for_less_at_a_time() -> None:
    class Narrow(FakeClient):
        def slots(self, model: str) -> int | None:
            return 2

    client = Narrow()
    assert len(run(heads(10), client).samples) == 10
    assert client.most == 2


def test_identical_requests_of_one_contract_are_made_once() -> None:
    same = [trial(0, "base", text="same"), trial(0, text="same"), trial(1, text="same")]
    trials = [*same, trial(0, contract="other", text="same")]
    client = FakeClient()
    result = run(trials, client)
    assert client.asked == ["same", "same"]
    assert [sample.shared for sample in result.samples] == [False, True, True, False]
    # Two calls were planned, and both were made.
    assert (result.made, result.saved) == (2, 0)
    assert len(distinct_requests(trials)) == 2


def test_a_call_counts_for_the_first_sample_that_took_its_answer() -> None:
    class HeadAlone(FakeWatch):
        def wants(self, trial: Trial) -> bool:
            return trial.arm == "head" and super().wants(trial)

    trials = [trial(0, "base", text="same"), trial(0, text="same"), trial(1, text="same")]
    assert [s.shared for s in run(trials, FakeClient(), HeadAlone()).samples] == [False, True]
    long = FakeClient(lambda _: Completion("x" * 100_001))
    assert [s.shared for s in run(trials, long, HeadAlone()).samples] == [False, True]


def test_a_failure_of_a_shared_call_is_a_failure_of_both() -> None:
    trials = [trial(0, "base", text="same"), trial(0, text="same")]
    result = run(trials, FakeClient(lambda _: CallFailed("no")))
    assert [sample.error for sample in result.samples] == ["no", "no"]
    assert (result.made, result.failed) == (1, 2)


def test_what_is_no_longer_wanted_is_not_called() -> None:
    client = FakeClient()
    trials = [*heads(20, "first"), *heads(2, "second")]
    result = run(trials, client, FakeWatch(enough=2), Limits(concurrency=1))
    assert len(client.asked) == 4
    assert (result.made, result.saved, result.surplus, result.ended) == (4, 18, 0, "done")


def test_a_shared_call_is_not_made_if_known_samples_decide_each_contract_that_shares_it() -> None:
    """Mutants of one prompt share the calls of their base arm."""
    plan = [(name, text) for name in ("m1", "m2") for text in (f"{name} known", "shared")]
    trials = [
        replace(trial(number, contract=name, text=text), part_of="c")
        for number, (name, text) in enumerate(plan)
    ]
    client, watch = FakeClient(), FakeWatch(enough=1)
    known = {index: Completion("known", replayed=True) for index in (0, 2)}
    found = run(trials, client, watch, known=known)
    assert client.asked == []
    assert [sample.trial.contract for sample in found.samples] == ["m1", "m2"]
    assert (found.made, found.saved) == (0, 1)


def test_calls_under_way_when_the_contract_is_decided_are_surplus() -> None:
    def answer(request: Request) -> Any:
        return Completion("yes") if content(request) == "head 0" else forever(request)

    result = run(heads(10), FakeClient(answer), FakeWatch(enough=1))
    assert fixtures(result.samples) == ["f0"]
    assert (result.surplus, result.ended) == (result.made - 1, "done")
    assert result.made + result.saved == 10


def test_after_calls_were_cancelled_as_many_are_made_at_a_time_as_before() -> None:
    class OneOfTheFirst(FakeWatch):
        def wants(self, trial: Trial) -> bool:
            return trial.contract == "second" or super().wants(trial)

    at_a_time: list[int] = []

    def answer(request: Request) -> Any:
        if content(request) in ("head 1", "head 2", "head 3"):
            return forever(request)
        at_a_time.append(client.under_way)
        return Completion("yes")

    client = FakeClient(answer)
    trials = [*heads(4, "first"), *(trial(number, contract="second") for number in range(4, 24))]
    result = run(trials, client, OneOfTheFirst(enough=1))
    assert (result.ended, result.surplus, len(result.samples)) == ("done", 3, 21)
    assert max(at_a_time[-10:]) == 4


def test_answers_behind_the_decision_are_no_evidence() -> None:
    release = asyncio.Event()

    async def first_is_slowest(request: Request) -> Completion:
        if content(request) == "head 3":
            release.set()
        if content(request) == "head 0":
            await release.wait()
            for _ in range(10):
                await asyncio.sleep(0)
        return Completion("yes", cost_usd=0.5)

    result = run(heads(4), FakeClient(first_is_slowest), FakeWatch(enough=1))
    assert fixtures(result.samples) == ["f0"]
    assert (result.made, result.surplus, result.cost_usd) == (4, 3, 2.0)


def test_a_retryable_failure_is_tried_again_after_the_time_asked_for() -> None:
    failures = [
        CallFailed("slow down", retryable=True, retry_after=7),
        CallFailed("slow down", retryable=True, retry_after=3600),
        CallFailed("oops", retryable=True),
    ]
    time = FakeTime()
    client = FakeClient(lambda r: failures.pop(0) if failures else Completion("at last"))
    result = run(heads(1), client, time=time)
    assert result.samples[0].output == "at last"
    assert (result.made, result.failed) == (4, 0)
    assert time.slept[:2] == [7, 60]
    assert 4 <= time.slept[2] <= 6


def test_after_the_last_try_the_sample_carries_the_error() -> None:
    client = FakeClient(lambda _: CallFailed("overloaded", retryable=True))
    result = run(heads(1), client)
    (sample,) = result.samples
    assert (sample.completion, sample.error, sample.output) == (None, "overloaded", "")
    assert (result.made, result.failed, result.ended) == (4, 1, "done")


def test_what_is_not_retryable_is_tried_once() -> None:
    assert run(heads(1), FakeClient(lambda _: CallFailed("bad request"))).made == 1


def test_a_hung_call_fails_after_its_time() -> None:
    result = run(heads(1), FakeClient(forever), retry=RetryPolicy(timeout_seconds=0.01))
    assert result.samples[0].error == "no answer within 0.01 s"
    assert result.made == 4


def test_a_time_out_of_the_clients_own_is_not_taken_for_ours() -> None:
    async def broken(_: Request) -> Completion:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        run(heads(1), FakeClient(broken))


def test_a_fatal_failure_stops_the_run_at_once() -> None:
    def answer(request: Request) -> Any:
        if content(request) == "head 1":
            return CallFailed("unknown model", fatal=True, author=True)
        return Completion("ok") if content(request) == "head 0" else forever(request)

    result = run(heads(50), FakeClient(answer))
    assert fixtures(result.samples) == ["f0", "f1"]
    assert (result.ended, result.detail, result.author) == ("fatal", "unknown model", True)
    assert result.made < 10


def test_a_run_in_which_every_call_fails_is_given_up() -> None:
    client = FakeClient(lambda _: CallFailed("HTTP 500", retryable=True))
    result = run(heads(500), client)
    assert (result.ended, result.author) == ("fatal", False)
    assert result.detail == "10 calls failed in a row; the last call failed with: HTTP 500"
    assert len(client.asked) <= 14 * 4


def test_after_a_success_more_patience_is_shown() -> None:
    client = FakeClient(
        lambda r: Completion("ok") if content(r) == "head 0" else CallFailed("HTTP 500")
    )
    result = run(heads(500), client)
    assert result.detail == "30 calls failed in a row; the last call failed with: HTTP 500"


def test_scattered_failures_end_nothing() -> None:
    client = FakeClient(
        lambda r: Completion("ok") if content(r).endswith("7") else CallFailed("HTTP 500")
    )
    result = run(heads(100), client, limits=Limits(concurrency=1))
    assert (result.ended, result.failed, len(result.samples)) == ("done", 90, 100)
