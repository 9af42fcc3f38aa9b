"""One run in this process: the model client, the past, signals, the event loop, progress.

What the command line and the action share. Work that calls no model starts none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.contract.change import Revision
from gatekeeper.gate import Surroundings, Work, answer_without_calls
from gatekeeper.gate import measure as measure_work
from gatekeeper.result import GateResult
from gatekeeper.slo.budget import Event

if TYPE_CHECKING:
    from gatekeeper.providers import ModelRouter


def measure(
    work: Work,
    revisions: tuple[Revision, ...],
    *,
    history: Path | None = None,
    replay: Path | None = None,
) -> GateResult:
    """Do the work and return its result.

    `revisions` are where `recorded/` models are read from, the first that has the file;
    `replay` answers every model from a samples.jsonl of this machine instead.
    SIGINT and SIGTERM end the run with what was gathered; a second one ends the process.
    """
    if not work.trials:
        return answer_without_calls(work)
    import asyncio

    from gatekeeper.history.file import read_history
    from gatekeeper.providers import ModelRouter

    events, notices = read_history(history) if history else (None, ())
    client = ModelRouter(_reader(revisions), replay=replay)
    return asyncio.run(_measure(work, client, events, notices))


async def _measure(
    work: Work,
    client: ModelRouter,
    history: Mapping[str, Sequence[Event]] | None,
    notices: tuple[str, ...],
) -> GateResult:
    import asyncio
    import signal

    from gatekeeper.reports.progress import TerminalProgress

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end(number: signal.Signals) -> None:
        stop.set()
        loop.remove_signal_handler(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end, number)
    try:
        with TerminalProgress() as progress:
            around = Surroundings(client, history, notices, progress, stop)
            return await measure_work(work, around)
    finally:
        await client.aclose()


def _reader(revisions: tuple[Revision, ...]) -> Callable[[str], bytes]:
    def read(path: str) -> bytes:
        for revision in revisions:
            if path in revision.entries:
                return revision.read(path)
        raise FileNotFoundError(path)

    return read
