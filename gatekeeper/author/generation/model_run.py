"""Runs work that asks models in this process, and keeps every answer in a file.

Each answer is in the file as soon as it is there, also if the work fails or the process is killed,
because it was paid for. A later run can continue from them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from gatekeeper.author.generation.ask import Asker, recording_of
from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.definition import Position
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed, MeasurementError, UsageError, WriteError
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.reports.terminal.progress import StageProgress
from gatekeeper.reports.write import require_writable, write_files
from gatekeeper.runs.answers.cache import AroundModels, CachedClient
from gatekeeper.runs.answers.files import read_own_file
from gatekeeper.runs.models import free_price, open_models, require_known_models, require_recording
from gatekeeper.runs.signals import with_signals

if TYPE_CHECKING:
    from gatekeeper.contract.policies.policy import Policy
    from gatekeeper.contract.values.change import Revision
    from gatekeeper.providers import ModelRouter
    from gatekeeper.reports.terminal.progress import TerminalProgress


class ResumedClient(AroundModels):
    """Answers from the recording of an earlier run, and asks the models what it does not hold.

    `earlier` is the recording, whole lines of it. Raises UsageError if it cannot be read.
    """

    def __init__(self, path: Path, models: ModelRouter) -> None:
        from gatekeeper.providers.recorded import ReplayClient

        try:
            content = read_own_file(path)
        except OSError as error:
            raise UsageError(
                f"--resume: {path} cannot be read: {error.strerror or error}; run the command "
                "without --resume, or name the folder of the answers with --out"
            ) from error
        self.earlier = _earlier(content.decode("utf-8", "replace"))
        self._recorded = ReplayClient(lambda _: self.earlier.encode(errors="replace"), str(path))
        super().__init__(models)
        self._forgotten: set[str] = set()

    async def complete(self, request: Request) -> Completion:
        """Answer from the recording, else ask. Raises CallFailed."""
        if _key(request) not in self._forgotten:
            try:
                return await self._recorded.complete(request)
            except CallFailed as failure:
                if failure.fatal:
                    raise  # the file is no recording
        return await self._models.complete(request)

    def forget(self, request: Request) -> None:
        """Ask the model next time, because the recorded answer cannot be used."""
        self._forgotten.add(_key(request))

    def joined(self, recording: str) -> str:
        """Return a recording with the earlier answers that it does not have."""
        return _joined(self.earlier + recording)


def _earlier(text: str) -> str:
    """Return the answers of a file, each request once. A killed process may have left the last line
    without its end. If the file is no recording, replaying it says why."""
    whole, _, last = text.rpartition("\n")
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        text = f"{whole}\n"
    try:
        return _joined(text)
    except (AttributeError, TypeError, ValueError, RecursionError):
        return text


def _joined(text: str) -> str:
    """Return a recording with one answer to each request: the last one."""
    return recording_of(json.loads(line) for line in text.split("\n") if line.strip())


def _key(request: Request) -> str:
    digest = request_digest(request.messages, request.params)
    return f"{digest} {request.model} {request.repetition}"


class AnswerWriter:
    """Writes a file of answers as JSON Lines. `earlier` are lines that a resumed run continues;
    without them, the first answer replaces the file of another run."""

    def __init__(self, path: Path, earlier: str = "") -> None:
        self._path = path
        self._earlier = earlier
        self._file: TextIO | None = None
        self._is_writable = True

    def add(self, row: Mapping[str, Any]) -> None:
        """Append an answer at once: a process that is killed loses none before it. If that fails,
        the run goes on, and `finish` says why."""
        if not self._is_writable:
            return
        line = environment_redactor().text(json.dumps(row, ensure_ascii=False))
        try:
            self._opened().write(f"{line}\n")
            self._opened().flush()
        except (OSError, WriteError):
            self._is_writable = False

    def finish(self, text: str) -> None:
        """Replace the file by all answers, in an order that does not depend on their speed; without
        an answer it stays as it is. Raises WriteError."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if text:
            write_files({self._path.name: lambda: text}, self._path.parent)

    def _opened(self) -> TextIO:
        if self._file is None:
            write_files({self._path.name: lambda: self._earlier}, self._path.parent)
            self._file = self._path.open("a", encoding="utf-8", errors="replace", newline="\n")
        return self._file


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """Where the answers of a run are. `path` is written. With `replay`, all answers come from that
    file and nothing is written. With `resume`, answers that `path` holds are not asked for.
    Neither are those of the sample cache `cache`, to which a run adds its answers if it ends
    well."""

    path: Path
    replay: Path | None = None
    resume: bool = False
    cache: Path | None = None


