"""One run in this process: the model client, the past, signals and the event loop.

What the command line and the action share. Everything else they do differently.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from gatekeeper.contract.change import Revision
from gatekeeper.evidence.collect import Progress
from gatekeeper.gate import Surroundings
from gatekeeper.history.file import read_history
from gatekeeper.providers import ModelRouter
from gatekeeper.result import GateResult
from gatekeeper.slo.budget import Event

Story = Callable[[Surroundings], Awaitable[GateResult]]


def measure(
    story: Story,
    revisions: tuple[Revision, ...],
    *,
    history: Path | None = None,
    replay: Path | None = None,
    progress: Progress | None = None,
) -> GateResult:
    """Run the story and return its result.

    `revisions` are where `recorded/` models are read from, the first that has the file.
    SIGINT and SIGTERM end the run with what was gathered; a second one ends the process.
    """
    events, notices = read_history(history) if history else (None, ())
    client = ModelRouter(_reader(revisions), replay=replay)
    return asyncio.run(_measure(story, client, events, notices, progress))


async def _measure(
    story: Story,
    client: ModelRouter,
    history: Mapping[str, Sequence[Event]] | None,
    notices: tuple[str, ...],
    progress: Progress | None,
) -> GateResult:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end(number: signal.Signals) -> None:
        stop.set()
        loop.remove_signal_handler(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end, number)
    try:
        return await story(Surroundings(client, history, notices, progress, stop))
    finally:
        await client.aclose()


def _reader(revisions: tuple[Revision, ...]) -> Callable[[str], bytes]:
    def read(path: str) -> bytes:
        for revision in revisions:
            if path in revision.entries:
                return revision.read(path)
        raise FileNotFoundError(path)

    return read
