"""What the tests of the batch client share: requests, and answers to many at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.native_clients import OPENAI

from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.providers.batch.api import BatchJournal
from gatekeeper.providers.batch.client import BatchClient
from gatekeeper.reports.redact import redactor
from gatekeeper.runs.answers.kept import AnswerLog, Header, read_kept

Answered = list[Completion | BaseException]
Kind = tuple[bool, bool, bool, bool]
AGAIN, BILLED = (True, False, False, False), (True, False, True, False)
NEVER, ENDS = (False, False, False, False), (False, True, False, False)
"""Whether a failed call may be repeated, ends the run, may be billed, was refused for its rate."""


def texts(found: Answered) -> list[str]:
    """The texts of answers, all of which succeeded."""
    assert all(isinstance(answer, Completion) for answer in found), found
    return [answer.text for answer in found if isinstance(answer, Completion)]


def failures(found: Answered) -> list[Kind]:
    """The kinds of failed calls, all of which failed."""
    assert all(isinstance(failure, CallFailed) for failure in found), found
    failed = [failure for failure in found if isinstance(failure, CallFailed)]
    return [(f.retryable, f.fatal, f.billable, f.throttled) for f in failed]


def requests(count: int, model: str = OPENAI) -> list[Request]:
    """Requests that say their number."""
    params = {"max_tokens": 100}
    return [Request(model, (Message("user", f"say {n}"),), params, None, 0) for n in range(count)]


def name_of(request: Request) -> str:
    """The request's number and provider."""
    provider = request.model.partition("/")[0]
    return f"{provider}-{request.messages[0].content.removeprefix('say ')}"


@contextmanager
def open_journal(path: Path) -> Iterator[BatchJournal]:
    """The batches of a run that keeps them in the file at the path, or goes on with that file."""
    log = AnswerLog(path, redactor(()))
    if path.is_file():
        journal = BatchJournal(read_kept(path).batches.values())
        log.resume()
    else:
        journal = BatchJournal()
        log.start(Header("plan", "seed"))
    journal.note = log.note_batch
    try:
        yield journal
    finally:
        log.close()


@dataclass
class Asking:
    """Asks in batches as one process would; `slept` are its pauses, which it does not wait for.
    What failed and may be asked again is asked `attempts` times."""

    journal: Path
    attempts: int = 1
    slept: list[float] = field(default_factory=list)
    submitted: int = 0
    possibly_paid_twice: int = 0
    running: tuple[str, ...] = ()
    waited: list[str] = field(default_factory=list)

    def answers(self, asked: Sequence[Request]) -> Answered:
        """Ask all at the same time."""

        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)
            await asyncio.sleep(0)

        async def main() -> Answered:
            with open_journal(self.journal) as journal:
                return await self._answered(asked, BatchClient(journal, name_of, sleep=sleep))

        return asyncio.run(main())

    async def _answered(self, asked: Sequence[Request], client: BatchClient) -> Answered:
        client.wait.on_change = self.waited.append
        try:
            calls = (self._ask(client, request) for request in asked)
            return list(await asyncio.gather(*calls, return_exceptions=True))
        finally:
            self.submitted = client.submitted
            self.possibly_paid_twice = client.possibly_paid_twice
            self.running = tuple(client.running)
            await client.aclose()

    async def _ask(self, client: BatchClient, request: Request) -> Completion:
        for _ in range(self.attempts - 1):
            try:
                return await client.complete(request)
            except CallFailed as failure:
                if not failure.retryable:
                    raise
        return await client.complete(request)
