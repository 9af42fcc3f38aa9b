"""The answers of a run that has not ended, so that `--resume` pays for none of them twice.

While a run samples, it appends each answer to `unfinished.jsonl` in the folder for the reports. A
run that ends with a verdict deletes the file. One that is interrupted, killed or stopped by a limit
leaves it there.

The first line names everything that the run asks, by a digest, and the seed of its order. A resumed
run is planned with the same seed and refused if it asks anything else. So it asks for the same
trials in the same order, and decides as the run would have decided without the interruption.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gatekeeper.contract.meaning.digests import canonical, digest, request_digest
from gatekeeper.errors import UsageError
from gatekeeper.numbers import count

if TYPE_CHECKING:
    from gatekeeper.contract.values.trial import Completion, QuestionId, Trial

FILE = "unfinished.jsonl"
BATCHES = "unfinished-batches.jsonl"
"""The batches of a run that has not ended: see providers/batch/journal.py."""

EARLIER = "unfinished-earlier.jsonl"
"""What FILE is renamed to when a new run begins over it. The answers are paid for."""

VERSION = 1
MOST_BYTES = 1_000_000_000


@dataclass(frozen=True, slots=True)
class UnfinishedRun:
    """The file that an unfinished run left at `path`: the seed of its order, a digest of its
    requests, and its answers by request, those of judges by question. `damaged` counts the lines
    that cannot be read."""

    path: Path
    order_seed: str
    plan: str
    answers: Mapping[str, Completion] = field(repr=False)
    damaged: int = 0

    def require_same(self, trials: Sequence[Trial]) -> None:
        """Raise UsageError if the requests of the unfinished run were different. Trials that call
        no model need none of them."""
        if trials and plan_digest(trials) != self.plan:
            raise UsageError(
                f"{self.path}: the unfinished run sent other requests, because its commits, "
                "contracts or options were different; repeat the command of the unfinished run "
                f"with --resume, or drop its {count(len(self.answers), 'answer')} and start again "
                "without --resume"
            )

    def known(self, trials: Sequence[Trial]) -> dict[int, Completion]:
        """Return the known answers of the trials, by their index."""
        keys = enumerate(map(request_key, trials))
        return {
            place: replace(self.answers[key], replayed=True)
            for place, key in keys
            if key in self.answers
        }


def read_unfinished(path: Path, tracked: Callable[[Path], bool]) -> UnfinishedRun:
    """Read what an unfinished run left. Raises UsageError if there is nothing to resume.

    `tracked` says whether git tracks a file: a pull request must not bring answers of its own.
    """
    try:
        content = read_own_file(path)
    except FileNotFoundError:
        raise UsageError(
            f"--resume: {path} does not exist, so there is no unfinished run; run without --resume"
        ) from None
    except OSError as error:
        raise UsageError(f"--resume: {path} cannot be read: {error.strerror}") from error
    require_untracked(path, tracked)
    first, *rest = content.split(b"\n")
    try:
        header = json.loads(first)
        if header["version"] != VERSION:
            raise ValueError
        order_seed, plan = str(header["order_seed"]), str(header["plan"])
    except (KeyError, TypeError, ValueError, RecursionError):
        raise UsageError(
            f"--resume: {path} was not written by this version of gatekeeper; run without --resume"
        ) from None
    answers, damaged = _answers(rest)
    return UnfinishedRun(path, order_seed, plan, answers, damaged)


def require_untracked(path: Path, tracked: Callable[[Path], bool]) -> None:
    """Raise UsageError if git tracks a file of answers: a pull request could bring its own."""
    if tracked(path):
        raise UsageError(
            f"--resume: git tracks {path}, so anybody could have written the answers in this file; "
            "remove the file from the repository and run without --resume"
        )


def plan_digest(trials: Sequence[Trial]) -> str:
    """Return a digest of everything that the trials ask, whatever their order."""
    return digest(
        sorted(digest([request_key(t), t.contract_from, t.fixture, t.arm]) for t in trials)
    )


class AnswerLog:
    """Appends answers to the file of an unfinished run.

    If the file cannot be written, the run goes on without it; `fault` says why. An answer that
    repeats a secret or that was cut is left out, so a resumed run asks for it again. The file is
    locked while it is written: a second run in the folder would delete answers that are paid for.
    """

    def __init__(self, path: Path, clean: Callable[[Completion], bool]) -> None:
        self.path = path
        self.count = 0
        self.fault: str | None = None
        self.set_aside: Path | None = None
        """Where the file of an earlier run is now, if there was one."""
        self._clean = clean
        self._header: Mapping[str, Any] | None = None
        self._file: int | None = None

    def start(self, header: Mapping[str, Any]) -> None:
        """Set the file of an earlier run aside. A new one begins with the first record: `header`
        is its first line. Raises UsageError if another run is writing the file."""
        self._header = header
        if _is_locked(self.path):
            raise _in_use(self.path)
        with contextlib.suppress(OSError):  # if it stays, it is in the way of the first answer
            aside = self.path.with_name(EARLIER)
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
            if not _lock(self._file):
                self.close()
                raise _in_use(self.path)
            os.write(self._file, b"\n")  # the last line may have been cut short

    def add(self, trial: Trial, completion: Completion) -> None:
        """Append the answer to the trial's request."""
        self._add(request_key(trial), completion)

    def add_judge_answer(self, asked: QuestionId, completion: Completion) -> None:
        """Append a judge's answer to a question."""
        from gatekeeper.contract.checks.judge_questions import question_key

        self._add(question_key(asked), completion)

    def _add(self, key: str, completion: Completion) -> None:
        from gatekeeper.sampling.completion_record import completion_record

        if self.fault or completion.cut is not None or not self._clean(completion):
            return
        self.add_record({"asked": key, "answer": completion_record(completion)})
        self.count += not self.fault

    def add_record(self, record: Mapping[str, Any]) -> None:
        """Append a line."""
        with self._noting_faults():
            self._begin()
            self._write(record)

    def close(self) -> None:
        """Close the file and leave it where it is. Safe to call twice."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _begin(self) -> None:
        if self._file is not None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        _lock(self._file)
        self._write(self._header or {})

    def _write(self, record: Mapping[str, Any]) -> None:
        assert self._file is not None  # noqa: S101
        line = canonical(record).encode() + b"\n"
        if os.write(self._file, line) != len(line):
            raise OSError(None, "no space left for a whole line")

    @contextlib.contextmanager
    def _noting_faults(self) -> Any:
        try:
            yield
        except OSError as error:
            reason = error.strerror or error
            self.fault = f"{self.path}: the answers cannot be stored for --resume: {reason}"
            self.close()


def refuse_unfinished_batches(folder: Path) -> None:
    """Raise UsageError if a run in batches has not ended in the folder: another run would remove
    the answers that it has collected, and ask again what its batches answer."""
    file = folder / BATCHES
    if os.path.lexists(file):  # False, too, for a name that is too long
        raise UsageError(
            f"{file}: an earlier run in batches is unfinished, and the provider bills the batches "
            "of that run in any case; collect the answers with `gatekeeper run --batch --resume`, "
            "use another --out, or delete this file"
        )


def forget_unfinished(path: Path) -> None:
    """Delete the file of a run that has ended, and that of its batches. What cannot be deleted is
    left, and so is what another run is writing."""
    if _is_locked(path):
        return
    for file in (path, path.with_name(BATCHES)):
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)


def _lock(file: int) -> bool:
    """Lock an open file until it is closed; return False if another process has locked it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system without locks
    return True


