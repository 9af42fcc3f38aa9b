"""One run in this process: the model client, the past, signals, the event loop, progress.

What the command line and the action share. Work that calls no model starts none of it.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gatekeeper.contract.change import Revision
from gatekeeper.contract.read import UnreadableError, refuse_lfs_pointer
from gatekeeper.errors import ContractError, MeasurementError, Problem, UsageError
from gatekeeper.gate import Surroundings, Work, answer_without_calls
from gatekeeper.gate import measure as measure_work
from gatekeeper.result import GateResult, Waiver

if TYPE_CHECKING:
    import asyncio

    from gatekeeper.contract.model import Contract
    from gatekeeper.contract.policy import Policy
    from gatekeeper.history.store import HistoryStore
    from gatekeeper.reports.progress import TerminalProgress
    from gatekeeper.sampling.client import ModelClient
    from gatekeeper.sweep.grid import Setting
    from gatekeeper.sweep.measure import Measured
    from gatekeeper.sweep.weigh import SweepResult

T = TypeVar("T")

_FORKS = (
    "Pull requests from forks get no secrets; Forks in gatekeeper's docs/github-action.md says "
    "how a maintainer has them judged"
)


def measure(
    work: Work,
    revisions: tuple[Revision, ...],
    *,
    history: HistoryStore | None = None,
    replay: Path | None = None,
    cache: Path | None = None,
    waivers: tuple[Waiver, ...] = (),
    notices: tuple[str, ...] = (),
    trusted: bool = True,
) -> GateResult:
    """Do the work and return its result.

    `revisions`, base first, are where `recorded/` models are read from: what base has
    recorded stands, and head can only add to it. `replay` answers every model from a
    samples.jsonl of this machine instead.
    `cache` is the file of what earlier checks measured: read before, added to after.
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

    from gatekeeper.cache import SampleCache
    from gatekeeper.history.store import Past
    from gatekeeper.providers import ModelRouter
    from gatekeeper.record import events_of, past_runs

    past = history.read() if history else Past()
    client = ModelRouter(_reader(revisions), replay=replay)
    # A history without a single event says nothing yet.
    around = Surroundings(
        client,
        events_of(past.records) or None,
        (*notices, *past.notices),
        waivers=waivers,
        unread=past.unread,
    )
    remembered = SampleCache.open(None if replay else cache, work)
    around = replace(
        around,
        notices=(*around.notices, *remembered.notices),
        remembered=remembered.entries,
    )

    async def within(progress: TerminalProgress, stop: asyncio.Event) -> GateResult:
        try:
            await client.require_keys(dict.fromkeys(trial.request.model for trial in work.trials))
        except UsageError as error:
            if trusted:
                raise
            raise MeasurementError(f"{error}. {_FORKS}") from error
        return await measure_work(work, replace(around, progress=progress, stop=stop))

    result = asyncio.run(_with_signals(client, within))
    notices = (*result.notices, *remembered.keep(work, result))
    return replace(result, notices=notices, past=past_runs(past.records))


def sweep(
    contract: Contract,
    settings: Sequence[Setting],
    policy: Policy,
    revision: Revision,
    replay: Path | None = None,
) -> SweepResult:
    """Try a contract under each of the settings. SIGINT and SIGTERM end it."""
    import asyncio

    from gatekeeper.providers import ModelRouter
    from gatekeeper.sweep.measure import measure_sweep
    from gatekeeper.sweep.weigh import weigh_sweep

    client = ModelRouter(_reader((revision,)), replay=replay)

    async def within(progress: TerminalProgress, stop: asyncio.Event) -> Measured:
        return await measure_sweep(
            contract, settings, client, policy.limits, progress=progress, stop=stop
        )

    return weigh_sweep(contract, settings, asyncio.run(_with_signals(client, within)))


def _require_within_limits(work: Work) -> None:
    from gatekeeper.forecast import require_within_limits
    from gatekeeper.providers.prices import estimated_cost

    require_within_limits(work, estimated_cost)


async def _with_signals(
    client: ModelClient, within: Callable[[TerminalProgress, asyncio.Event], Awaitable[T]]
) -> T:
    """Run it with its progress shown, and with an event that a signal sets."""
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
            return await within(progress, stop)
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
