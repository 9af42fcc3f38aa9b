"""The file of answers that one shard leaves, `shard-3-of-8.jsonl`.

It is written like the answers of an unfinished run, a line at a time, so that a shard that is
killed loses nothing. Beside the answers it says what they cost, which calls failed, and how each
session ended: a shard that is run again with `--resume` adds a session to its file.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gatekeeper.errors import UsageError
from gatekeeper.runs.unfinished import AnswerLog, header_of, read_answer, read_own_file
from gatekeeper.sampling.completion_record import read_text

if TYPE_CHECKING:
    from gatekeeper.contract.values.trial import Completion, Sample, Trial
    from gatekeeper.reports.redact import Redactor
    from gatekeeper.runs.shards.plan_file import IsTracked, ShardedPlan, ShardedWork
    from gatekeeper.sampling.runner import Run

_MOST = 1e9
"""Calls, dollars or seconds of one session; more is an error in the file."""
_LAST_YEAR = 9000
PATTERN = "shard-*-of-*.jsonl"


@dataclass(frozen=True, slots=True)
class Session:
    """What one process of a shard did. Of one that was killed, `ended` is None, and the calls and
    costs are those of the answers that it left."""

    started: datetime
    seconds: float = 0.0
    calls: int = 0
    cost_usd: float | None = None
    throttled: int = 0
    ended: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class ShardAnswers:
    """The content of one shard's file: answers and messages of failed calls by request, sessions by
    their id. `withheld` are the requests whose answers may not be kept. `damaged` counts the lines
    that cannot be read."""

    path: Path
    answers: Mapping[str, Completion] = field(repr=False)
    failures: Mapping[str, str]
    withheld: frozenset[str]
    sessions: Mapping[str, Session]
    damaged: int = 0

    @property
    def started(self) -> datetime:
        """When the first session began."""
        begun = (session.started for session in self.sessions.values())
        return min(begun, default=datetime.max.replace(tzinfo=UTC))


def name_of(shard: int, shards: int) -> str:
    """Return the name of a shard's file."""
    return f"shard-{shard}-of-{shards}.jsonl"


def header_of_shard(sharded: ShardedWork, shard: int) -> dict[str, Any]:
    """Return the first line of a shard's file."""
    plan = sharded.plan
    own = {"revision": plan.revision, "shard": shard, "shards": plan.shards}
    return {**header_of(sharded.work.trials, plan.order_seed), **own}


class ShardLog:
    """Writes a shard's file."""

    def __init__(self, path: Path, redact: Redactor) -> None:
        self._log = AnswerLog(path, lambda completion: redact.value(completion) == completion)
        self._redact = redact
        self._started = datetime.now(UTC)

    @property
    def fault(self) -> str | None:
        """Why the file could not be written; None if it could."""
        return self._log.fault

    def begin(self, header: Mapping[str, Any], *, resume: bool) -> None:
        """Begin a session, in a new file or after the answers in the file."""
        if resume:
            self._log.resume()
        else:
            self._log.start(header)
        session = {"session": secrets.token_hex(8), "started": self._started.isoformat()}
        self._log.add_record(session)

    def add(self, trial: Trial, completion: Completion) -> None:
        """Keep an answer, unless it repeats a secret."""
        from gatekeeper.runs.unfinished import request_key

        before = self._log.count
        self._log.add(trial, completion)
        if self._log.count == before:
            self._log.add_record({"withheld": request_key(trial)})

    def end(self, run: Run, failed: Sequence[Sample]) -> None:
        """Keep which calls failed, and what the session did."""
        from gatekeeper.runs.unfinished import request_key

        for sample in failed:
            said = self._redact.text(sample.error or "")
            self._log.add_record({"failed": request_key(sample.trial), "said": said})
        ended = {
            "ended": run.ended,
            "detail": None if run.detail is None else self._redact.text(run.detail),
            "calls": run.made,
            "cost_usd": run.cost_usd,
            "throttled": run.throttled,
            "seconds": (datetime.now(UTC) - self._started).total_seconds(),
        }
        self._log.add_record(ended)

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        self._log.close()


