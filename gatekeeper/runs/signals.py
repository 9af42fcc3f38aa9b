"""Ctrl-C and a runner's request to stop: the run ends in order, with the samples so far."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from gatekeeper.reports.terminal.progress import TerminalProgress
from gatekeeper.runs.process import start_garbage_collection

if TYPE_CHECKING:
    from gatekeeper.sampling.client import ModelClient

T = TypeVar("T")


async def with_signals(
    client: ModelClient,
    within: Callable[[TerminalProgress, asyncio.Event], Awaitable[T]],
    shown: TerminalProgress | None = None,
) -> T:
    """Run it with its progress shown, as `shown` does if it is given, and an event that SIGINT or
    SIGTERM sets; close the client."""
    start_garbage_collection()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    # Every further signal finds the run ending already: runners repeat theirs within seconds.
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        with shown or TerminalProgress() as progress:
            return await within(progress, stop)
    finally:
        await client.aclose()


async def without_signals(
    client: ModelClient, within: Callable[[None, asyncio.Event], Awaitable[T]]
) -> T:
    """Run it without progress or signal handlers, in a program of its caller; close the client."""
    try:
        return await within(None, asyncio.Event())
    finally:
        await client.aclose()


def run_until_end(work: Coroutine[None, None, T]) -> T:
    """Run a coroutine to its end and return its result, also if a loop runs in this thread already,
    as in a notebook. That loop waits."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as other_thread:
        return other_thread.submit(asyncio.run, work).result()
