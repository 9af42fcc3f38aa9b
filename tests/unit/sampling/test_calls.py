"""A call that is cancelled, and the task that makes it."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from gatekeeper.sampling.calls import SharedCall


async def _make(call: SharedCall, reached: list[str]) -> None:
    """Do what a worker does: make a call, then go on."""
    with call.cancellable():
        call.state = "running"
        await asyncio.Event().wait()
        reached.append("answer")
    reached.append("next call")


async def _start(call: SharedCall, reached: list[str]) -> asyncio.Task[None]:
    worker = asyncio.create_task(_make(call, reached))
    await asyncio.sleep(0)
    return worker


@pytest.mark.parametrize(("state", "becomes"), [("running", "surplus"), ("waiting", "unwanted")])
def test_the_worker_of_a_cancelled_call_goes_on(state: str, becomes: str) -> None:
    async def main() -> None:
        call, reached = SharedCall([0]), list[str]()
        worker = await _start(call, reached)
        call.state = "running" if state == "running" else "waiting"
        call.cancel()
        await worker
        assert (call.state, call.task, reached) == (becomes, None, ["next call"])
        assert worker.cancelling() == 0

    asyncio.run(main())


@pytest.mark.parametrize("with_its_call", [False, True])
def test_a_worker_that_is_cancelled_ends(with_its_call: bool) -> None:
    async def main() -> None:
        call, reached = SharedCall([0]), list[str]()
        worker = await _start(call, reached)
        if with_its_call:
            call.cancel()
        worker.cancel()
        await asyncio.wait([worker])
        assert worker.cancelled()
        assert call.state == ("surplus" if with_its_call else "running")
        assert reached == []

    asyncio.run(main())


def test_a_cancellation_that_is_not_heeded_does_not_stay_with_the_worker() -> None:
    async def worker(call: SharedCall) -> int:
        with call.cancellable(), contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        task = asyncio.current_task()
        assert task is not None
        return task.cancelling()

    async def main() -> None:
        call = SharedCall([0])
        working = asyncio.create_task(worker(call))
        await asyncio.sleep(0)
        call.cancel()
        assert await working == 0

    asyncio.run(main())


def test_a_call_that_nobody_makes_is_not_cancelled() -> None:
    call = SharedCall([0])
    call.cancel()
    assert call.state == "waiting"
