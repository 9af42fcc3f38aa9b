"""Asks models questions, and reads their answers by the questions' schemas: one loop for all that
a model writes.

Every call goes through sampling/calls.py, so limits, prices and retries are those of the gate.
Each answer is kept (recording.py). An answer that does not fit its schema is sent back once, with
what is wrong; after that the run ends, and nothing is written but the answers.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from gatekeeper.author.generation.questions import QUESTIONS
from gatekeeper.author.generation.recording import Recording
from gatekeeper.author.specification.spec_file import STAGES
from gatekeeper.contract.policies.policy import POLICY_PATH, Limits
from gatekeeper.contract.reading.json_answer import Unreadable, read_answer
from gatekeeper.contract.syntax.schema_errors import schema_problems
from gatekeeper.contract.syntax.yaml_positions import Document
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request
from gatekeeper.errors import (
    CallFailed,
    GatekeeperError,
    MeasurementError,
    NotRecorded,
    UsageError,
)
from gatekeeper.numbers import count, dollars
from gatekeeper.reports.escape import clip, plain
from gatekeeper.reports.redact import environment_redactor
from gatekeeper.reports.terminal.progress import StageProgress
from gatekeeper.sampling.client import AnswerMissing, ModelClient
from gatekeeper.sampling.limits import Clock, LimitReached, Meter, Price
from gatekeeper.sampling.pace import ModelCalls, Order, pace_of_each_model
from gatekeeper.sampling.retries import RetryPolicy, Sleep

T = TypeVar("T")
RETRY = RetryPolicy(timeout_seconds=180)
"""Answers to these questions are long."""

_MOST_SHOWN = 200
_MOST_PROBLEMS = 5
_MOST_OF_PROBLEM = 300
_MOST_SENT_BACK = 50_000
"""Characters of an answer that cannot be used. A model's server can answer with millions."""
_SURROGATES = re.compile("[\ud800-\udfff]")


class UnusableAnswer(MeasurementError):
    """A model answered twice what cannot be read, or one call failed. Others may succeed."""


