"""One run in this process: the model client, the past, signals, the event loop, progress.

What the command line and the action share. Work that calls no model starts none of it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.contract.change import Revision
from gatekeeper.contract.read import UnreadableError, refuse_lfs_pointer
from gatekeeper.errors import ContractError, Problem
from gatekeeper.gate import Surroundings, Work, answer_without_calls
from gatekeeper.gate import measure as measure_work
from gatekeeper.result import GateResult, Waiver

if TYPE_CHECKING:
    from gatekeeper.providers import ModelRouter


def measure(
    work: Work,
    revisions: tuple[Revision, ...],
    *,
    history: Path | None = None,
    replay: Path | None = None,
    waivers: tuple[Waiver, ...] = (),
    notices: tuple[str, ...] = (),
    trusted: bool = True,
) -> GateResult:
    """Do the work and return its result.

    `revisions`, base first, are where `recorded/` models are read from: what base has
    recorded stands, and head can only add to it. `replay` answers every model from a
    samples.jsonl of this machine instead.
    `waivers` are those that count for the commit judged, `notices` what else is to be said.
    `trusted` is False for a fork's head: what could spend more than the base policy allows is
    then refused before any call, with a MeasurementError.
    SIGINT and SIGTERM end the run with what was gathered.
    """
    if not work.trials:
        return answer_without_calls(work, waivers, notices)
    if not trusted:
        _require_within_limits(work)
    gc.enable()  # the action turns it off until here
    import asyncio

    from gatekeeper.history.file import read_history
    from gatekeeper.providers import ModelRouter

    events, found = read_history(history, datetime.now(UTC)) if history else (None, ())
    client = ModelRouter(_reader(revisions), replay=replay)
    # A history without a single event says nothing yet: the budget is then this run's own.
    around = Surroundings(client, events or None, (*notices, *found), waivers=waivers)
    return asyncio.run(_measure(work, client, around))


def _require_within_limits(work: Work) -> None:
    from gatekeeper.forecast import require_within_limits
    from gatekeeper.providers.prices import estimated_cost

    require_within_limits(work, estimated_cost)


async def _measure(work: Work, client: ModelRouter, around: Surroundings) -> GateResult:
    import asyncio
    import signal

    from gatekeeper.reports.progress import TerminalProgress

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    # Every further signal finds the run ending already: runners repeat theirs within seconds.
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        with TerminalProgress() as progress:
            return await measure_work(work, replace(around, progress=progress, stop=stop))
    finally:
        await client.aclose()


def _reader(revisions: tuple[Revision, ...]) -> Callable[[str], bytes]:
    def read(path: str) -> bytes:
        recordings = [r.read(path) for r in revisions if path in r.entries]
        if not recordings:
            raise FileNotFoundError(path)
        try:
            for recording in recordings:
                refuse_lfs_pointer(recording, path)
        except UnreadableError as error:
            raise ContractError([Problem(path, error.what, error.fix)]) from None
        return b"\n".join(recordings)

    return read
