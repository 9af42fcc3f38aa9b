"""Joins the answers of all shards, so that one process decides what one machine would decide.

The answers enter in the order of the plan and sampling stops as it would on one machine. What
is then not needed is no evidence, but its calls and costs are in the report. No model is called: an
answer that is missing ends the run there, and the result says which shard to run again.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from gatekeeper import numbers
from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.trial import Completion, Request, Trial
from gatekeeper.errors import CallFailed, UsageError
from gatekeeper.gate.forecast.forecast import forecast_run
from gatekeeper.gate.pipeline import RunContext
from gatekeeper.gate.results.result import Measurement
from gatekeeper.gate.work import Work
from gatekeeper.runs.answers.kept import (
    EARLIER,
    AnswerLog,
    IsTracked,
    KeptAnswers,
    Session,
    known_answers,
    request_key,
)
from gatekeeper.runs.model_source import ModelSource
from gatekeeper.runs.shards.plan import ANSWER_FILES, ShardedWork, read_shard
from gatekeeper.sampling.client import AnswerMissing
from gatekeeper.sampling.retries import RetryPolicy

_PATIENT = RetryPolicy(attempts=1, throttled_attempts=1, give_up_after=1_000_000_000)
"""Calls that failed on their shard are not repeated, and any number of them ends no run: the shard
had its own limit for failed calls."""

_MOST_NAMED = 10


@dataclass(frozen=True)
class JoinedAnswers(ModelSource):
    """The answers of all shards and the messages of failed calls, by request. `sessions` are those
    of every shard by their id, `faults` what is wrong with each shard that lacks answers."""

    sharded: ShardedWork
    answers: Mapping[str, Completion] = field(repr=False)
    failures: Mapping[str, str]
    sessions: Mapping[str, Session]
    faults: Mapping[int, str]

    @property
    def fault_notices(self) -> tuple[str, ...]:
        """What to say of shards that lack answers."""
        of = self.sharded.plan.shards
        said = [f"Shard {shard}/{of}: {fault}." for shard, fault in self.faults.items()]
        if len(said) > _MOST_NAMED:
            said = [*said[:_MOST_NAMED], f"{len(said) - _MOST_NAMED} more shards lack answers."]
        return (*said, f"{self.remedy}.") if said else ()

    @property
    def remedy(self) -> str:
        """How to get the answers that are missing."""
        of = self.sharded.plan.shards
        alone = len(self.faults) == 1
        each, shard = ("the shard", next(iter(self.faults))) if alone else ("each such shard", "I")
        return (
            f"Run {each} again with `gatekeeper sample --plan {self.sharded.path} "
            f"--shard {shard}/{of} --out DIR --resume`, then run `gatekeeper decide` again"
        )

    def prepare(self, around: RunContext, work: Work, log: AnswerLog | None) -> RunContext:  # noqa: ARG002
        """Return the context of a run that has the answers of all shards, and is bound by no limit
        of its own: each shard kept its part of the limits."""

        def known(trials: Sequence[Trial]) -> Mapping[int, Completion]:
            return known_answers(trials, self.answers)

        limits = Limits(cost_usd=None, calls=None, minutes=None)
        notices = (*around.notices, *self.fault_notices)
        return replace(around, resumed=known, retry=_PATIENT, limits=limits, notices=notices)

    async def complete(self, request: Request) -> Completion:
        """Say why there is no answer to the request. Raises CallFailed or AnswerMissing."""
        shard, key = self._places[id(request)]
        if key in self.failures:
            raise CallFailed(self.failures[key])
        of = self.sharded.plan.shards
        named = ", ".join(f"{number}/{of}" for number in [*self.faults][:_MOST_NAMED])
        more = " and others" if len(self.faults) > _MOST_NAMED else ""
        raise AnswerMissing(
            f"answers of shard {named or f'{shard}/{of}'}{more} are missing. {self.remedy}"
        )

    async def aclose(self) -> None:
        """Do nothing: no connection is open."""

    @cached_property
    def _places(self) -> Mapping[int, tuple[int, str]]:
        """The shard and the key of each request. The plan holds the requests, so none of their
        identities is used again."""
        pairs = zip(self.sharded.asked, self.sharded.shard_of, strict=True)
        return {id(trial.request): (shard, request_key(trial)) for trial, shard in pairs}

    def count(self, found: Measurement) -> Measurement:
        """Return the measurement with the calls, the costs and the time of all shards."""
        used = {
            request_key(outcome.sample.trial)
            for outcome in found.outcomes
            if outcome.sample.completion is not None
        }
        unused = len(self.answers.keys() - used)
        sessions = self.sessions.values()
        calls = replace(
            found.calls,
            made=sum(session.calls for session in sessions),
            throttled=sum(session.throttled for session in sessions),
            saved=max(0, found.calls.saved - unused),
            surplus=unused,
        )
        costs = [session.cost_usd for session in sessions if session.cost_usd is not None]
        cost = math.fsum(costs) if costs else (None if calls.made else 0.0)
        started, seconds = self._time(found)
        return replace(
            found,
            calls=calls,
            cost_usd=cost,
            forecast=forecast_run(self.sharded.work, {}, self.amounts),
            started=started,
            seconds=seconds,
        )

    def _time(self, found: Measurement) -> tuple[datetime, float]:
        """Return when the first shard began, and the time until the last one ended plus that of the
        decision. The same answers therefore give the same record of the history again."""
        if not self.sessions:
            return found.started, found.seconds
        started = min(session.started for session in self.sessions.values())
        ends = (s.started + timedelta(seconds=s.seconds) for s in self.sessions.values())
        return started, (max(ends) - started).total_seconds() + found.seconds


def join_answers(
    sharded: ShardedWork, folders: Sequence[Path], tracked: IsTracked
) -> JoinedAnswers:
    """Read the answers of all shards in the folders. A shard that is there twice counts once, and
    of a request with two answers the first one stands.

    Raises UsageError for answers of another plan, and for files that git tracks.
    """
    files, unreadable = _read_all(sharded, folders, tracked)
    wanted: dict[int, set[str]] = {shard: set() for shard in range(1, sharded.plan.shards + 1)}
    for trial, shard in zip(sharded.asked, sharded.shard_of, strict=True):
        wanted[shard].add(request_key(trial))
    answers: dict[str, Completion] = {}
    failures: dict[str, str] = {}
    sessions: dict[str, Session] = {}
    faults: dict[int, str] = {}
    for shard, keys in wanted.items():
        own = files[shard]
        for file in own:
            for key in keys & file.answers.keys():
                answers.setdefault(key, file.answers[key])
            for key in keys & file.failures.keys():
                failures.setdefault(key, file.failures[key])
            for name, session in file.sessions.items():
                if name not in sessions or sessions[name].ended is None:
                    sessions[name] = session
        missing = keys - answers.keys() - failures.keys()
        if missing:
            faults[shard] = _fault(own, missing, len(keys))
    failures = {key: said for key, said in failures.items() if key not in answers}
    return JoinedAnswers(sharded, answers, failures, sessions, _with(faults, unreadable))


def _read_all(
    sharded: ShardedWork, folders: Sequence[Path], tracked: IsTracked
) -> tuple[Mapping[int, Sequence[KeptAnswers]], tuple[str, ...]]:
    """Return the files of each shard, the oldest first, and what is wrong with others."""
    files: dict[int, list[KeptAnswers]] = defaultdict(list)
    unreadable = []
    for path in _files_in(folders):
        try:
            shard, found = read_shard(path, sharded.plan, tracked)
        except ValueError as error:
            unreadable.append(f"{path}: {error}")
        except OSError as error:
            unreadable.append(f"{path}: {error.strerror or error}")
        else:
            files[shard].append(found)
    for own in files.values():
        own.sort(key=lambda file: (file.started, str(file.path)))
    return files, tuple(unreadable)


def _files_in(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        if folder.exists() and not folder.is_dir():
            raise UsageError(
                f"--answers {folder}: this is a file; give the folder that contains it"
            )
        yield from sorted(f for f in folder.rglob(ANSWER_FILES) if EARLIER not in f.stem)


def _fault(own: Sequence[KeptAnswers], missing: set[str], planned: int) -> str:
    """Say how many answers a shard lacks, and why."""
    if not own:
        return f"no file has the {numbers.count(planned, 'answer')} of this shard"
    causes = []
    withheld = len(missing & {key for file in own for key in file.withheld})
    if withheld:
        causes.append(
            f"gatekeeper did not store {numbers.count(withheld, 'answer')} that contained "
            "a secret of the environment"
        )
    damaged = sum(file.damaged for file in own)
    if damaged:
        causes.append(f"{numbers.count(damaged, 'line')} of the shard's file cannot be read")
    last = list(own[-1].sessions.values())[-1:]
    if last and last[0].ended is None:
        causes.append("the shard was killed")
    elif last and last[0].ended != "done":
        causes.append(f"the shard ended early: {last[0].detail or last[0].ended}")
    why = f" ({'; '.join(causes)})" if causes else ""
    return f"{len(missing):,} of {numbers.count(planned, 'answer')} are missing{why}"


def _with(faults: Mapping[int, str], unreadable: Sequence[str]) -> Mapping[int, str]:
    """Name the files that cannot be read next to the first shard that lacks answers."""
    if not faults or not unreadable:
        return faults
    first = next(iter(faults))
    return {**faults, first: f"{faults[first]}; {'; '.join(unreadable[:_MOST_NAMED])}"}
