"""What the requests of an arm begin with, and the one call that writes it to a cache."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fake_client import UNLIMITED, FakeClient, FakeTime, content, heads, run

from gatekeeper.contract.meaning.digests import request_digest
from gatekeeper.contract.values.definition import Message
from gatekeeper.contract.values.trial import Completion, Request, SharedPrefix, Trial
from gatekeeper.errors import CallFailed
from gatekeeper.sampling.calls import group_calls
from gatekeeper.sampling.pace import KEPT_SECONDS, PrefixWriter
from gatekeeper.sampling.trials import shared_prefixes

SYSTEM = Message("system", "Be short. Grüße")


def says(*texts: str) -> tuple[Message, ...]:
    return (SYSTEM, *(Message("user", text) for text in texts))


def test_the_system_prompt_of_an_arm_is_shared() -> None:
    one = [says("a"), says("b"), says("a")]
    assert shared_prefixes([one]) == [SharedPrefix(1, len(SYSTEM.content.encode()))]
    example = [says("example", "a"), says("example", "b")]
    assert shared_prefixes([example])[0] == SharedPrefix(2, len(SYSTEM.content.encode()) + 7)


@pytest.mark.parametrize(
    "conversations", [[], [says("a")], [says("a"), says("a")], [says("a")[1:], says("b")[1:]]]
)
def test_what_one_conversation_has_alone_is_not_shared(
    conversations: list[tuple[Message, ...]],
) -> None:
    assert shared_prefixes([conversations]) == [None]


def test_both_arms_are_treated_alike() -> None:
    """The size of the shorter one counts, so that not one of the arms alone is cached."""
    long = replace(SYSTEM, content="x" * 900)
    base = [(long, *says(t)[1:]) for t in "ab"]
    head = [says("a"), says("b")]
    size = len(SYSTEM.content.encode())
    assert shared_prefixes([base, head]) == [SharedPrefix(1, size)] * 2
    alone = [says("a")[1:], says("b")[1:]]
    assert shared_prefixes([base, alone]) == [None, None]


@given(st.lists(st.lists(st.sampled_from("ab"), min_size=1, max_size=4), max_size=6))
def test_every_request_begins_with_it(texts: list[list[str]]) -> None:
    conversations = [says(*text) for text in texts]
    (shared,) = shared_prefixes([conversations])
    if shared is not None:
        beginnings = {conversation[: shared.messages] for conversation in conversations}
        assert len(beginnings) == 1
        assert len({*conversations}) > 1


def test_no_digest_and_no_shared_call_depends_on_it() -> None:
    trials = heads(2)
    marked = [
        replace(t, request=replace(t.request, shared_prefix=SharedPrefix(1, 9000))) for t in trials
    ]
    assert marked == trials
    assert len(group_calls([trials[0], marked[0]])[0]) == 1
    for plain, other in zip(trials, marked, strict=True):
        digests = {request_digest(t.request) for t in (plain, other)}
        assert len(digests) == 1


@dataclass
class Caching(FakeClient):
    """A client whose prompts are all marked."""

    def is_cached(self, request: Request) -> bool:
        return request.shared_prefix is not None


def test_one_call_writes_the_prefix_before_others_read_it() -> None:
    """Concurrent calls would each write it. A writer that fails leaves it to the next one."""
    written, seen = 0, []

    async def answer(request: Request) -> Completion:
        nonlocal written
        seen.append(client.under_way)
        await asyncio.sleep(0)
        written += 1
        if written == 1:
            raise CallFailed("lost", retryable=False)
        return Completion(content(request))

    client = Caching(answer)
    result = run(with_a_prefix(10), client, limits=UNLIMITED)
    assert seen[:2] == [1, 1]
    assert max(seen) > 1
    assert (result.made, result.failed) == (10, 1)


@pytest.mark.parametrize("throttled", [False, True])
def test_an_outage_does_not_make_calls_wait_for_each_other(throttled: bool) -> None:
    """A run is given up after ten failures, and each can take a minute to time out."""
    seen = []

    async def answer(_: Request) -> Completion:
        seen.append(client.under_way)
        await asyncio.sleep(0)
        raise CallFailed("no answer in time", retryable=False, throttled=throttled)

    client = Caching(answer)
    result = run(with_a_prefix(30), client, limits=UNLIMITED)
    assert result.ended == "fatal"
    assert seen[:2] == [1, 1]
    assert (max(seen) > 1) is not throttled


def with_a_prefix(fixtures: int) -> list[Trial]:
    shared = SharedPrefix(1, 9000)
    same = Message("system", "the same")
    trials = []
    for trial in heads(fixtures):
        messages = (same, *trial.request.messages)
        request = replace(trial.request, messages=messages, shared_prefix=shared)
        trials.append(replace(trial, request=request))
    return trials


def prefixed(model: str, prefix: str, number: int) -> Trial:
    """A trial of the model whose request begins with the prefix."""
    said = (Message("system", prefix), Message("user", f"{number}"))
    request = Request(model, said, {}, None, 0, shared_prefix=SharedPrefix(1, 9000))
    return Trial("c", f"{model} {prefix} {number}", "head", 0, request)


def test_each_prefix_of_each_model_has_one_call_that_goes_alone() -> None:
    """A cache belongs to one model. Calls with other prefixes do not wait for this call."""
    kinds = [(model, prefix) for model in ("m", "n") for prefix in ("a", "b")]
    started: list[tuple[str, str]] = []
    answered: list[tuple[str, str]] = []
    early: list[tuple[str, str]] = []

    async def answer(request: Request) -> Completion:
        kind = request.model, content(request)
        early.extend([kind] * (kind in started and kind not in answered))
        started.append(kind)
        for _ in range(5):
            await asyncio.sleep(0)
        answered.append(kind)
        return Completion("ok")

    client = Caching(answer)
    trials = [prefixed(*kind, number) for number in range(8) for kind in kinds]
    result = run(trials, client, limits=replace(UNLIMITED, concurrency=len(trials)))
    assert result.made == len(trials)
    assert early == []
    assert started[:4] == kinds
    assert client.most == len(trials) - len(kinds)


def test_a_prefix_that_the_provider_has_dropped_is_written_by_one_call_again() -> None:
    time = FakeTime()
    writer = PrefixWriter(Caching(), time)
    request = prefixed("m", "a", 1).request

    async def waits_for_another() -> bool:
        """Return whether a second call waits for a first one that is under way."""
        async with writer.turn(request):
            second = asyncio.create_task(enter())
            for _ in range(5):
                await asyncio.sleep(0)
            waited = not second.done()
        await second
        return waited

    async def enter() -> None:
        async with writer.turn(request):
            return

    async def main() -> None:
        assert await waits_for_another()
        for _ in range(3):  # each use keeps it for longer
            time.now += KEPT_SECONDS - 1
            assert not await waits_for_another()
        time.now += KEPT_SECONDS
        assert await waits_for_another()
        assert not await waits_for_another()

    asyncio.run(main())


def test_calls_that_are_not_cached_do_not_wait() -> None:
    client = Caching()
    run(heads(10), client, limits=UNLIMITED)
    assert client.most == UNLIMITED.concurrency
