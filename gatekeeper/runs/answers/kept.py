"""The answers of a run, a line for each, so that a later run pays for none of them twice.

While a run samples, it appends each answer to `unfinished.jsonl` in the folder for the reports. A
run that has measured everything deletes the file. One that is interrupted, killed or stopped by a
limit leaves it there for `--resume`. A shard of a run on several machines leaves its answers in the
same way, in `shard-3-of-8.jsonl`.

The first line names everything that the run asks, by a digest, and the seed of its order. A resumed
run is planned with the same seed and refused if it asks anything else. So it asks for the same
trials in the same order, and decides as the run would have decided without the interruption.

Other lines say which answers were withheld, which calls failed, what each process of a shard did,
and which batches the provider works on. A new kind of line is one more class in `Record`.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Interval
from pydantic import PlainValidator, Strict, TypeAdapter

from gatekeeper.contract.checks.judge_settings import question_key
from gatekeeper.contract.meaning.digests import canonical, digest, request_digest
from gatekeeper.contract.values.trial import Completion, QuestionId, Sample, Trial
from gatekeeper.errors import MeasurementError, UsageError
from gatekeeper.numbers import count
from gatekeeper.providers.batch.api import KnownBatch
from gatekeeper.reports.redact import Redactor
from gatekeeper.runs.answers.files import is_locked, lock, read_own_file, write_line
from gatekeeper.sampling.completion_record import completion_record, read_completion, read_text
from gatekeeper.sampling.runner import Run

EARLIER = "-earlier"
"""What the name of a file gets when a new run begins over it. The answers are paid for."""

_LAST_YEAR = 9000

IsTracked = Callable[[Path], bool]
"""Whether git tracks a file. A file from a commit must not control a run or replace answers of a
model."""

_Text = Annotated[str, PlainValidator(read_text)]
_Amount = Annotated[float, Strict(), Interval(ge=0, le=1e9)]
_Count = Annotated[int, Strict(), Interval(ge=0, le=10**9)]


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: a digest of all requests, and the seed of their order. That of a shard has
    the commit and says which shard it is."""

    plan: _Text
    order_seed: _Text
    version: Literal[1] = 1
    revision: _Text | None = None
    shard: Annotated[int, Strict()] | None = None
    shards: Annotated[int, Strict()] | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer to a request, or to a question to a judge."""

    asked: _Text
    answer: Annotated[Completion, PlainValidator(read_completion)]


@dataclass(frozen=True, slots=True)
class Withheld:
    """A request whose answer repeats a secret or was cut, and may not be kept."""

    withheld: _Text


@dataclass(frozen=True, slots=True)
class Failed:
    """A request that failed, and why."""

    failed: _Text
    said: _Text


@dataclass(frozen=True, slots=True)
class Began:
    """The beginning of a session: what one process of a shard does."""

    session: _Text
    started: Annotated[datetime, PlainValidator(datetime.fromisoformat)]


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of the session that began last."""

    ended: _Text
    calls: _Count
    throttled: _Count
    seconds: _Amount
    cost_usd: _Amount | None
    detail: _Text | None


@dataclass(frozen=True, slots=True)
class Intended:
    """A batch that is about to be submitted, with the names of its requests."""

    intended: _Text
    model: _Text
    names: tuple[_Text, ...]


@dataclass(frozen=True, slots=True)
class Submitted:
    """The id of a batch that was submitted."""

    submitted: _Text
    batch: _Text


Record = Answered | Withheld | Failed | Began | Ended | Intended | Submitted


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