def read_shard(path: Path, plan: ShardedPlan, tracked: IsTracked) -> tuple[int, ShardAnswers]:
    """Read a shard's file; return its number and its content.

    Raises UsageError for a file of another plan and for one that git tracks, OSError for one that
    cannot be read, and ValueError for one without a header.
    """
    content = read_own_file(path)
    if tracked(path):
        raise UsageError(
            f"{path}: git tracks this file, so anybody could have written the answers in this "
            "file; remove the file from the repository"
        )
    first, *lines = content.split(b"\n")
    try:
        header = json.loads(first)
        shard = int(header["shard"])
        found = (header["plan"], header["order_seed"], header["revision"], header["shards"])
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        raise ValueError("the first line of the file cannot be read") from None
    if found != (plan.plan, plan.order_seed, plan.revision, plan.shards):
        raise UsageError(
            f"{path}: these answers belong to another plan; give only folders "
            "with answers of this plan"
        )
    if not 1 <= shard <= plan.shards:
        raise ValueError("the first line of the file cannot be read")
    return shard, _read_lines(path, lines)


def _read_lines(path: Path, lines: Sequence[bytes]) -> ShardAnswers:
    reader = _Reader()
    for line in filter(None, lines):
        try:
            reader.take(json.loads(line))
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            reader.damaged += 1
    failures = {key: said for key, said in reader.failures.items() if key not in reader.answers}
    return ShardAnswers(
        path,
        reader.answers,
        failures,
        frozenset(reader.withheld - reader.answers.keys()),
        reader.sessions,
        reader.damaged,
    )


class _Reader:
    """Takes the lines of a file one after the other."""

    def __init__(self) -> None:
        self.answers: dict[str, Completion] = {}
        self.failures: dict[str, str] = {}
        self.withheld: set[str] = set()
        self.sessions: dict[str, Session] = {}
        self.damaged = 0
        self._session = ""

    def take(self, record: Any) -> None:
        """Take one line. Raises KeyError, TypeError, ValueError or OverflowError if that fails."""
        if "answer" in record:
            key, answer = read_answer(record)
            self.answers.setdefault(key, answer)  # the first answer stands
            self._count(answer.cost_usd)
        elif "withheld" in record:
            self.withheld.add(read_text(record["withheld"]))
            self._count(None)
        elif "failed" in record:
            self.failures[read_text(record["failed"])] = read_text(record["said"])
        elif "session" in record:
            started = datetime.fromisoformat(record["started"]).astimezone(UTC)
            if started.year > _LAST_YEAR:
                raise ValueError("not a time")
            self._session = read_text(record["session"])
            self.sessions.setdefault(self._session, Session(started))
        else:
            self._end(record)

    def _count(self, cost: float | None) -> None:
        session = self.sessions.get(self._session)
        if session is None or session.ended is not None:
            return
        total = session.cost_usd
        if cost is not None:
            total = (total or 0.0) + cost
        counted = replace(session, calls=session.calls + 1, cost_usd=total)
        self.sessions[self._session] = counted

    def _end(self, record: Any) -> None:
        calls, cost, throttled = record["calls"], record["cost_usd"], record["throttled"]
        seconds, detail = record["seconds"], record["detail"]
        for amount in (calls, throttled, seconds, *([] if cost is None else [cost])):
            if isinstance(amount, bool) or not 0 <= amount <= _MOST:
                raise TypeError("not an amount")
        self.sessions[self._session] = replace(
            self.sessions[self._session],
            seconds=float(seconds),
            calls=int(calls),
            cost_usd=None if cost is None else float(cost),
            throttled=int(throttled),
            ended=read_text(record["ended"]),
            detail=None if detail is None else read_text(detail),
        )
