"""Questions to judges: asked after the answer, under the same limits, each once, in plan order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from support.fake_client import UNLIMITED, FakeClient, FakeTime, FakeWatch, content, heads

from gatekeeper.contract.checks.judge_settings import answer_to, question_key
from gatekeeper.contract.policies.policy import Limits
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, QuestionId, Request, Sample, Trial
from gatekeeper.errors import CallFailed
from gatekeeper.sampling.retries import RetryPolicy
from gatekeeper.sampling.runner import Run, run_trials


def question(text: str, repetition: int = 0) -> Request:
    return Request("judge", (Message("user", text),), {}, None, repetition)


def about(sample: Sample) -> list[Request]:
    """Ask one question about the text, and nothing once it is answered."""
    assert sample.completion is not None
    asked = question(f"? {sample.completion.text}")
    return [] if answer_to(asked, sample) else [asked]


@dataclass
class JudgedWatch(FakeWatch):
    ask: Callable[[Sample], Sequence[Request]] = about

    def questions(self, sample: Sample) -> tuple[Request, ...]:
        return tuple(self.ask(sample))


@dataclass
class Kept:
    answers: list[tuple[QuestionId, Completion]] = field(default_factory=list)

    def __call__(self, asked: QuestionId, completion: Completion) -> None:
        self.answers.append((asked, completion))


def run(
    trials: list[Trial],
    client: FakeClient,
    watch: JudgedWatch,
    limits: Limits = UNLIMITED,
    known: Mapping[int, Completion] | None = None,
    judged: Mapping[str, Completion] | None = None,
    kept: Kept | None = None,
) -> Run:
    time = FakeTime()
    retry = RetryPolicy(attempts=2)
    whole = run_trials(
        trials,
        client,
        watch,
        limits,
        known=known,
        retry=retry,
        clock=time,
        sleep=time.sleep,
        judged=judged,
        on_judge_answer=kept,
    )
    return asyncio.run(asyncio.wait_for(whole, timeout=60))


def verdicts(samples: Sequence[Sample]) -> list[Any]:
    return [[a.completion and a.completion.text for a in s.judge_answers] for s in samples]


def test_a_sample_carries_the_answers_of_its_judges() -> None:
    client = FakeClient()
    found = run(heads(2), client, watch := JudgedWatch())
    assert verdicts(watch.samples) == [["? head 0"], ["? head 1"]]
    assert (found.made, found.judged.made, found.judged.answered) == (4, 2, 2)


def test_the_same_question_is_asked_once() -> None:
    client = FakeClient(lambda request: Completion("same" if request.model == "m" else "good"))
    found = run(heads(20), client, watch := JudgedWatch())
    assert client.asked.count("? same") == 1
    assert verdicts(watch.samples) == [["good"]] * 20
    assert found.judged.made == 1


def test_samples_stay_in_plan_order_however_slow_the_judge_is() -> None:
    released = asyncio.Event()

    async def slow(request: Request) -> Completion:
        if content(request) == "? head 0":
            await released.wait()
        elif content(request) == "? head 3":
            released.set()
        return Completion("good")

    def answer(request: Request) -> Any:
        return Completion(content(request)) if request.model == "m" else slow(request)

    run(heads(4), FakeClient(answer), watch := JudgedWatch())
    assert [s.trial.fixture for s in watch.samples] == ["f0", "f1", "f2", "f3"]


def test_a_judge_that_fails_leaves_the_sample_with_its_error() -> None:
    def answer(request: Request) -> Completion | CallFailed:
        if request.model == "m":
            return Completion("text")
        return CallFailed("overloaded", retryable=True)

    found = run(heads(2), FakeClient(answer), watch := JudgedWatch())
    assert found.ended == "done"
    assert [s.completion is not None for s in watch.samples] == [True, True]
    assert {a.error for s in watch.samples for a in s.judge_answers} == {"overloaded"}
    assert (found.failed, found.judged.failed, found.judged.made) == (0, 1, 2)


def test_a_judge_that_refuses_for_good_ends_the_run() -> None:
    def answer(request: Request) -> Completion | CallFailed:
        if request.model == "m":
            return Completion(content(request))
        return CallFailed("no such model", fatal=True, author=True)

    found = run(heads(30), FakeClient(answer), JudgedWatch())
    assert (found.ended, found.author) == ("fatal", True)


def test_judges_count_against_the_limit_of_calls() -> None:
    limits = replace(UNLIMITED, calls=3, concurrency=1)
    found = run(heads(5), client := FakeClient(), watch := JudgedWatch(), limits)
    assert (found.ended, found.made) == ("limit", 3)
    # The second answer has no verdict, so it is not evidence.
    assert [s.trial.fixture for s in watch.samples] == ["f0"]
    assert len(client.asked) == 3


def test_costs_of_judges_are_counted_apart_and_in_all() -> None:
    def answer(request: Request) -> Completion:
        cost = 0.5 if request.model == "m" else 0.25
        return Completion(content(request), cost_usd=cost)

    found = run(heads(2), FakeClient(answer), JudgedWatch())
    assert (found.cost_usd, found.judged.cost_usd) == (1.5, 0.5)


def test_questions_about_samples_that_are_no_longer_wanted_are_cancelled() -> None:
    async def never(request: Request) -> Completion:
        if content(request) != "? head 0":
            await asyncio.Event().wait()
        return Completion("good")

    def answer(request: Request) -> Any:
        return Completion(content(request)) if request.model == "m" else never(request)

    found = run(heads(4), FakeClient(answer), watch := JudgedWatch(enough=1))
    assert [s.trial.fixture for s in watch.samples] == ["f0"]
    assert (found.ended, found.surplus) == ("done", 3)


def test_a_question_is_asked_again_if_its_first_caller_is_cancelled() -> None:
    """Contract `a` is decided while both contracts wait for one answer."""
    asked = asyncio.Event()

    async def judge(_: Request) -> Completion:
        if not asked.is_set():
            asked.set()
            await asyncio.Event().wait()
        return Completion("good")

    def answer(request: Request) -> Any:
        return Completion("same") if request.model == "m" else judge(request)

    class Watch(JudgedWatch):
        def wants(self, trial: Trial) -> bool:
            return trial.contract == "b" or not self.samples

        def questions(self, sample: Sample) -> tuple[Request, ...]:
            return () if sample.trial.fixture == "f0" else tuple(about(sample))

    async def ordered(request: Request) -> Completion:
        if content(request) == "head 0":  # the last to answer decides contract a
            await asked.wait()
        return Completion("same")

    def client(request: Request) -> Any:
        return ordered(request) if request.model == "m" else judge(request)

    trials = [*heads(2, "a"), *heads(2, "b")[1:]]
    run(trials, FakeClient(client), watch := Watch())
    assert [(s.trial.contract, s.trial.fixture) for s in watch.samples] == [
        ("a", "f0"),
        ("b", "f1"),
    ]
    assert verdicts(watch.samples)[1] == ["good"]


def test_answers_of_an_earlier_run_are_not_asked_again() -> None:
    kept = Kept()
    first = run(heads(2), FakeClient(), JudgedWatch(), kept=kept)
    judged = {question_key(asked): completion for asked, completion in kept.answers}
    known = {
        i: replace(s.completion, replayed=True) for i, s in enumerate(first.samples) if s.completion
    }

    again = run(
        heads(2), client := FakeClient(), watch := JudgedWatch(), known=known, judged=judged
    )
    assert client.asked == []
    assert (again.made, again.judged.made, again.judged.cached) == (0, 0, 2)
    assert verdicts(watch.samples) == verdicts(first.samples)


def test_a_known_answer_without_a_verdict_is_judged() -> None:
    known = {0: Completion("kept", replayed=True)}
    found = run(heads(2), client := FakeClient(), watch := JudgedWatch(), known=known)
    assert sorted(client.asked) == ["? head 1", "? kept", "head 1"]
    assert verdicts(watch.samples) == [["? kept"], ["? head 1"]]
    assert found.surplus == 0


def test_further_questions_can_follow_an_answer_but_not_for_ever() -> None:
    def ask(sample: Sample) -> Sequence[Request]:
        return [question("again", repetition=len(sample.judge_answers))]

    run(heads(1), client := FakeClient(), JudgedWatch(ask=ask))
    assert client.asked.count("again") == 5