@dataclass(slots=True)
class KeptAnswers:
    """The content of a file: its answers by request, those of judges by question, messages of
    failed calls and requests with withheld answers, sessions and batches by their keys. `damaged`
    counts the lines that cannot be read."""

    path: Path
    header: Header
    answers: dict[str, Completion] = field(default_factory=dict, repr=False)
    failures: dict[str, str] = field(default_factory=dict)
    withheld: set[str] = field(default_factory=set)
    sessions: dict[str, Session] = field(default_factory=dict)
    batches: dict[str, KnownBatch] = field(default_factory=dict)
    damaged: int = 0

    @property
    def started(self) -> datetime:
        """When the first session began."""
        begun = (session.started for session in self.sessions.values())
        return min(begun, default=datetime.max.replace(tzinfo=UTC))

    def require_same(self, trials: Sequence[Trial]) -> None:
        """Raise UsageError if the requests of the unfinished run were different. Trials that call
        no model need none of them."""
        if trials and plan_digest(trials) != self.header.plan:
            raise UsageError(
                f"{self.path}: the unfinished run sent other requests, because its commits, "
                "contracts or options were different; repeat the command of the unfinished run "
                f"with --resume, or drop its {count(len(self.answers), 'answer')} and start again "
                "without --resume"
            )

    def known(self, trials: Sequence[Trial]) -> dict[int, Completion]:
        """Return the known answers of the trials, by their index."""
        found = known_answers(trials, self.answers)
        return {place: replace(answer, replayed=True) for place, answer in found.items()}

    def take(self, record: Record) -> None:
        """Take one line. Raises KeyError or ValueError for one that has no place here."""
        match record:
            case Answered(asked, answer):
                # The first answer stands: nobody can draw until it comes out well.
                self.answers.setdefault(asked, answer)
                self._count(answer.cost_usd)
            case Withheld(asked):
                self.withheld.add(asked)
                self._count(None)
            case Failed(asked, said):
                self.failures[asked] = said
            case Began(name, started):
                if started.year > _LAST_YEAR:
                    raise ValueError("not a time")
                self.sessions.setdefault(name, Session(started.astimezone(UTC)))
            case Ended():
                name = next(reversed(self.sessions), "")
                self.sessions[name] = Session(self.sessions[name].started, **asdict(record))
            case Intended(key, model, names):
                self.batches[key] = KnownBatch(key, model, frozenset(names))
            case Submitted(key, batch):
                self.batches[key].batch = batch

    def _count(self, cost: float | None) -> None:
        """Count a call of the present session, which may be killed before it says so itself."""
        name = next(reversed(self.sessions), None)
        if name is None or self.sessions[name].ended is not None:
            return
        session = self.sessions[name]
        total = session.cost_usd if cost is None else (session.cost_usd or 0.0) + cost
        self.sessions[name] = replace(session, calls=session.calls + 1, cost_usd=total)


def read_kept(path: Path) -> KeptAnswers:
    """Read a file. Raises OSError for one that cannot be read, and ValueError without a header."""
    first, *lines = read_own_file(path).split(b"\n")
    try:
        kept = KeptAnswers(path, _headers().validate_python(json.loads(first)))
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        raise ValueError("the first line of the file cannot be read") from None
    records = _records()
    for line in filter(None, lines):
        try:
            kept.take(records.validate_python(json.loads(line)))
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
            kept.damaged += 1
    return kept


def read_unfinished(path: Path, tracked: IsTracked) -> KeptAnswers:
    """Read what an unfinished run left. Raises UsageError if there is nothing to resume, or if git
    tracks the file: a pull request must not bring answers of its own."""
    require_untracked(path, tracked)
    try:
        return read_kept(path)
    except FileNotFoundError:
        raise UsageError(
            f"--resume: {path} does not exist, so there is no unfinished run; run without --resume"
        ) from None
    except OSError as error:
        raise UsageError(f"--resume: {path} cannot be read: {error.strerror}") from error
    except ValueError:
        raise UsageError(
            f"--resume: {path} was not written by this version of gatekeeper; run without --resume"
        ) from None


def require_untracked(path: Path, tracked: IsTracked) -> None:
    """Raise UsageError if git tracks a file of answers: a pull request could bring its own."""
    if tracked(path):
        raise UsageError(
            f"--resume: git tracks {path}, so anybody could have written the answers in this file; "
            "remove the file from the repository and run without --resume"
        )