def _is_locked(path: Path) -> bool:
    try:
        file = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return not _lock(file)
    finally:
        os.close(file)


def _in_use(path: Path) -> UsageError:
    return UsageError(
        f"{path}: another run is writing answers to this file; wait until the other run has "
        "ended, or use another folder with --out"
    )


def header_of(trials: Sequence[Trial], order_seed: str) -> dict[str, Any]:
    """Return what names everything that a run asks, and its order."""
    return {"version": VERSION, "plan": plan_digest(trials), "order_seed": order_seed}


def request_key(trial: Trial) -> str:
    """Return a digest of the trial's request. Trials of one contract with its groups, and those of
    all mutants of a prompt, share a call if their requests are the same."""
    request = trial.request
    asked = request_digest(request.messages, request.params)
    parts = [
        trial.part_of or trial.contract,
        request.model,
        asked,
        request.seed,
        request.repetition,
    ]
    return digest([*parts, "streamed"] if request.streamed else parts)


def _answers(lines: Sequence[bytes]) -> tuple[dict[str, Completion], int]:
    answers: dict[str, Completion] = {}
    damaged = 0
    for line in filter(None, lines):
        try:
            # The first answer stands: nobody can draw until it comes out well.
            answers.setdefault(*read_answer(json.loads(line)))
        except (KeyError, TypeError, ValueError, RecursionError):
            damaged += 1
    return answers, damaged


def read_answer(record: Any) -> tuple[str, Completion]:
    """Return the key of a request and its answer, as `AnswerLog.add` wrote them. Raises TypeError,
    KeyError or ValueError for anything else."""
    from gatekeeper.sampling.completion_record import read_completion, read_text

    return read_text(record["asked"]), read_completion(record["answer"])


def read_own_file(path: Path) -> bytes:
    """Return the content of a file that an earlier run wrote. Raises OSError, also for a link, a
    folder, and a file that is too large."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(file, "rb") as opened:
        found = os.fstat(opened.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(None, "this is not a file")
        if found.st_size > MOST_BYTES:
            raise OSError(None, f"the file is larger than {MOST_BYTES:,} bytes")
        return opened.read()