class Asker:
    """Asks models the questions of all stages of one run.

    `model` is the one that generates. `instructions` are those of the person who runs it, by stage
    or for `all`; they may not come from a pull request. `recording` keeps each answer, and has
    those of an earlier run. `lines` are the prompt's lines with text: the embedded model can name
    no others. `sent` counts the requests that reached a model.
    """

    def __init__(
        self,
        model: str,
        client: ModelClient,
        limits: Limits,
        *,
        price: Price | None = None,
        instructions: Mapping[str, str] | None = None,
        progress: StageProgress | None = None,
        recording: Recording | None = None,
        lines: Sequence[int] = (),
        retry: RetryPolicy = RETRY,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.model = model
        self.sent = 0
        self._instructions = instructions or {}
        self._progress = progress
        self.recording = recording or Recording()
        self._lines = lines
        self._most_calls = limits.calls
        self._is_replayed = False
        self._meter = Meter(limits, clock, sleep, price)
        pace = pace_of_each_model(limits.concurrency, retry, clock, sleep, client)
        self._calls = ModelCalls(client, retry, self._meter, sleep, pace)

    @property
    def cost_usd(self) -> float | None:
        """The sum of the known costs in US dollars; None if none is known."""
        return self._meter.cost_usd

    @property
    def bill(self) -> str:
        """What the run took so far, such as `3 calls, 0.01 USD`."""
        cost = [] if self.cost_usd is None else [dollars(self.cost_usd)]
        return ", ".join([count(self.sent, "call"), *cost])

    def seconds_left(self) -> float | None:
        """Return the seconds until the time limit; None without one."""
        return self._meter.seconds_left()

    @property
    def calls_left(self) -> int | None:
        """The calls that the limit leaves; None without one, or if a recording answers, because
        nobody knows which questions it answers next."""
        if self._most_calls is None or self._is_replayed:
            return None
        return max(0, self._most_calls - self._meter.made)

    async def ask(
        self,
        name: str,
        data: Mapping[str, str],
        settings: Mapping[str, str] | None = None,
        *,
        values: Mapping[str, Any] | None = None,
        model: str | None = None,
    ) -> Mapping[str, Any]:
        """Ask a question of the table by its name and return the answer, which fits its schema.

        `data`, `settings` and `values` are those of `Question.request`; `model` is another one than
        the run's. Raises MeasurementError that names the question and the model, which is
        UnusableAnswer if another question may be answered, and UsageError for a model that cannot
        be called.
        """
        question, model = QUESTIONS[name], model or self.model
        schema = question.with_variables(values)
        request = question.request(model, data, settings, values=values, lines=self._lines)
        request = self._with_instructions(request, name)
        completion = await self.complete(request, name)
        found, faults = _read(completion, schema)
        if faults is None:
            return found
        again = _asked_again(request, completion.text, faults)
        completion = await self.complete(again, name)
        found, faults = _read(completion, schema)
        if faults is not None and self.recording.recall(again):
            self.recording.forget(again)  # it ended the earlier run
            completion = await self.complete(again, name)
            found, faults = _read(completion, schema)
        if faults is None:
            return found
        raise UnusableAnswer(
            f"stage {name}: {model} gave no usable answer in two attempts: {faults}; use a "
            "stronger model with --model, or repeat the command"
        )

    def _with_instructions(self, request: Request, stage: str) -> Request:
        """Add what a person wants of the stage to its system message. Judges get nothing. A stage
        has the same instructions if it keeps its items in step."""
        stage = stage.removeprefix("update_")
        own = [self._instructions[name] for name in ("all", stage) if name in self._instructions]
        if not own or stage not in STAGES:
            return request
        system, *rest = request.messages
        wanted = "\n".join(["# What the person who runs this wants", *own])
        return replace(
            request, messages=(Message("system", f"{system.content}\n{wanted}\n"), *rest)
        )

    async def text(self, request: Request, stage: str) -> str | None:
        """Return the text of the answer to any request; None if the model gave none. Raises as
        `ask` does if the run cannot go on."""
        try:
            return (await self.complete(request, stage)).text
        except UnusableAnswer:
            return None

    async def complete(self, request: Request, stage: str) -> Completion:
        """Return the answer to any request without secrets, and keep it in the recording. Raises as
        `ask` does."""
        order = Order(request, lambda: True)
        if self._progress:
            self._progress.asked(stage)
        try:
            completion = await self._calls.make(order)
        except NotRecorded as missing:
            raise MeasurementError(
                f"stage {stage}: {missing}; use the same prompt, specification and options as in "
                "the recorded run"
            ) from missing
        except CallFailed as failure:
            kind: type[GatekeeperError] = UsageError if failure.author else MeasurementError
            if not failure.author and not failure.fatal:
                kind = UnusableAnswer
                self.recording.add(request, stage, str(failure))
            raise kind(f"stage {stage}: {request.model}: {failure}") from failure
        except (LimitReached, AnswerMissing) as reached:
            said = reached.limit if isinstance(reached, LimitReached) else reached
            fewer = QUESTIONS[stage].fewer if stage in QUESTIONS else ""
            raise MeasurementError(
                f"stage {stage}: {request.model}: {said}; raise the limit in "
                f".github/gatekeeper.yml{fewer}"
            ) from reached
        finally:
            self.sent += order.sent
            if self._progress and not isinstance(sys.exception(), asyncio.CancelledError):
                self._progress.answered(stage, self.cost_usd)
        # What is parsed is what a replay will find.
        text = _SURROGATES.sub("\ufffd", environment_redactor().text(completion.text))
        completion = replace(completion, text=text)
        self._is_replayed |= completion.replayed
        self.recording.add(request, stage, completion)
        return completion


async def ask_together(*questions: Coroutine[Any, Any, T]) -> list[T]:
    """Return the answers to questions that do not need one another. If one fails, the others are
    cancelled."""
    tasks = [asyncio.ensure_future(question) for question in questions]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _without_surrogates(value: Any) -> Any:
    """Return a JSON value that can be written as UTF-8: JSON can escape halves of a character."""
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
    return list(map(_without_surrogates, value)) if isinstance(value, list) else value


def _asked_again(request: Request, answer: str, faults: str) -> Request:
    more = (
        Message("assistant", answer[:_MOST_SENT_BACK] or "(no text)"),
        Message("user", f"This answer cannot be used: {faults}. Answer again, with JSON alone."),
    )
    return Request(
        request.model, (*request.messages, *more), request.params, request.seed, request.repetition
    )


def _read(
    completion: Completion, schema: Mapping[str, Any]
) -> tuple[Mapping[str, Any], str | None]:
    """Return the answer's object, and what is wrong with it; None if it fits the schema."""
    found = read_answer(completion)
    if isinstance(found, Unreadable):
        shown = plain(completion.text[:_MOST_SHOWN]) or "nothing"
        return {}, f"the answer {found.why}: {shown}"
    found = _without_surrogates(found)
    return found, "; ".join(_problems(found, schema)) or None


def _problems(found: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    problems = schema_problems(Document("answer", found), schema, found)
    return [
        clip(plain(f"{one.field or 'the answer'}: {one.what}"), _MOST_OF_PROBLEM)
        for one in problems[:_MOST_PROBLEMS]
    ]


class TooFewCalls(MeasurementError):
    """The limit of calls leaves fewer than the rules need. `what` says how many each is."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; raise `limits.calls` in {POLICY_PATH}")
        self.what = what


def require_calls(asker: Asker, needed: int, rules: int) -> None:
    """Raise TooFewCalls if the limit leaves fewer calls than so many rules need."""
    left = asker.calls_left
    if left is not None and left < needed:
        raise TooFewCalls(
            f"{count(rules, 'rule')} would need at least {count(needed, 'more call')}, but "
            f"the limit on calls allows only {left:,} more"
        )


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