class AnswerLog:
    """Appends answers to a file.

    If the file cannot be written, the run goes on without it; `fault` says why. An answer that
    repeats a secret or that was cut is left out, so a resumed run asks for it again. The file is
    locked while it is written: a second run in the folder would delete answers that are paid for.
    """

    def __init__(self, path: Path, redact: Redactor) -> None:
        self.path = path
        self.count = 0
        self.fault: str | None = None
        self.set_aside: Path | None = None
        """Where the file of an earlier run is now, if there was one."""
        self._redact = redact
        self._header: Header | None = None
        self._file: int | None = None
        self._started = datetime.now(UTC)

    def start(self, header: Header) -> None:
        """Set the file of an earlier run aside. A new one begins with the first record: `header`
        is its first line. Raises UsageError if another run is writing the file."""
        self._header = header
        if is_locked(self.path):
            raise _in_use(self.path)
        with contextlib.suppress(OSError):  # if it stays, it is in the way of the first answer
            aside = _free_name(self.path)
            self.path.replace(aside)
            self.set_aside = aside

    def begin(self) -> None:
        """Begin the file now, and not with its first record."""
        with self._noting_faults():
            self._begin()

    def resume(self) -> None:
        """Continue after the answers in the file. Raises UsageError if another run is writing
        it."""
        with self._noting_faults():
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW)
            if not lock(self._file):
                self.close()
                raise _in_use(self.path)
            os.write(self._file, b"\n")  # the last line may have been cut short

    def add(self, trial: Trial, completion: Completion) -> None:
        """Append the answer to the trial's request."""
        self._add(request_key(trial), completion)

    def add_judge_answer(self, asked: QuestionId, completion: Completion) -> None:
        """Append a judge's answer to a question."""
        self._add(question_key(asked), completion)

    def _add(self, key: str, completion: Completion) -> None:
        if completion.cut is not None or self._redact.value(completion) != completion:
            self._append({"withheld": key})
            return
        self._append({"asked": key, "answer": completion_record(completion)})
        self.count += not self.fault

    def begin_session(self) -> None:
        """Note that a process of a shard begins."""
        session = {"session": secrets.token_hex(8), "started": self._started.isoformat()}
        self._append(session)

    def end_session(self, run: Run, failed: Sequence[Sample]) -> None:
        """Note which calls failed, and what the process did."""
        for sample in failed:
            said = self._redact.text(sample.error or "")
            self._append({"failed": request_key(sample.trial), "said": said})
        ended = {
            "ended": run.ended,
            "detail": None if run.detail is None else self._redact.text(run.detail),
            "calls": run.made,
            "cost_usd": run.cost_usd,
            "throttled": run.throttled,
            "seconds": (datetime.now(UTC) - self._started).total_seconds(),
        }
        self._append(ended)

    def note_batch(self, record: Mapping[str, Any]) -> None:
        """Note what a batch journal says. Raises MeasurementError if that fails, so that nothing
        is submitted that a kill would lose."""
        self._append(record, sync=True)
        if self.fault:
            raise MeasurementError(self.fault)

    def close(self) -> None:
        """Close the file and leave it where it is. Safe to call twice."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, record: Mapping[str, Any], *, sync: bool = False) -> None:
        if self.fault:
            return
        with self._noting_faults():
            self._write(self._begin(), record, sync=sync)

    def _begin(self) -> int:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            lock(self._file)
            assert self._header is not None  # noqa: S101
            self._write(self._file, asdict(self._header))
        return self._file

    def _write(self, file: int, record: Mapping[str, Any], *, sync: bool = False) -> None:
        write_line(file, canonical(record).encode() + b"\n", sync=sync)

    @contextlib.contextmanager
    def _noting_faults(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            self.fault = f"{self.path}: the answers cannot be stored for --resume: {reason}"
            self.close()


def _free_name(path: Path) -> Path:
    """Return what the file can be renamed to without the loss of one that was set aside before."""
    aside, number = path.with_stem(f"{path.stem}{EARLIER}"), 1
    while os.path.lexists(aside):
        number += 1
        aside = path.with_stem(f"{path.stem}{EARLIER}-{number}")
    return aside


def _in_use(path: Path) -> UsageError:
    return UsageError(
        f"{path}: another run is writing answers to this file; wait until the other run has "
        "ended, or use another folder with --out"
    )


def header_of(trials: Sequence[Trial], order_seed: str) -> Header:
    """Return what names everything that a run asks, and its order."""
    return Header(plan_digest(trials), order_seed)


def plan_digest(trials: Sequence[Trial]) -> str:
    """Return a digest of everything that the trials ask, whatever their order."""
    return digest(
        sorted(digest([request_key(t), t.contract_from, t.fixture, t.arm]) for t in trials)
    )


def request_key(trial: Trial) -> str:
    """Return a digest of the trial's request. Trials of one contract with its groups, and those of
    all mutants of a prompt, share a call if their requests are the same."""
    request = trial.request
    asked = request_digest(request)
    parts = [
        trial.part_of or trial.contract,
        request.model,
        asked,
        request.seed,
        request.repetition,
    ]
    return digest([*parts, "streamed"] if request.streamed else parts)


def known_answers(
    trials: Sequence[Trial], answers: Mapping[str, Completion]
) -> dict[int, Completion]:
    """Return the answers of the trials, by their index, from answers by request."""
    keys = enumerate(map(request_key, trials))
    return {place: answers[key] for place, key in keys if key in answers}


@cache
def _headers() -> TypeAdapter[Header]:
    return TypeAdapter(Header)


@cache
def _records() -> TypeAdapter[Record]:
    return TypeAdapter(Record)
