"""Calls that several chains of one fixture need: sent once, and asked again if that fails."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.fake_client import FakeClient, run, trial

from gatekeeper.contract.values.call import Chain, Draft, Output
from gatekeeper.contract.values.definition import Message, ToolCall
from gatekeeper.contract.values.tools import ToolAnswer, ToolRow, Tools
from gatekeeper.contract.values.trial import Arm, Completion, Request, Trial
from gatekeeper.errors import CallFailed
from gatekeeper.sampling.calls import distinct_requests
from gatekeeper.sampling.retries import RetryPolicy
from gatekeeper.sampling.stored_text import MOST_CHARACTERS


def chain(arm: Arm, last: str, fixture: str = "f", first: str = "one") -> Trial:
    made = trial(0)
    call = Chain(("a",), ((Draft("user", (last, Output("a"))),),))
    request = replace(made.request, messages=(Message("user", first),), call=call)
    return replace(made, arm=arm, fixture=fixture, request=request)


class Counting(FakeClient):
    """Answers with the number of the request, so that no two answers are the same."""

    def __init__(self, size: int = 0, failures: int = 0) -> None:
        super().__init__(lambda _: Completion(""))
        self.said: list[str] = []
        self._size, self._failures = size, failures

    async def complete(self, request: Request) -> Completion:
        self.said.append(request.messages[0].content)
        await asyncio.sleep(0)
        if len(self.said) <= self._failures:
            raise CallFailed("no")
        return Completion(f"<{len(self.said)}>" + "x" * self._size, cost_usd=1.0)


def test_both_arms_go_on_from_one_answer() -> None:
    client = Counting()
    trials = [chain("base", "two "), chain("head", "three ")]
    done = run(trials, client)
    assert sorted(client.said) == ["one", "three <1>", "two <1>"]
    assert (done.made, done.cost_usd) == (3, 3.0)
    assert len(distinct_requests(trials)) == 3


def test_other_fixtures_and_other_first_steps_ask_for_themselves() -> None:
    trials = [chain("base", "two "), chain("base", "four ", "g"), chain("head", "two ", first="1")]
    assert run(trials, Counting()).made == 6
    assert len(distinct_requests(trials)) == 6


def test_one_that_fails_is_asked_again_by_the_other() -> None:
    client = Counting(failures=1)
    trials = [chain("base", "two "), chain("head", "three ")]
    done = run(trials, client, retry=RetryPolicy(attempts=1))
    assert [sample.completion is None for sample in done.samples] == [True, False]
    assert client.said.count("one") == 2


def test_a_long_answer_is_not_kept() -> None:
    client = Counting(size=10 * MOST_CHARACTERS)
    run([chain("base", "two "), chain("head", "three ")], client)
    assert client.said.count("one") == 2


@pytest.mark.parametrize("known", ["base", "head"])
def test_the_answers_of_an_earlier_run_are_gone_on_from(known: Arm) -> None:
    trials = [chain("base", "two "), chain("head", "three ")]
    before = run(trials, Counting())
    place = 0 if known == "base" else 1
    answered = before.samples[place].completion
    assert answered is not None
    client = Counting()
    run(trials, client, known={place: answered})
    assert len(client.said) == 1
    assert client.said[0].endswith(" <1>")


def test_a_cut_answer_of_an_earlier_run_is_not_gone_on_from() -> None:
    trials = [chain("base", "two "), chain("head", "three ")]
    answered = run(trials, Counting(size=2 * MOST_CHARACTERS)).samples[0].completion
    assert answered is not None
    client = Counting(size=MOST_CHARACTERS // 2)
    run(trials, client, known={0: answered})
    assert client.said == ["one", f"three <1>{'x' * (MOST_CHARACTERS // 2)}"]


def test_an_answer_kept_without_its_thoughts_is_not_gone_on_from() -> None:
    """The provider refuses the next request of a tool loop without the thoughts of its calls."""
    made = trial(0)
    trials = [
        replace(made, request=replace(made.request, tools=Tools((ToolRow("t", (answer,)),))))
        for answer in (ToolAnswer("1"), ToolAnswer("2"))
    ]
    thoughts = '{"message":{"thoughts":"signed"},"calls":[{}]}'
    handed_back = []

    class Thinking(FakeClient):
        async def complete(self, request: Request) -> Completion:
            handed_back.extend(m.opaque for m in request.messages if m.calls)
            if handed_back:
                return Completion("Done.")
            return Completion("", tool_calls=(ToolCall("t", "{}"),), opaque=thoughts)

    client = Thinking(lambda _: Completion(""))
    answered = run(trials[:1], client).samples[0].completion
    assert answered is not None
    handed_back.clear()
    run(trials, client, known={0: answered})
    assert handed_back == [thoughts]


def test_a_call_with_too_much_text_inserted_is_not_made() -> None:
    made = chain("head", "two ")
    many = Chain(("a",), ((Draft("user", (Output("a"),) * 2_001),),))
    looped = replace(made, request=replace(made.request, call=many))
    client = Counting(size=1_000)
    done = run([looped], client)
    assert (client.said, done.failed, done.samples[0].completion) == (["one"], 1, None)


def test_two_steps_that_ask_the_same_are_two_calls() -> None:
    made = chain("head", "two ")
    twice = Chain(("b", "a"), ((Draft("user", ("one",)),), *made.request.call.later))
    client = Counting()
    run([replace(made, request=replace(made.request, call=twice))], client)
    assert client.said == ["one", "one", "two <2>"]
