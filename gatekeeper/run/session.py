"""One run in this process: the model client, the history, signals, the event loop, progress.

The command line and the action share this. Work that calls no model starts none of it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from gatekeeper.contract.change import FileTooLargeError, Revision
from gatekeeper.contract.read import UnreadableError, refuse_lfs_pointer
from gatekeeper.errors import ContractError, MeasurementError, Problem, UsageError
from gatekeeper.gate.pipeline import (
    Measurement,
    RunContext,
    answer_without_calls,
    build_result,
    measure_contracts,
)
from gatekeeper.gate.result import GateResult, Waiver
from gatekeeper.gate.streaming import require_streams
from gatekeeper.gate.work import Work
from gatekeeper.numbers import count
from gatekeeper.sampling.client import ModelClient

if TYPE_CHECKING:
    import asyncio

    from gatekeeper.contract.definition import Contract
    from gatekeeper.contract.policy import Policy
    from gatekeeper.contract.trial import Outcome, Request
    from gatekeeper.gate.sweep.compare import SweepResult
    from gatekeeper.gate.sweep.grid import Setting
    from gatekeeper.gate.sweep.measure import Measured
    from gatekeeper.history.store import HistoryStore, Past
    from gatekeeper.providers import ModelRouter
    from gatekeeper.reports.redact import Redactor
    from gatekeeper.reports.terminal.progress import TerminalProgress
    from gatekeeper.run.kept_run import Keep
    from gatekeeper.run.unfinished import AnswerLog, UnfinishedRun
    from gatekeeper.sampling.limits import Price

T = TypeVar("T")

_FORKS = (
    "Pull requests from forks get no secrets; Forks in gatekeeper's docs/github-action.md says "
    "how a maintainer starts it"
)


@runtime_checkable
class AnswersOfShards(ModelClient, Protocol):
    """What several machines were answered, in place of models (run/shards/join.py)."""

    def prepare(self, around: RunContext) -> RunContext:
        """Return the context with the answers, and without limits of its own."""
        ...

    def count(self, found: Measurement) -> Measurement:
        """Return the measurement with the calls and costs of all machines."""
        ...


def measure(
    work: Work,
    revisions: tuple[Revision, ...],
    *,
    history: HistoryStore | None = None,
    keep: Keep | None = None,
    replay: Path | None = None,
    cache: Path | None = None,
    answers: Path | None = None,
    unfinished: UnfinishedRun | None = None,
    elsewhere: ModelClient | None = None,
    waivers: tuple[Waiver, ...] = (),
    notices: tuple[str, ...] = (),
    trusted: bool = True,
    full_suite: bool = False,
) -> GateResult:
    """Measure the work and return its result, without the secrets of this process's environment.

    `revisions`, base first, are where `recorded/` models are read from: base's recorded answers
    always win, and head can only add to them. `replay` is a samples.jsonl that answers every model.
    `keep` says how to add the run to the history. `cache` holds samples of earlier checks.
    `answers` is the file that keeps each answer until the run has ended; `unfinished` holds those
    of a run that stopped early. `elsewhere` answers in place of this process's models. `waivers`
    are for the tested commit. `trusted` is False for a fork's head: a plan that could spend more
    than the limits, or whose price is unknown, is then a MeasurementError. One call that can is a
    UsageError. So is a `full_suite` if the policy's limit of the month is reached.
    """
    from gatekeeper.reports.redact import environment_redactor

    redact = environment_redactor()
    _require_recording(replay)
    if not work.trials:
        return redact.value(answer_without_calls(work, waivers, notices))
    if not replay:
        notices = (*notices, *require_sound_models(work, revisions))
    gc.enable()  # the action turns it off until here
    from gatekeeper.history.record import past_runs
    from gatekeeper.run.kept_run import keep_run
    from gatekeeper.run.sample_cache import SampleCache

    past, said = _read_past(work, history, month_limit=full_suite and not replay)
    remembered = SampleCache.open(None if replay else cache, work)
    work = remembered.in_order(work)
    around = RunContext(
        client := model_client(work, revisions, replay, elsewhere),
        notices=(*notices, *said, *_history_notices(past, keep), *remembered.notices),
        waivers=waivers,
        remembered=remembered.entries,
        resumed=unfinished.known(work.trials) if unfinished else {},
    )
    log = None if answers is None else _answer_log(answers, work, unfinished, redact)
    around = _with_past(around, past)
    found = _measure_now(work, client, around, log, elsewhere, free=bool(replay), trusted=trusted)
    more = [] if replay else _unmeasured(found.outcomes, revisions)
    more += remembered.keep(work, found.outcomes)
    more += _about_unfinished(log, unfinished, found) if log else ()
    found = redact.value(replace(found, notices=(*found.notices, *more)))
    if history and keep:
        found = keep_run(history, past, work, found, keep)
    return redact.value(build_result(work, found, past_runs(past.records)))


def _read_past(
    work: Work, history: HistoryStore | None, *, month_limit: bool
) -> tuple[Past, tuple[str, ...]]:
    """Return the history and what it says of the month's spending. Raises UsageError if the limit
    of the month is reached and counts."""
    from gatekeeper.history.store import Past
    from gatekeeper.run.month_limit import require_month_limit

    past = history.read() if history else Past()
    if not month_limit:
        return past, ()
    return past, require_month_limit(work, past if history else None, datetime.now(UTC))


def _history_notices(past: Past, keep: Keep | None) -> tuple[str, ...]:
    """Return the notice about the history. A history that begins with this run is mentioned once it
    has begun."""
    return past.faults if keep else past.notices


def model_client(
    work: Work,
    revisions: tuple[Revision, ...],
    replay: Path | None,
    elsewhere: ModelClient | None = None,
) -> ModelRouter:
    """Return the client of all models. `elsewhere` answers for those without a recording, in place
    of this process."""
    from gatekeeper.providers import ModelRouter

    return ModelRouter(
        _reader(revisions),
        replay=replay,
        through_litellm=work.policy.through_litellm,
        elsewhere=elsewhere,
    )


def _with_past(around: RunContext, past: Past) -> RunContext:
    """Return the context with what the history says. A history without an event says nothing
    yet."""
    from gatekeeper.history.gating_checks import gating_history
    from gatekeeper.history.record import events_of

    return replace(
        around,
        history=events_of(past.records) or None,
        gated=gating_history(past.records),
        unread=past.unread,
    )


def _measure_now(
    work: Work,
    client: ModelRouter,
    around: RunContext,
    log: AnswerLog | None,
    elsewhere: ModelClient | None,
    *,
    free: bool,
    trusted: bool,
) -> Measurement:
    """Ask the models, with progress and signals. `free` says that no answer costs anything."""
    import asyncio

    from gatekeeper.run.batch_run import BatchRun

    joined = elsewhere if isinstance(elsewhere, AnswersOfShards) else None
    batches = elsewhere if isinstance(elsewhere, BatchRun) else None
    around = joined.prepare(around) if joined else around

    async def within(progress: TerminalProgress, stop: asyncio.Event) -> Measurement:
        price: Price = _free
        said: tuple[str, ...] = ()
        if not free:
            # In a thread: the price list is large, and progress is already shown.
            worst = batches.price if batches else None
            price, said = await asyncio.to_thread(prices_within_limits, work, trusted, worst)
        try:
            await client.require_keys(dict.fromkeys(trial.request.model for trial in work.trials))
        except UsageError as error:
            if trusted:
                raise
            raise MeasurementError(f"{error}. {_FORKS}") from error
        require_streams(work.trials, client)
        if batches:
            batches.require(work)
        ready = replace(around, price=price, progress=progress, stop=stop)
        # Imports that the end of the run needs take no time while the models are thinking.
        imports = asyncio.create_task(asyncio.to_thread(_import_statistics_and_reports))
        try:
            found = await measure_contracts(work, ready)
        finally:
            await imports
        found = joined.count(found) if joined else found
        # What earlier runs or recordings answered had no price to know.
        return replace(found, notices=(*found.notices, *said)) if found.calls.made else found

    from gatekeeper.run.signals import with_signals

    around = replace(around, on_answer=log.add) if log else around
    try:
        around = batches.prepare(around, work, log) if batches else around
        found = asyncio.run(with_signals(client, within))
    finally:
        if log:
            log.close()
    return replace(found, notices=(*found.notices, *batches.notices())) if batches else found


def _import_statistics_and_reports() -> None:
    import scipy.special  # noqa: F401

    import gatekeeper.reports.terminal.console
    import gatekeeper.reports.write  # noqa: F401


def _answer_log(
    path: Path, work: Work, unfinished: UnfinishedRun | None, redact: Redactor
) -> AnswerLog:
    from gatekeeper.run.unfinished import AnswerLog, header_of

    log = AnswerLog(path, lambda completion: redact.value(completion) == completion)
    if unfinished:
        log.resume()
    else:
        log.start(header_of(work.trials, work.order_seed))
    return log


def _about_unfinished(
    log: AnswerLog, unfinished: UnfinishedRun | None, found: Measurement
) -> list[str]:
    """Return notices about the answers that were kept."""
    said = []
    if unfinished:
        said.append(f"Resumed with {count(len(unfinished.answers), 'answer')} of an earlier run.")
        if unfinished.damaged:
            said.append(
                f"{log.path}: {count(unfinished.damaged, 'line')} could not be read; those "
                "requests were sent again."
            )
    if log.fault:
        said.append(log.fault)
    elif log.count and any(contract.verdict == "error" for contract in found.contracts):
        said.append("The answers so far are kept: add --resume to go on without paying again.")
    return said


def require_sound_models(work: Work, revisions: tuple[Revision, ...]) -> tuple[str, ...]:
    """Refuse models that cannot or may not be called, before any call. Returns a notice for each
    that is likely misspelt. Raises ContractError."""
    from gatekeeper.contract.models.faults import find_faults, with_recordings
    from gatekeeper.providers.model_faults import find_model_fault

    faults = find_faults(work.models, with_recordings(find_model_fault, revisions))
    refused = faults.with_refused(work.model_problems)
    if refused:
        raise ContractError(refused)
    return faults.notices


def _unmeasured(outcomes: Sequence[Outcome], revisions: tuple[Revision, ...]) -> list[str]:
    from gatekeeper.providers.unmeasured import unmeasured_notices

    if len(revisions) < 2:
        return []  # a run on the default branch: what it reads is merged
    base, head = revisions
    return unmeasured_notices(outcomes, base, head)


def sweep(
    contract: Contract,
    settings: Sequence[Setting],
    policy: Policy,
    revision: Revision,
    replay: Path | None = None,
) -> SweepResult:
    """Try a contract under each of the settings. SIGINT and SIGTERM end it. The result comes
    without the secrets of this process's environment."""
    import asyncio

    from gatekeeper.gate.sweep.compare import summarise_sweep
    from gatekeeper.gate.sweep.measure import measure_sweep
    from gatekeeper.providers import ModelRouter
    from gatekeeper.providers.prices import worst_cost
    from gatekeeper.reports.redact import environment_redactor

    _require_recording(replay)
    through_litellm = policy.through_litellm
    client = ModelRouter(_reader((revision,)), replay=replay, through_litellm=through_litellm)

    async def within(progress: TerminalProgress, stop: asyncio.Event) -> Measured:
        await client.require_keys(dict.fromkeys(setting.target.model for setting in settings))
        price = _free if replay else worst_cost
        if not replay:
            await asyncio.to_thread(_load_prices, settings, policy)
        return await measure_sweep(
            contract, settings, client, policy.limits, progress=progress, stop=stop, price=price
        )

    from gatekeeper.run.signals import with_signals

    result = summarise_sweep(contract, settings, asyncio.run(with_signals(client, within)))
    return environment_redactor().value(result)