@dataclass(frozen=True, slots=True)
class AskedModels:
    """The models that are `called`, that of the questions first, each with the flag that names it,
    and who asks them: the limits are those of the policy. `instructions` and `lines` are those of
    an Asker. The `others` are not called, and still have to exist."""

    called: Sequence[tuple[str, str]]
    revision: Revision
    policy: Policy
    instructions: Mapping[str, str] | None = None
    lines: Sequence[int] = ()
    others: Sequence[tuple[str, str]] = ()


def run_asker(
    work: Callable[[Asker], Coroutine[Any, Any, T]], models: AskedModels, answers: AnswerFile
) -> tuple[T, Asker, tuple[str, ...]]:
    """Return the result of work that asks models, the asker with its calls, and notices about the
    cache. SIGINT and SIGTERM end it.

    Raises UsageError, MeasurementError and WriteError.
    """
    from gatekeeper.providers.models.cost_estimate import worst_cost

    require_recording(answers.replay)
    called = list(dict.fromkeys(model for _, model in models.called))
    if answers.replay is None:
        named = ((Position(flag), model) for flag, model in (*models.called, *models.others))
        require_known_models(list(named), [models.revision])
        require_writable(answers.path.parent)
    through_litellm = models.policy.through_litellm
    client = open_models((models.revision,), through_litellm, answers.replay)
    resumed = ResumedClient(answers.path, client) if answers.resume else None
    if resumed:
        client = open_models((models.revision,), through_litellm, source=resumed)
    cached = CachedClient(answers.cache, client) if answers.cache and not answers.replay else None
    if cached:
        client = open_models((models.revision,), through_litellm, source=cached)
    file = AnswerWriter(answers.path, resumed.earlier if resumed else "")
    price = free_price if answers.replay else worst_cost
    shown = None if answers.replay else StageProgress()

    async def within(_: TerminalProgress, stop: asyncio.Event) -> tuple[T, Asker]:
        await client.require_keys(called)
        asker = Asker(
            called[0],
            client,
            models.policy.limits,
            price=price,
            progress=shown,
            keep=None if answers.replay else file.add,
            forget=resumed.forget if resumed else None,
            instructions=models.instructions,
            lines=models.lines,
        )
        failed = True
        try:
            made = await within_limits(work(asker), asker, stop)
            failed = False
        except MeasurementError as error:
            if answers.replay is None and asker.recording:
                kept = f"{error}. gatekeeper kept the answers so far; add --resume to use them"
                raise MeasurementError(kept) from error
            raise
        finally:
            text = asker.recording
            if answers.replay is None and text:
                file.finish(resumed.joined(text) if resumed and failed else text)
        return made, asker

    made, asker = asyncio.run(with_signals(client, within, shown))
    return made, asker, cached.keep() if cached else ()


async def within_limits(work: Coroutine[Any, Any, T], asker: Asker, stop: asyncio.Event) -> T:
    """Return the result of the work. Raises MeasurementError if the time limit is reached or
    `stop` is set before it ends."""
    task = asyncio.ensure_future(work)
    stopped = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait(
            [task, stopped],
            timeout=asker.seconds_left(),
            return_when=asyncio.FIRST_COMPLETED,
        )
        if not task.done():
            why = "interrupted" if stop.is_set() else "the time limit of the policy is reached"
            raise MeasurementError(f"{why}; no file was changed")
        return task.result()
    finally:
        pending = [one for one in (task, stopped) if not one.done()]
        for one in pending:
            one.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
