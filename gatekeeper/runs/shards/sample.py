"""Asks the models for one shard's share of the answers, and keeps them in the shard's file."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.change import Revision
from gatekeeper.contract.values.trial import Completion, Outcome, Request, Sample, Trial
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.gate.measuring.further_calls import limits_left, lost_trials, retaken
from gatekeeper.gate.work import require_streams
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.reports.terminal.progress import TerminalProgress
from gatekeeper.runs.answers.kept import AnswerLog, IsTracked, known_answers
from gatekeeper.runs.models import open_models, prices_within_limits, require_sound_models
from gatekeeper.runs.shards.plan import ShardedWork, limits_of_shard, read_shard
from gatekeeper.runs.signals import with_signals
from gatekeeper.sampling.calls import distinct_requests
from gatekeeper.sampling.runner import Run, run_trials
from gatekeeper.sampling.stored_text import stored_outcome


def sample_shard(
    sharded: ShardedWork,
    revision: Revision,
    shard: int,
    folder: Path,
    known: Mapping[str, Completion] | None,
    say: Callable[[str], object],
) -> Run:
    """Sample one shard within its part of the limits. Returns how that went. `say` gets what a
    person wants to know of the file.

    Every answer of the share is needed: whether a contract is decided early is only known when
    the answers of all shards are together. `known` are the answers of an earlier session by
    request; None begins a new file. Raises UsageError for a model that cannot be called, and
    MeasurementError if the answers cannot be kept.
    """
    require_sound_models(sharded.work, (revision,))
    log = AnswerLog(sharded.file_of(shard, folder), environment_redactor())
    if known is None:
        log.start(sharded.header_of(shard))
        if log.set_aside:
            say(f"the answers of an earlier run of this shard are in {log.set_aside}")
    else:
        log.resume()
    try:
        log.begin_session()
        _require_kept(log)
        run = _sample(sharded, revision, shard, log, known or {})
        # A run that was ended may ask again for what failed.
        failed = [s for s in run.samples if s.completion is None and not s.shared]
        log.end_session(run, failed if run.ended == "done" else [])
        _require_kept(log)
    finally:
        log.close()
    if run.ended == "fatal" and run.author:
        raise UsageError(run.detail or "the model cannot be called")
    return run


def answers_to_resume(
    sharded: ShardedWork, shard: int, folder: Path, tracked: IsTracked
) -> Mapping[str, Completion] | None:
    """Return the answers of the shard's earlier sessions; None if there was none. Raises
    UsageError if its file is of another plan or cannot be read."""
    path = sharded.file_of(shard, folder)
    try:
        number, kept = read_shard(path, sharded.plan, tracked)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"--resume: {path}: {error}; run without --resume") from error
    if number != shard:
        raise UsageError(f"--resume: {path} holds answers of another shard")
    return kept.answers


def _sample(
    sharded: ShardedWork,
    revision: Revision,
    shard: int,
    log: AnswerLog,
    answers: Mapping[str, Completion],
) -> Run:
    trials = sharded.trials_of(shard)
    limits = limits_of_shard(sharded.work.policy.limits, shard, sharded.plan.shards)
    work = replace(sharded.work, policy=replace(sharded.work.policy, limits=limits))
    known = known_answers(trials, answers)
    client = open_models((revision,), work.policy.through_litellm)

    async def within(progress: TerminalProgress, stop: asyncio.Event) -> Run:
        price, _ = await asyncio.to_thread(prices_within_limits, work, True)
        await client.require_keys(dict.fromkeys(trial.request.model for trial in trials))
        require_streams(trials, client)

        def keep(trial: Trial, completion: Completion) -> None:
            log.add(trial, completion)
            if log.fault:
                stop.set()  # an answer that cannot be kept is paid for in vain

        def ask(
            trials: Sequence[Trial], limits: Limits, known: Mapping[int, Completion]
        ) -> Awaitable[Run]:
            return run_trials(
                trials,
                client,
                _EveryAnswer(progress),
                limits,
                known=known,
                stop=stop,
                price=price,
                on_answer=keep,
                on_refusal=progress.refused,
            )

        progress.started(len(distinct_requests(trials)))
        started = time.monotonic()
        run = await ask(trials, limits, known)
        lost = lost_trials(run)
        if not lost:
            return run
        progress.expect(len(distinct_requests(lost)))
        left = limits_left(limits, run)
        if left.minutes is not None:
            passed = (time.monotonic() - started) / 60
            left = replace(left, minutes=max(0.0, left.minutes - passed))
        return retaken(run, await ask(lost, left, {}))

    return asyncio.run(with_signals(client, within))


class _EveryAnswer:
    """Wants the answer of every trial, and evaluates none."""

    def __init__(self, progress: TerminalProgress) -> None:
        self._progress = progress

    def wants(self, _: Trial) -> bool:
        return True

    def questions(self, _: Sample) -> tuple[Request, ...]:
        return ()

    def evaluate(self, sample: Sample) -> Outcome:
        return stored_outcome(Outcome(sample))

    def add(self, outcome: Outcome) -> None:
        answer = outcome.sample.completion
        if not outcome.sample.shared:
            cost = None if answer is None else answer.cost_usd
            self._progress.advanced(cost_usd=cost, failed=answer is None)


def _require_kept(log: AnswerLog) -> None:
    if log.fault:
        raise MeasurementError(log.fault)
