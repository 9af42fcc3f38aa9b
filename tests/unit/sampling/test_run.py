from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from gatekeeper.contract.model import Message
from gatekeeper.contract.policy import Limits
from gatekeeper.contract.trial import Arm, Completion, Request, Sample, Trial
from gatekeeper.errors import CallFailed
from gatekeeper.sampling.retry import RetryPolicy
from gatekeeper.sampling.run import Run, distinct_requests, run_trials

Answer = Callable[[Request], "Completion | CallFailed | Awaitable[Completion]"]

UNLIMITED = Limits(cost_usd=None, calls=None, minutes=None, concurrency=4)


def trial(number: int, arm: Arm = "head", contract: str = "c", text: str | None = None) -> Trial:
    content = text or f"{arm} {number}"
    request = Request("m", (Message("user", content),), {}, 42, 0)
    return Trial(contract, f"f{number}", arm, 0, request)


def heads(count: int, contract: str = "c") -> list[Trial]:
    return [trial(number, contract=contract) for number in range(count)]


def content(request: Request) -> str:
    return request.messages[0].content


@dataclass
class FakeClient:
    """Answers with the request's text, or with what `answer` makes of it."""

    answer: Answer = lambda request: Completion(content(request))
    asked: list[str] = field(default_factory=list)
    under_way: int = 0
    most: int = 0

    async def complete(self, request: Request) -> Completion:
        self.asked.append(content(request))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(0)
            answer = self.answer(request)
            if isinstance(answer, CallFailed):
                raise answer
            return answer if isinstance(answer, Completion) else await answer
        finally:
            self.under_way -= 1

    async def aclose(self) -> None:
        raise AssertionError("closing the client is its owner's business")


@dataclass
class FakeWatch:
    """Wants everything until `enough` samples of a contract came in."""

    enough: int | None = None
    samples: list[Sample] = field(default_factory=list)

    def wants(self, trial: Trial) -> bool:
        mine = [s for s in self.samples if s.trial.contract == trial.contract]
        return self.enough is None or len(mine) < self.enough

    def add(self, sample: Sample) -> None:
        self.samples.append(sample)


class FakeTime:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def run(
    trials: list[Trial],
    client: Any = None,
    watch: FakeWatch | None = None,
    limits: Limits = UNLIMITED,
    retry: RetryPolicy | None = None,
    time: FakeTime | None = None,
    stop_when: Callable[[], bool] | None = None,
) -> Run:
    async def main() -> Run:
        stop = asyncio.Event()
        moment = time or FakeTime()

        async def stopper() -> None:
            while stop_when is None or not stop_when():
                await asyncio.sleep(0)
            stop.set()

        stopping = asyncio.create_task(stopper()) if stop_when else None
        try:
            return await run_trials(
                trials,
                client or FakeClient(),
                watch or FakeWatch(),
                limits,
                retry=retry,
                stop=stop if stop_when else None,
                clock=moment,
                sleep=moment.sleep,
            )
        finally:
            if stopping:
                stopping.cancel()

    return asyncio.run(asyncio.wait_for(main(), timeout=60))


async def forever(_: Request) -> Completion:
    await asyncio.Event().wait()
    raise AssertionError


def fixtures(samples: Any) -> list[str]:
    return [sample.trial.fixture for sample in samples]


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
    run(heads(10), client, limits=Limits(concurrency=concurrency))
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
    assert (result.made, result.saved) == (2, 2)
    assert len(distinct_requests(trials)) == 2


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


def test_calls_under_way_when_the_contract_is_decided_are_surplus() -> None:
    def answer(request: Request) -> Any:
        return Completion("yes") if content(request) == "head 0" else forever(request)

    result = run(heads(10), FakeClient(answer), FakeWatch(enough=1))
    assert fixtures(result.samples) == ["f0"]
    assert (result.surplus, result.ended) == (result.made - 1, "done")
    assert result.made + result.saved == 10


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
    assert result.detail == "10 calls failed in a row, the last with: HTTP 500"
    assert len(client.asked) <= 14 * 4


def test_after_a_success_more_patience_is_shown() -> None:
    client = FakeClient(
        lambda r: Completion("ok") if content(r) == "head 0" else CallFailed("HTTP 500")
    )
    result = run(heads(500), client)
    assert result.detail == "30 calls failed in a row, the last with: HTTP 500"


def test_scattered_failures_end_nothing() -> None:
    client = FakeClient(
        lambda r: Completion("ok") if content(r).endswith("7") else CallFailed("HTTP 500")
    )
    result = run(heads(100), client, limits=Limits(concurrency=1))
    assert (result.ended, result.failed, len(result.samples)) == ("done", 90, 100)


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
    assert result.detail == "the cost limit of $2.00 is reached"


def test_unknown_costs_reach_no_limit_and_stay_unknown() -> None:
    result = run(heads(20), limits=Limits(cost_usd=0.0))
    assert (result.ended, result.cost_usd) == ("done", None)


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
    monkeypatch.setattr("gatekeeper.sampling.run._CANCEL_SECONDS", 0.01)
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
