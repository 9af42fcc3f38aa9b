"""A run that asks models: its past, its client, its answers, and what is kept of it.

`execute` imports this file if there is something to ask; most pull requests need nothing
of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from gatekeeper.contract.calls.trajectory import simulated_notices
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.gate.forecast.forecast import Amounts, forecast_run, unanswered_shares
from gatekeeper.gate.pipeline import (
    RunContext,
    build_result,
    known_judge_answers,
    measure_contracts,
    plan_sampling,
)
from gatekeeper.gate.results.parts import Forecast
from gatekeeper.gate.results.result import GateResult, Measurement
from gatekeeper.gate.work import Work, require_streams
from gatekeeper.history.base_nights import with_nights
from gatekeeper.history.costs import earlier_calls
from gatekeeper.history.record import events_of, gating_history, past_runs
from gatekeeper.history.stores.store import Past
from gatekeeper.numbers import count
from gatekeeper.providers import ModelRouter
from gatekeeper.providers.models.price_list import release_price_list
from gatekeeper.providers.recorded import unmeasured_notices
from gatekeeper.reports.redact import Redactor, environment_redactor
from gatekeeper.reports.terminal.progress import TerminalProgress
from gatekeeper.reports.write import prepare_reports
from gatekeeper.runs.answers.cache import SampleCache
from gatekeeper.runs.answers.kept import AnswerLog, KeptAnswers, header_of
from gatekeeper.runs.history import keep_run, require_month_limit, with_old_names
from gatekeeper.runs.model_source import RunHooks
from gatekeeper.runs.models import (
    free_price,
    open_models,
    prices_within_limits,
    require_sound_models,
)
from gatekeeper.runs.process import yield_often
from gatekeeper.runs.run_plan import RunPlan
from gatekeeper.runs.signals import run_until_end, with_signals, without_signals
from gatekeeper.sampling.limits import Price

_FORKS = (
    "Pull requests from forks get no secrets; the section Forks in gatekeeper's "
    "docs/github-action.md says how a maintainer starts this run"
)


def measure_and_keep(plan: RunPlan, notices: tuple[str, ...]) -> GateResult:
    """Measure the work of a plan that has trials, keep what the plan says, and return the result.

    Raises what `execute` raises.
    """
    work, revisions = plan.work, plan.revisions
    redact = environment_redactor()
    if not plan.replay:
        notices = (*notices, *require_sound_models(work, revisions))

    past, said = _read_past(plan)
    past, old_names = with_old_names(past, work, plan.since)
    remembered = SampleCache.open(None if plan.replay else plan.cache, work)
    work = with_nights(remembered.in_order(work), past.records)
    unfinished = plan.unfinished
    if unfinished:
        unfinished.require_same(work.trials)
    client = open_models(revisions, work.policy.through_litellm, plan.replay, plan.source)
    # A history that begins with this run is mentioned once it has begun.
    history = past.faults if plan.keep else past.notices
    around = RunContext(
        client,
        notices=(*notices, *said, *history, *remembered.notices),
        waivers=plan.waivers,
        remembered=remembered.entries,
        resumed=unfinished.known if unfinished else lambda _: {},
        judged=unfinished.answers if unfinished else {},
    )
    log = _answer_log(plan.answers, work, unfinished, redact) if plan.answers else None
    plan = replace(plan, work=work)
    found = _measure_now(plan, client, _with_past(around, past), log)
    if plan.explain:
        found = plan.explain(work, found).added_to(found)
    more = simulated_notices(outcome.sample for outcome in found.outcomes)
    if not plan.replay and len(revisions) == 2:  # one is merged, and so is what it reads
        more += unmeasured_notices(found.outcomes, *revisions)
    more += remembered.keep(work, (*found.outcomes, *found.fresh))
    needed = _still_needed(plan, found)
    more += _about_unfinished(log, unfinished, needed) if log else ()
    found = replace(found, notices=(*found.notices, *more))
    if plan.history and plan.keep:
        found = keep_run(plan.history, past, work, redact.value(found), plan.keep, old_names)
    result = redact.value(build_result(work, found, past_runs(past.records)))
    return replace(result, spent_answers=None if needed else plan.answers)


def _still_needed(plan: RunPlan, found: Measurement) -> bool:
    """Return whether `--resume` can go on with the answers of the run: some part of a contract
    could not be measured, whatever the others say, or a batch is not collected."""
    reasons = (reason for contract in found.contracts for reason in contract.reasons)
    unmeasured = any(reason.verdict == "error" for reason in reasons)
    return unmeasured or (plan.source is not None and plan.source.unfinished)


def _read_past(plan: RunPlan) -> tuple[Past, tuple[str, ...]]:
    """Return the history and what it says of the month's spending. Raises UsageError if the limit
    of the month is reached and counts."""
    past = plan.history.read() if plan.history else Past()
    if plan.replay or not plan.full_suite:
        return past, ()
    return past, require_month_limit(plan.work, past if plan.history else None, datetime.now(UTC))


def _with_past(around: RunContext, past: Past) -> RunContext:
    """Return the context with what the history says. A history without an event says nothing
    yet."""
    return replace(
        around,
        history=events_of(past.records) or None,
        gated=gating_history(past.records),
        earlier=earlier_calls(past.records),
        unread=past.unread,
    )


def _measure_now(
    plan: RunPlan, client: ModelRouter, around: RunContext, log: AnswerLog | None
) -> Measurement:
    """Ask the models, with progress and signals if there is a terminal."""
    work = plan.work
    hooks: RunHooks = plan.source or RunHooks()

    async def within(progress: TerminalProgress | None, stop: asyncio.Event) -> Measurement:
        price: Price = free_price
        amounts: Amounts | None = None
        said: tuple[str, ...] = ()
        if not plan.replay:
            # In a thread: the price list is large, and progress is already shown.
            amounts = hooks.amounts
            price, said = await asyncio.to_thread(
                prices_within_limits, work, plan.trusted, amounts.worst
            )
            amounts = replace(amounts, worst=price, earlier=around.earlier)
        try:
            await client.require_keys(dict.fromkeys(sorted(work.called_models)))
        except UsageError as error:
            if plan.trusted:
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
        if plan.terminal:
            found = asyncio.run(with_signals(client, within, plan.progress))
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
        unanswered = unanswered_shares(planned.jobs, known, known_judge_answers(planned, around))

    def forecast() -> Forecast | None:
        return forecast_run(planned, known, amounts, unanswered)

    return forecast


def _prepare_the_end(forecaster: Callable[[], Forecast | None] | None) -> Forecast | None:
    """Load what statistics and reports need, in a thread that hardly delays calls. Returns the
    forecast of the run; None without prices."""
    with yield_often():
        import scipy.special  # noqa: F401

        prepare_reports()
        if forecaster is None:
            return None
        forecast = forecaster()
        release_price_list()
        return forecast


def _answer_log(
    path: Path, work: Work, unfinished: KeptAnswers | None, redact: Redactor
) -> AnswerLog:
    log = AnswerLog(path, redact)
    if unfinished:
        log.resume()
    else:
        log.start(header_of(work.trials, work.order_seed))
    return log


def _about_unfinished(log: AnswerLog, unfinished: KeptAnswers | None, needed: bool) -> list[str]:
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
    elif log.count and needed:
        said.append(
            "The answers of this run are kept. To continue without paying again, add --resume."
        )
    return said
