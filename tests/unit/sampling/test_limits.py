"""The cost limit: whatever calls turn out to cost, and in whatever order they end, it holds."""

from __future__ import annotations

import asyncio
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fake_client import FakeClient, FakeTime, FakeWatch, content, heads, trial

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.trial import Completion, Request, Trial
from gatekeeper.errors import CallFailed
from gatekeeper.sampling.limits import Price
from gatekeeper.sampling.retries import RetryPolicy
from gatekeeper.sampling.runner import Run, run_trials

ONCE = RetryPolicy(attempts=1, give_up_after=1000)


def run(
    trials: list[Trial],
    client: FakeClient,
    price: Price | None,
    cost_usd: float | None = 1.0,
    watch: FakeWatch | None = None,
    retry: RetryPolicy = ONCE,
    concurrency: int = 16,
) -> Run:
    time = FakeTime()
    limits = Limits(cost_usd, None, None, concurrency)

    async def main() -> Run:
        return await run_trials(
            trials,
            client,
            watch or FakeWatch(),
            limits,
            retry=retry,
            clock=time,
            sleep=time.sleep,
            price=price,
        )

    return asyncio.run(asyncio.wait_for(main(), 60))


@given(
    seed=st.integers(0, 2**30),
    calls=st.integers(1, 60),
    limit=st.floats(0.5, 5),
    concurrency=st.sampled_from([1, 2, 16]),
    failing=st.floats(0, 0.5),
)
def test_the_limit_is_never_overshot(
    seed: int, calls: int, limit: float, concurrency: int, failing: float
) -> None:
    """Whatever is billed up to the worst price, also for calls that say nothing of it."""
    drawn = random.Random(seed)  # noqa: S311
    worst = {f"head {n}": drawn.uniform(0, 0.6) for n in range(calls)}
    billed = 0.0

    async def answer(request: Request) -> Completion:
        nonlocal billed
        for _ in range(drawn.randrange(4)):
            await asyncio.sleep(0)
        cost = worst[content(request)] * drawn.random()
        billed += cost
        assert billed <= limit + 1e-9
        if drawn.random() < failing:
            raise CallFailed("lost", retryable=True, billable=True)
        return Completion("ok", cost_usd=cost if drawn.random() < 0.8 else None)

    result = run(
        heads(calls),
        FakeClient(answer),
        lambda request: worst[content(request)],
        limit,
        retry=RetryPolicy(attempts=2, give_up_after=1000),
        concurrency=concurrency,
    )
    assert (result.cost_usd or 0.0) <= limit + 1e-9
    assert result.ended in ("done", "limit")
    if result.ended == "done":
        assert len(result.samples) == calls


def test_a_call_waits_for_what_others_give_back() -> None:
    """Two fit at a time, and each turns out to be cheap: all are made."""
    client = FakeClient(lambda _: Completion("ok", cost_usd=0.01))
    result = run(heads(40), client, lambda _: 0.4)
    assert (result.ended, result.made) == ("done", 40)
    assert client.most == 2


def test_the_first_call_to_a_model_goes_alone() -> None:
    seen: list[int] = []

    async def answer(_: Request) -> Completion:
        seen.append(client.under_way)
        for _ in range(100):
            await asyncio.sleep(0)
        return Completion("ok", cost_usd=0.001)

    client = FakeClient(answer)
    run(heads(20), client, lambda _: 0.01)
    assert client.most == 16
    assert seen[0] == 1
    assert len(client.asked) == 20
    client = FakeClient(answer)
    run(heads(20), client, lambda _: 0.0)
    assert seen[20:36] == [16] * 16


@pytest.mark.parametrize("price", [None, lambda _: None, lambda _: 0.01])
def test_a_price_that_is_wrong_is_found_out_by_one_call(price: Price | None) -> None:
    client = FakeClient(lambda _: Completion("ok", cost_usd=0.45))
    result = run(heads(20), client, price)
    assert (result.ended, result.made) == ("limit", 2)
    assert result.cost_usd == pytest.approx(0.9)