def prices_within_limits(
    work: Work, trusted: bool, worst: Price | None = None
) -> tuple[Price, tuple[str, ...]]:
    """Return the most that each request can cost, and notices about models without a price.

    `worst` is the price to use; None for that of a single call.
    Raises UsageError and MeasurementError if the limits cannot hold.
    """
    from gatekeeper.gate.spending_limits import require_within_limits
    from gatekeeper.providers.prices import worst_cost

    worst = worst or worst_cost
    return worst, require_within_limits(work, worst, trusted=trusted)


def _load_prices(settings: Sequence[Setting], policy: Policy) -> None:
    """Load the price list before the first call."""
    from gatekeeper.contract.trial import Request
    from gatekeeper.providers.prices import worst_cost

    if policy.limits.cost_usd is not None:
        for model in {setting.target.model for setting in settings}:
            worst_cost(Request(model, (), {}, None, 0))


def _require_recording(replay: Path | None) -> None:
    """Say at once that the file is not there, and not as the failure of every call."""
    if replay is None:
        return
    if not replay.exists():
        raise UsageError(
            f"--replay {replay}: the file does not exist; give the path of a samples.jsonl"
        )
    if replay.is_dir():
        raise UsageError(f"--replay {replay}: this is a folder; name the samples.jsonl in it")


def _free(_: Request) -> float:
    """Return a price of zero, because answers of a recording cost nothing."""
    return 0.0


def _reader(revisions: tuple[Revision, ...]) -> Callable[[str], bytes]:
    def read(path: str) -> bytes:
        try:
            recordings = [r.read(path) for r in revisions if path in r.entries]
        except FileTooLargeError as error:
            what = f"the recording has {error.size // 1_000_000:,} MB, more than gatekeeper reads"
            raise ContractError([Problem(path, what, "record fewer samples")]) from None
        if not recordings:
            raise FileNotFoundError(path)
        try:
            for recording in recordings:
                refuse_lfs_pointer(recording, path)
        except UnreadableError as error:
            raise ContractError([Problem(path, error.what, error.fix)]) from None
        return b"\n".join(recordings)

    return read
