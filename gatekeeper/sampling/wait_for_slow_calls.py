"""Keeps a slow call from letting others start that may turn out not to be needed."""

from __future__ import annotations

from asyncio import Semaphore

CALLS_AHEAD = 8
"""How many calls per concurrent one may be started beyond the first that has no answer yet.

Further calls would be paid for before they can be evidence. With fewer, the run waits for every
slow answer; more save no time: `benchmarks/ahead.py` has the figures.
"""


def calls_ahead(concurrency: int) -> Semaphore:
    """Return what a call acquires before it starts; it is released when the call's first sample is
    delivered, and samples are delivered in plan order."""
    return Semaphore(concurrency * CALLS_AHEAD)
