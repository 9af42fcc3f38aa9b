"""One run in this process: what it measures, what it reads and keeps, and how it is executed.

The action turns an event into a `RunPlan`, and the library, the commands and the shards turn their
options into one. All are executed here. Work that calls no model starts no client, reads no history
and shows no progress.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gatekeeper.contract.values.change import Change, Revision
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
    from gatekeeper.history.stores.store import HistoryStore, Past
    from gatekeeper.providers import ModelRouter
    from gatekeeper.reports.redact import Redactor
    from gatekeeper.reports.terminal.progress import TerminalProgress
    from gatekeeper.runs.answers.kept import AnswerLog, KeptAnswers
    from gatekeeper.runs.history import Keep, Since
    from gatekeeper.runs.model_source import ModelSource
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


class Commits(Protocol):
    """Where earlier commits and data branches come from."""

    def since(self, sha: str, head: str) -> Change | None:
        """Return what changed since a commit; None if the commit is not known."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """What a run measures, what it reads and what it keeps; by default, a trusted run of this
    process that keeps nothing."""

    work: Work
    revisions: tuple[Revision, ...]
    """Where `recorded/` models are read from, base first: base's recorded answers always win, and
    head can only add to them."""
    history: HistoryStore | None = None
    """What is read of past runs."""
    keep: Keep | None = None
    """How to add the run to the history."""
    since: Since | None = None
    """Returns what changed from an earlier commit to the one whose contracts have the history."""
    replay: Path | None = None
    """A samples.jsonl that answers every model."""
    cache: Path | None = None
    """Samples of earlier checks."""
    answers: Path | None = None
    """The file that keeps each answer until the run has ended."""
    unfinished: KeptAnswers | None = None
    """The answers of a run that stopped early."""
    source: ModelSource | None = None
    """Answers instead of this process's models."""
    waivers: tuple[Waiver, ...] = ()
    """Those for the tested commit."""
    notices: tuple[str, ...] = ()
    trusted: bool = True
    """False for a fork's head: a plan that could spend more than the limits, or whose price is
    unknown, is then refused."""
    full_suite: bool = False
    """Whether the run is refused if the policy's limit of the month is reached."""
    explain: Explain | None = None
    """Called after the measurement; may call models."""
    terminal: bool = True
    """Without one, no progress is shown and signals are the caller's."""

    @classmethod
    def of_change(cls, change: Change, work: Work, commits: Commits) -> RunPlan:
        """Return the plan that compares a change with its base."""
        since = partial(commits.since, head=change.base.sha)
        return cls(work=work, revisions=(change.base, change.head), since=since)

    @classmethod
    def of_revision(cls, revision: Revision, work: Work, commits: Commits) -> RunPlan:
        """Return the plan that measures one revision."""
        since = partial(commits.since, head=revision.sha)
        return cls(work=work, revisions=(revision,), since=since)


def execute(plan: RunPlan) -> GateResult:
    """Measure the work and return its result, without the secrets of this process's environment.

    Raises:
        UsageError: A model cannot be called, one call alone can cost more than the limits allow, or
            the limit of the month is reached.
        MeasurementError: The work is not trusted and could spend more than the limits.
    """
    from gatekeeper.reports.redact import environment_redactor

    work, revisions = plan.work, plan.revisions
    redact = environment_redactor()
    require_recording(plan.replay)
    notices = plan.notices
    if not work.trials:
        found = conclude_without_calls(work, plan.waivers, notices)
        if plan.explain:
            found = _explained(found, plan.explain(work, found))
        return redact.value(build_result(work, found))
    if not plan.replay:
        notices = (*notices, *require_sound_models(work, revisions))
    from gatekeeper.history.base_nights import with_nights
    from gatekeeper.history.record import past_runs
    from gatekeeper.runs.answers.cache import SampleCache
    from gatekeeper.runs.history import keep_run, with_old_names

    past, said = _read_past(plan)
    past, old_names = with_old_names(past, work, plan.since)
    remembered = SampleCache.open(None if plan.replay else plan.cache, work)
    work = with_nights(remembered.in_order(work), past.records)
    unfinished = plan.unfinished
    if unfinished:
        unfinished.require_same(work.trials)
    client = open_models(revisions, work.policy.through_litellm, plan.replay, plan.source)
    around = RunContext(
        client,
        notices=(*notices, *said, *_history_notices(past, plan.keep), *remembered.notices),
        waivers=plan.waivers,
        remembered=remembered.entries,
        resumed=unfinished.known if unfinished else lambda _: {},
        judged=unfinished.answers if unfinished else {},
    )
    log = _answer_log(plan.answers, work, unfinished, redact) if plan.answers else None
    plan = replace(plan, work=work)
    found = _measure_now(plan, client, _with_past(around, past), log)
    if plan.explain:
        found = _explained(found, plan.explain(work, found))
    more = [] if plan.replay else _unmeasured(found.outcomes, revisions)
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


def _read_past(plan: RunPlan) -> tuple[Past, tuple[str, ...]]:
    """Return the history and what it says of the month's spending. Raises UsageError if the limit
    of the month is reached and counts."""
    from gatekeeper.history.stores.store import Past
    from gatekeeper.runs.history import require_month_limit

    past = plan.history.read() if plan.history else Past()
    if plan.replay or not plan.full_suite:
        return past, ()
    return past, require_month_limit(plan.work, past if plan.history else None, datetime.now(UTC))


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
    plan: RunPlan, client: ModelRouter, around: RunContext, log: AnswerLog | None
) -> Measurement:
    """Ask the models, with progress and signals if there is a terminal."""
    import asyncio

    from gatekeeper.runs.model_source import RunHooks
    from gatekeeper.runs.signals import run_until_end, with_signals, without_signals

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
            amounts = replace(amounts, worst=price)
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
    from gatekeeper.reports.write import prepare_reports
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
    path: Path, work: Work, unfinished: KeptAnswers | None, redact: Redactor
) -> AnswerLog:
    from gatekeeper.runs.answers.kept import AnswerLog, header_of

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


def _unmeasured(outcomes: Sequence[Outcome], revisions: tuple[Revision, ...]) -> list[str]:
    from gatekeeper.providers.unmeasured import unmeasured_notices

    if len(revisions) < 2:
        return []  # a run on the default branch: what it reads is merged
    base, head = revisions
    return unmeasured_notices(outcomes, base, head)
