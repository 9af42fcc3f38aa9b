"""Conversations: one call after another, each with the answers so far, counted one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fake_client import UNLIMITED, FakeClient, FakeWatch, run, trial

from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.call import Conversation
from gatekeeper.contract.values.definition import Message, SimulatedUser
from gatekeeper.contract.values.trial import REFUSED, Completion, Request
from gatekeeper.errors import CallFailed
from gatekeeper.sampling.calls import distinct_requests, group_calls
from gatekeeper.sampling.completion_record import completion_record, read_completion
from gatekeeper.sampling.retries import RetryPolicy
from gatekeeper.sampling.stored_text import MOST_CHARACTERS, stored_completion

FIRST = (Message("system", "Be brief."), Message("user", "one"))


def conversation(*turns: str):
    made = trial(0)
    request = replace(made.request, messages=FIRST, call=Conversation(turns))
    return replace(made, request=request)


def said(request: Request) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in request.messages]


def count(request: Request) -> Completion:
    """Answer with the number of messages, as a call that takes something of each amount."""
    return Completion(str(len(request.messages)), 5.0, 10, 2, 0.25, fingerprint="m")


class Listening(FakeClient):
    def __init__(self, answer=count) -> None:
        super().__init__(answer)
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        return await super().complete(request)


def test_each_call_has_the_answers_before_it() -> None:
    client = Listening()
    done = run([conversation("two", "three")], client)
    assert [said(request) for request in client.requests] == [
        [("system", "Be brief."), ("user", "one")],
        [("system", "Be brief."), ("user", "one"), ("assistant", "2"), ("user", "two")],
        [
            *[("system", "Be brief."), ("user", "one"), ("assistant", "2"), ("user", "two")],
            *[("assistant", "4"), ("user", "three")],
        ],
    ]
    assert (done.made, done.cost_usd) == (3, 0.75)
    [sample] = done.samples
    found = sample.completion
    assert found is not None
    assert (sample.output, found.latency_ms, found.prompt_tokens) == ("6", 15.0, 30)
    assert (found.completion_tokens, found.cost_usd) == (6, 0.75)
    assert [turn.completion.text for turn in found.turns] == ["2", "4", "6"]
    assert [turn.request for turn in found.turns] == [
        request_digest(request) for request in client.requests
    ]


def test_one_unknown_amount_makes_the_sum_unknown() -> None:
    def forgets(request: Request) -> Completion:
        answer = count(request)
        return answer if len(request.messages) > 2 else replace(answer, prompt_tokens=None)

    [sample] = run([conversation("two")], Listening(forgets)).samples
    assert sample.completion is not None
    assert sample.completion.prompt_tokens is None
    assert sample.completion.completion_tokens == 4


def test_a_single_answer_has_no_turns() -> None:
    [sample] = run([trial(0)], Listening()).samples
    assert sample.completion is not None
    assert sample.completion.turns == ()


def test_a_refused_turn_ends_the_conversation() -> None:
    def refuses(request: Request) -> Completion:
        refused = len(request.messages) == 4
        return Completion("", finish_reason=REFUSED) if refused else count(request)

    client = Listening(refuses)
    [sample] = run([conversation("two", "three")], client).samples
    assert len(client.requests) == 2
    assert sample.completion is not None
    assert sample.completion.finish_reason == REFUSED


def test_a_call_that_fails_fails_the_conversation() -> None:
    def fails(request: Request) -> Completion | CallFailed:
        return CallFailed("no") if len(request.messages) > 2 else count(request)

    done = run([conversation("two")], Listening(fails), retry=RetryPolicy(attempts=1))
    assert [sample.completion for sample in done.samples] == [None]
    assert done.failed == 1


def test_a_simulated_user_that_cannot_be_read_is_quoted() -> None:
    user = SimulatedUser("openai/user", "Learn the time.", 3)

    def answers(request: Request) -> Completion:
        return (
            Completion("Sure! What time is it?") if request.model == user.model else count(request)
        )

    made = conversation()
    made = replace(made, request=replace(made.request, call=user))
    done = run([made], Listening(answers), retry=RetryPolicy(attempts=1))
    [sample] = done.samples
    assert sample.error is not None
    assert sample.error.endswith('in 3 tries; the last was "Sure! What time is it?"')


def test_the_limit_on_calls_counts_every_turn() -> None:
    limits = replace(UNLIMITED, calls=2)
    done = run([conversation("two", "three")], Listening(), limits=limits)
    assert (done.ended, done.made, done.samples) == ("limit", 2, ())


def test_identical_conversations_share_their_calls_and_others_do_not() -> None:
    one, same = conversation("two"), replace(conversation("two"), arm="base")
    other, single = conversation("three"), conversation()
    calls, _ = group_calls([one, same, other, single])
    assert [call.trials for call in calls] == [[0, 1], [2], [3]]
    # The first answers of two conversations of one fixture are the same.
    assert len(distinct_requests([one, same, other, single])) == 4


def test_a_watch_that_has_enough_gets_no_half_conversation() -> None:
    watch = FakeWatch(enough=1)
    trials = [conversation("two"), replace(conversation("three"), fixture="f1")]
    run(trials, Listening(), watch=watch)
    assert len(watch.samples) == 1


def test_a_conversation_is_kept_with_its_turns() -> None:
    [sample] = run([conversation("two")], Listening()).samples
    assert sample.completion is not None
    assert read_completion(completion_record(sample.completion)) == sample.completion
    nested = completion_record(sample.completion)
    nested["turns"][0]["answer"]["turns"] = nested["turns"]
    with pytest.raises(TypeError):
        read_completion(nested)


@pytest.mark.parametrize("value", [[], "text", 7, None, True])
@pytest.mark.parametrize("place", ["turns", "users", "answer"])
def test_an_answer_that_is_no_object_cannot_be_read(place: str, value: object) -> None:
    record = completion_record(Completion("yes"))
    asked = {"request": "r", "asked": ["model", "question", 0], "answer": value}
    whole = value if place == "answer" else {**record, place: [asked]}
    with pytest.raises((TypeError, ValueError, KeyError)):
        read_completion(whole)


def test_long_answers_before_the_last_one_are_cut_as_well() -> None:
    def long(request: Request) -> Completion:
        return Completion("a" * 2 * MOST_CHARACTERS if len(request.messages) == 2 else "short")

    [sample] = run([conversation("two")], Listening(long)).samples
    assert sample.completion is not None
    kept = stored_completion(sample.completion)
    assert kept.text == "short"
    assert len(kept.turns[0].completion.text) < MOST_CHARACTERS + 100
    assert kept.turns[0].completion.cut is not None
