"""One run in this process: the model client, the history, signals, the event loop, progress.

The command line and the action share this. Work that calls no model does not start any of this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gatekeeper.contract.values.change import Revision
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.gate.pipeline import (
    Measurement,
    RunContext,
    build_result,
    conclude_without_calls,
    known_judge_answers,
    measure_contracts,
    plan_sampling,
)
from gatekeeper.gate.results.result import GateResult, Waiver
from gatekeeper.gate.work import Work, require_streams
from gatekeeper.numbers import count
from gatekeeper.runs.models import (
    free_price,
    open_models,
    prices_within_limits,
    require_recording,
    require_sound_models,
)

if TYPE_CHECKING:
    import asyncio

    from gatekeeper.contract.values.trial import Outcome
    from gatekeeper.gate.forecast.forecast import Amounts
    from gatekeeper.gate.results.author_results import ContractBlame, PromptPromises
    from gatekeeper.gate.results.parts import Forecast
    from gatekeeper.history.store import HistoryStore, Past
    from gatekeeper.providers import ModelRouter
    from gatekeeper.reports.redact import Redactor
    from gatekeeper.reports.terminal.progress import TerminalProgress
    from gatekeeper.runs.keep_in_history import Keep
    from gatekeeper.runs.model_source import ModelSource
    from gatekeeper.runs.old_names import Since
    from gatekeeper.runs.unfinished import AnswerLog, UnfinishedRun
    from gatekeeper.sampling.limits import Price

_FORKS = (
    "Pull requests from forks get no secrets; the section Forks in gatekeeper's "
    "docs/github-action.md says how a maintainer starts this run"
)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What more is known of a run: notices, the harmful edits of a failed one, the promises of its
    prompts, and the calls and US dollars that this took; a cost of None is not known."""

    notices: tuple[str, ...] = ()
    calls: int = 0
    cost_usd: float | None = 0.0
    blame: tuple[ContractBlame, ...] = ()
    promises: tuple[PromptPromises, ...] = ()

    def and_more(self, other: Explanation) -> Explanation:
        """Return this with the notices, calls and cost of another."""
        costs = self.cost_usd, other.cost_usd
        return replace(
            self,
            notices=(*self.notices, *other.notices),
            calls=self.calls + other.calls,
            cost_usd=None if None in costs else math.fsum(c for c in costs if c is not None),
        )