def test_a_call_that_can_never_fit_ends_the_run_and_names_the_amounts() -> None:
    client = FakeClient(lambda _: Completion("ok", cost_usd=0.00004))
    result = run(heads(3), client, lambda _: 0.00003, 0.00005)
    assert (result.ended, result.made) == ("limit", 1)
    assert result.detail is not None
    assert (
        "the cost limit of 0.000050 USD is too low for the next call: 0.000040 USD are spent"
        in result.detail
    )
    assert " 0.00 " not in result.detail


def test_answers_without_a_price_count_with_the_most_that_they_can_cost() -> None:
    client = FakeClient(lambda _: Completion("ok"))
    result = run(heads(20), client, lambda _: 0.25)
    assert (result.ended, result.made, result.cost_usd) == ("limit", 4, None)
    assert result.detail is not None
    assert "1.00 USD of this is the highest possible cost" in result.detail


@pytest.mark.parametrize("cost", [math.nan, -5.0, math.inf])
def test_an_impossible_price_is_none(cost: float) -> None:
    client = FakeClient(lambda _: Completion("ok", cost_usd=cost))
    result = run(heads(20), client, lambda _: 0.25)
    assert (result.ended, result.made, result.cost_usd) == ("limit", 4, None)


@pytest.mark.parametrize(("billable", "made"), [(True, 4), (False, 20)])
def test_a_failure_costs_what_the_provider_may_bill(billable: bool, made: int) -> None:
    client = FakeClient(lambda _: CallFailed("lost", billable=billable))
    result = run(heads(20), client, lambda _: 0.25)
    assert result.made == made
    assert result.ended == ("limit" if billable else "done")


def test_each_attempt_sets_aside_its_own() -> None:
    failures = [CallFailed("lost", retryable=True, billable=True) for _ in range(3)]
    client = FakeClient(lambda _: failures.pop() if failures else Completion("ok", cost_usd=0.1))
    result = run(heads(1), client, lambda _: 0.3, retry=RetryPolicy(attempts=4))
    assert (result.ended, result.made) == ("limit", 3)


def test_what_is_under_way_for_a_decided_contract_gives_back_its_true_price() -> None:
    """Cancelled, it would count with its worst price, and the second contract would not fit."""

    async def answer(request: Request) -> Completion:
        for _ in range(30 if "slow" in content(request) else 1):
            await asyncio.sleep(0)
        return Completion("ok", cost_usd=0.001)

    slow = [trial(n, contract="a", text=f"slow {n}") for n in range(1, 6)]
    trials = [trial(0, contract="a"), *slow, *(trial(n, contract="b") for n in range(20, 23))]
    result = run(trials, FakeClient(answer), lambda _: 0.19, watch=FakeWatch(enough=1))
    assert result.ended == "done"
    assert {sample.trial.contract for sample in result.samples} == {"a", "b"}
    assert result.cost_usd is not None


def test_nobody_waits_for_what_is_under_way_at_the_end() -> None:
    async def answer(request: Request) -> Completion:
        if content(request) != "head 0":
            await asyncio.Event().wait()
        return Completion("ok", cost_usd=0.001)

    result = run(heads(8), FakeClient(answer), lambda _: 0.01, watch=FakeWatch(enough=1))
    assert (result.ended, len(result.samples)) == ("done", 1)


def test_what_is_not_wanted_any_more_after_its_wait_is_not_called() -> None:
    client = FakeClient(lambda _: Completion("ok", cost_usd=0.001))
    result = run(heads(8), client, lambda _: 0.9, watch=FakeWatch(enough=1))
    assert (result.made, client.asked) == (1, ["head 0"])
    assert result.saved == 7


def test_without_a_limit_no_price_is_asked() -> None:
    def never(_: Request) -> Any:
        raise AssertionError

    client = FakeClient(lambda _: Completion("ok", cost_usd=5.0))
    assert run(heads(20), client, never, None).made == 20
    assert client.most == 16
