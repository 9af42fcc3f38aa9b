"""A model client, a watch and a clock that do as a test tells them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Arm, Completion, Outcome, Request, Sample, Trial
from gatekeeper.errors import CallFailed
from gatekeeper.sampling.retries import RetryPolicy
from gatekeeper.sampling.runner import Run, run_trials
from gatekeeper.sampling.stored_text import stored_outcome

Answer = Callable[[Request], "Completion | CallFailed | Awaitable[Completion]"]

UNLIMITED = Limits(cost_usd=None, calls=None, minutes=None, concurrency=4)


def trial(number: int, arm: Arm = "head", contract: str = "c", text: str | None = None) -> Trial:
    content = text or f"{arm} {number}"
    request = Request("m", (Message("user", content),), {}, 42, 0)
    return Trial(contract, f"f{number}", arm, 0, request)


def heads(count: int, contract: str = "c") -> list[Trial]:
    return [trial(number, contract=contract) for number in range(count)]


def content(request: Request) -> str:
    return request.messages[0].content


@dataclass
class FakeClient:
    """Answers with the request's text, or with what `answer` makes of it."""

    answer: Answer = lambda request: Completion(content(request))
    asked: list[str] = field(default_factory=list)
    under_way: int = 0
    most: int = 0

    async def complete(self, request: Request) -> Completion:
        self.asked.append(content(request))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(0)
            answer = self.answer(request)
            if isinstance(answer, CallFailed):
                raise answer
            return answer if isinstance(answer, Completion) else await answer
        finally:
            self.under_way -= 1

    async def aclose(self) -> None:
        raise AssertionError("closing the client is its owner's business")


@dataclass
class FakeWatch:
    """Wants everything until `enough` samples of a contract came in."""

    enough: int | None = None
    samples: list[Sample] = field(default_factory=list)

    def wants(self, trial: Trial) -> bool:
        mine = [s for s in self.samples if s.trial.contract == trial.contract]
        return self.enough is None or len(mine) < self.enough

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        return ()

    def evaluate(self, sample: Sample) -> Outcome:
        return stored_outcome(Outcome(sample))

    def add(self, outcome: Outcome) -> None:
        self.samples.append(outcome.sample)


class FakeTime:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def run(
    trials: list[Trial],
    client: Any = None,
    watch: FakeWatch | None = None,
    limits: Limits = UNLIMITED,
    retry: RetryPolicy | None = None,
    time: FakeTime | None = None,
    stop_when: Callable[[], bool] | None = None,
    known: Mapping[int, Completion] | None = None,
    holds: Callable[[Trial], bool] = lambda _: False,
) -> Run:
    async def main() -> Run:
        stop = asyncio.Event()
        moment = time or FakeTime()

        async def stopper() -> None:
            while stop_when is None or not stop_when():
                await asyncio.sleep(0)
            stop.set()

        stopping = asyncio.create_task(stopper()) if stop_when else None
        try:
            return await run_trials(
                trials,
                client or FakeClient(),
                watch or FakeWatch(),
                limits,
                retry=retry,
                known=known,
                stop=stop if stop_when else None,
                clock=moment,
                sleep=moment.sleep,
                holds=holds,
            )
        finally:
            if stopping:
                stopping.cancel()

    return asyncio.run(asyncio.wait_for(main(), timeout=60))


async def forever(_: Request) -> Completion:
    await asyncio.Event().wait()
    raise AssertionError


def fixtures(samples: Any) -> list[str]:
    return [sample.trial.fixture for sample in samples]