Explain = Callable[[Work, Measurement], Explanation]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a run is made; the default is a trusted run of this process that keeps nothing.

    `history` is read, and `keep` says how to add the run to it. `replay` is a samples.jsonl that
    answers every model. `cache` holds samples of earlier checks. `answers` is the file that keeps
    each answer until the run has ended; `unfinished` holds those of a run that stopped early.
    `source` answers instead of this process's models. `waivers` are for the tested commit.
    `trusted` is False for a fork's head: a plan that could spend more than the limits, or whose
    price is unknown, is then refused. A `full_suite` is refused if the policy's limit of the month
    is reached. `since` returns what changed from an earlier commit to the one whose contracts have
    the history. Without a `terminal`, no progress is shown and signals are the caller's.
    `explain` is called after the measurement, and may call models.
    """

    history: HistoryStore | None = None
    keep: Keep | None = None
    replay: Path | None = None
    cache: Path | None = None
    answers: Path | None = None
    unfinished: UnfinishedRun | None = None
    source: ModelSource | None = None
    waivers: tuple[Waiver, ...] = ()
    notices: tuple[str, ...] = ()
    trusted: bool = True
    full_suite: bool = False
    since: Since | None = None
    explain: Explain | None = None
    terminal: bool = True


def measure(
    work: Work, revisions: tuple[Revision, ...], options: RunOptions | None = None
) -> GateResult:
    """Measure the work and return its result, without the secrets of this process's environment.

    `recorded/` models are read from `revisions`, base first: base's recorded answers always win,
    and head can only add to them.

    Raises:
        UsageError: A model cannot be called, one call alone can cost more than the limits allow, or
            the limit of the month is reached.
        MeasurementError: The work is not trusted and could spend more than the limits.
    """
    from gatekeeper.reports.redact import environment_redactor

    options = options or RunOptions()
    redact = environment_redactor()
    require_recording(options.replay)
    notices = options.notices
    if not work.trials:
        found = conclude_without_calls(work, options.waivers, notices)
        if options.explain:
            found = _explained(found, options.explain(work, found))
        return redact.value(build_result(work, found))
    if not options.replay:
        notices = (*notices, *require_sound_models(work, revisions))
    from gatekeeper.history.base_nights import with_nights
    from gatekeeper.history.record import past_runs
    from gatekeeper.runs.keep_in_history import keep_run
    from gatekeeper.runs.old_names import with_old_names
    from gatekeeper.runs.sample_cache import SampleCache

    past, said = _read_past(work, options)
    past, old_names = with_old_names(past, work, options.since)
    remembered = SampleCache.open(None if options.replay else options.cache, work)
    work = with_nights(remembered.in_order(work), past.records)
    unfinished = options.unfinished
    if unfinished:
        unfinished.require_same(work.trials)
    client = open_models(revisions, work.policy.through_litellm, options.replay, options.source)
    around = RunContext(
        client,
        notices=(*notices, *said, *_history_notices(past, options.keep), *remembered.notices),
        waivers=options.waivers,
        remembered=remembered.entries,
        resumed=unfinished.known if unfinished else lambda _: {},
        judged=unfinished.answers if unfinished else {},
    )
    log = _answer_log(options.answers, work, unfinished, redact) if options.answers else None
    found = _measure_now(work, client, _with_past(around, past), log, options)
    if options.explain:
        found = _explained(found, options.explain(work, found))
    more = [] if options.replay else _unmeasured(found.outcomes, revisions)
    more += remembered.keep(work, (*found.outcomes, *found.fresh))
    more += _about_unfinished(log, unfinished, found) if log else ()
    found = replace(found, notices=(*found.notices, *more))
    if options.history and options.keep:
        found = keep_run(options.history, past, work, redact.value(found), options.keep, old_names)
    return redact.value(build_result(work, found, past_runs(past.records)))


def _explained(found: Measurement, more: Explanation) -> Measurement:
    """Add the notices, the calls and the cost of an explanation, so that the history and the
    report count them."""
    costs = found.cost_usd, more.cost_usd
    return replace(
        found,
        notices=(*found.notices, *more.notices),
        blame=more.blame,
        promises=more.promises,
        calls=replace(found.calls, made=found.calls.made + more.calls),
        cost_usd=None if None in costs else math.fsum(cost for cost in costs if cost is not None),
    )


def _read_past(work: Work, options: RunOptions) -> tuple[Past, tuple[str, ...]]:
    """Return the history and what it says of the month's spending. Raises UsageError if the limit
    of the month is reached and counts."""
    from gatekeeper.history.store import Past
    from gatekeeper.runs.month_limit import require_month_limit

    past = options.history.read() if options.history else Past()
    if options.replay or not options.full_suite:
        return past, ()
    return past, require_month_limit(work, past if options.history else None, datetime.now(UTC))


def _history_notices(past: Past, keep: Keep | None) -> tuple[str, ...]:
    """Return the notice about the history. A history that begins with this run is mentioned once it
    has begun."""
    return past.faults if keep else past.notices


def _with_past(around: RunContext, past: Past) -> RunContext:
    """Return the context with what the history says. A history without an event says nothing
    yet."""
    if not past.records:
        return replace(around, history=None, gated={}, unread=past.unread)
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
    options: RunOptions,
) -> Measurement:
    """Ask the models, with progress and signals if there is a terminal."""
    import asyncio

    from gatekeeper.runs.model_source import RunHooks
    from gatekeeper.runs.signals import run_until_end, with_signals, without_signals

    hooks: RunHooks = options.source or RunHooks()

    async def within(progress: TerminalProgress | None, stop: asyncio.Event) -> Measurement:
        price: Price = free_price
        amounts: Amounts | None = None
        said: tuple[str, ...] = ()
        if not options.replay:
            # In a thread: the price list is large, and progress is already shown.
            amounts = hooks.amounts
            price, said = await asyncio.to_thread(
                prices_within_limits, work, options.trusted, amounts.worst
            )
            amounts = replace(amounts, worst=price)
        try:
            await client.require_keys(dict.fromkeys(sorted(work.called_models)))
        except UsageError as error:
            if options.trusted:
                raise
            raise MeasurementError(f"{error}. {_FORKS}") from error
        require_streams(work.trials, client)
        if progress:
            hooks.follow(progress)
        ready = replace(around, price=price, progress=progress, stop=stop)
        # What the end of the run needs takes no time while the models are thinking.
        forecaster = _forecaster(work, ready, amounts) if amounts else None
        end = asyncio.create_task(asyncio.to_thread(_prepare_the_end, forecaster))
        try:
            found = await measure_contracts(work, ready)
        finally:
            forecast = await end
        found = hooks.count(replace(found, forecast=forecast))
        # What earlier runs or recordings answered had no price to know.
        return replace(found, notices=(*found.notices, *said)) if found.calls.made else found

    if log:
        around = replace(around, on_answer=log.add, on_judge_answer=log.add_judge_answer)
    try:
        around = hooks.prepare(around, work, log)
        if options.terminal:
            found = asyncio.run(with_signals(client, within))
        else:
            found = run_until_end(without_signals(client, within))
    finally:
        if log:
            log.close()
    return replace(found, notices=(*found.notices, *hooks.notices()))


def _forecaster(work: Work, around: RunContext, amounts: Amounts) -> Callable[[], Forecast | None]:
    """Return the function that forecasts the run, from what is known before the first call. Which
    questions to judges are left is found out here, because checks answer one thread only."""
    planned, known = plan_sampling(work, around, datetime.now(UTC))
    unanswered = None
    if known:
        from gatekeeper.gate.forecast.forecast import unanswered_shares

        unanswered = unanswered_shares(planned.jobs, known, known_judge_answers(planned, around))

    def forecast() -> Forecast | None:
        from gatekeeper.gate.forecast.forecast import forecast_run

        return forecast_run(planned, known, amounts, unanswered)

    return forecast


def _prepare_the_end(forecaster: Callable[[], Forecast | None] | None) -> Forecast | None:
    """Load what statistics and reports need, in a thread that hardly delays calls. Returns the
    forecast of the run; None without prices."""
    from gatekeeper.providers.models.price_list import release_price_list
    from gatekeeper.reports.preparation import prepare_reports
    from gatekeeper.runs.process import yield_often

    with yield_often():
        import scipy.special  # noqa: F401

        import gatekeeper.providers.unmeasured  # noqa: F401

        prepare_reports()
        if forecaster is None:
            return None
        forecast = forecaster()
        release_price_list()
        return forecast


def _answer_log(
    path: Path, work: Work, unfinished: UnfinishedRun | None, redact: Redactor
) -> AnswerLog:
    from gatekeeper.runs.unfinished import AnswerLog, header_of

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
        if unfinished.answers:  # a run in batches may have none yet, and is resumed all the same
            answers = count(len(unfinished.answers), "answer")
            said.append(f"Resumed with {answers} of an earlier run.")
        if unfinished.damaged:
            said.append(
                f"{log.path}: {count(unfinished.damaged, 'line')} could not be "
                "read, so the requests of these lines were sent again."
            )
    if log.set_aside:
        said.append(f"The answers of an earlier, unfinished run are in {log.set_aside}.")
    if log.fault:
        said.append(log.fault)
    elif log.count and any(contract.verdict == "error" for contract in found.contracts):
        said.append(
            "The answers of this run are kept. To continue without paying again, add --resume."
        )
    return said


def _unmeasured(outcomes: Sequence[Outcome], revisions: tuple[Revision, ...]) -> list[str]:
    from gatekeeper.providers.unmeasured import unmeasured_notices

    if len(revisions) < 2:
        return []  # a run on the default branch: what it reads is merged
    base, head = revisions
    return unmeasured_notices(outcomes, base, head)
