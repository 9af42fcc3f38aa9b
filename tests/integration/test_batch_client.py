"""Requests answered from batches of real servers: the same answers at half the price; faults."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.answering_server import Answer, AnsweringServer
from support.anthropic_batch_server import AnthropicBatchServer, errored, succeeded
from support.anthropic_batch_server import unanswered as not_answered
from support.batch_clients import AGAIN, BILLED, ENDS, NEVER, Asking, failures, requests, texts
from support.batch_server import BatchServer, Fault, Submitted
from support.event_loop import in_event_loop
from support.native_clients import (
    ANTHROPIC_KEY,
    CLAUDE,
    KEY,
    OPENAI,
    PRO,
    ask,
    chat,
    messages,
    point_at,
    response,
    spoken,
)
from support.openai_batch_server import OpenAIBatchServer, answered, unanswered

from gatekeeper.contract.values.trial import Completion
from gatekeeper.errors import CallFailed, NotRecorded
from gatekeeper.providers.batch import client as batch_client
from gatekeeper.providers.batch import transport
from gatekeeper.providers.batch.api import count_done
from gatekeeper.providers.http import response_body


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(tmp_path / "batches.jsonl")


def test_an_answer_of_a_batch_is_that_of_a_single_request_at_half_the_price(
    batch_provider: tuple[str, BatchServer], asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, server = batch_provider
    (found,) = asking.answers(requests(1, model))
    (batched,) = server.batches[0].requests.values()
    whole = chat("0") if model == OPENAI else messages({"type": "text", "text": "0"})
    with AnsweringServer(Answer(200, whole | {"model": batched["model"]})) as single:
        point_at(single.url, monkeypatch)
        alone = ask(requests(1, model)[0], through_litellm=False)
    assert isinstance(found, Completion)
    assert isinstance(alone, Completion)
    assert single.requests[0].body == batched
    assert found.cost_usd == pytest.approx((alone.cost_usd or 0) / 2)
    assert found.latency_ms is None
    assert dataclasses.replace(found, cost_usd=None) == dataclasses.replace(
        alone, cost_usd=None, latency_ms=None
    )


def test_what_arrives_together_is_one_batch_for_each_model(
    openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    asked = [*requests(3), *requests(2, "openai/gpt-4o")]
    found = asking.answers(
        [dataclasses.replace(r, params={"seed": i}) for i, r in enumerate(asked)]
    )
    # Names are those of the messages here, and so not told apart between the models.
    assert len(openai_batches.batches) == asking.submitted == 2
    assert texts(found) == ["0", "1", "2", "0", "1"]


def test_each_api_of_openai_has_its_own_batch(
    openai_batches: OpenAIBatchServer, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = {"type": "function", "function": {"name": "now"}}
    tools = {"tools": [tool], "reasoning_effort": "low"}
    asked = requests(4, "openai/gpt-5.4")
    asked[1:3] = [dataclasses.replace(request, params=tools) for request in asked[1:3]]
    found = asking.answers([*asked, *requests(1, PRO)])
    assert texts(found) == ["0", "1", "2", "3", "0"]
    assert len(openai_batches.batches) == 3
    with AnsweringServer(Answer(200, response(spoken("1"), model="gpt-5.4"))) as single:
        point_at(single.url, monkeypatch)
        alone = ask(asked[1], through_litellm=False)
    batched = found[1]
    assert isinstance(batched, Completion)
    assert isinstance(alone, Completion)
    assert batched.cost_usd == pytest.approx((alone.cost_usd or 0) / 2, rel=0.01)
    assert batched.reasoning_tokens == alone.reasoning_tokens == 64


def test_what_is_too_large_for_one_batch_is_several(
    openai_batches: OpenAIBatchServer, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_client, "MOST_ITEMS", 4)
    assert texts(asking.answers(requests(10))) == [str(n) for n in range(10)]
    assert sorted(len(batch.requests) for batch in openai_batches.batches) == [2, 4, 4]


def test_results_may_come_in_any_order_twice_or_for_nobody(
    batch_provider: tuple[str, BatchServer], asking: Asking
) -> None:
    model, server = batch_provider
    rows = server.rows

    def mixed(batch: Submitted) -> list[Any]:
        sound = rows(batch)
        other = rows(
            Submitted(
                "",
                {
                    name: {**b, "messages": [{"content": "say no"}]}
                    for name, b in batch.requests.items()
                },
            )
        )
        foreign = [{**row, "custom_id": "nobody"} for row in sound]
        rubbish: list[Any] = [[], 7, {"custom_id": 5}, {"custom_id": "x", "result": None}]
        return [*reversed(sound), *other, *foreign, *rubbish]

    server.rows = mixed
    if isinstance(server, OpenAIBatchServer):
        server.rows = lambda batch: [
            r for r in mixed(batch) if isinstance(r, dict) and "response" in r
        ]
    assert texts(asking.answers(requests(5, model))) == list("01234")


def test_half_of_a_batch_may_fail(openai_batches: OpenAIBatchServer, asking: Asking) -> None:
    rows = openai_batches.rows
    error = {"error": {"message": "no", "type": "server_error"}}
    openai_batches.rows = lambda batch: [
        row if place % 2 else answered(row["custom_id"], error, 500)
        for place, row in enumerate(rows(batch))
    ]
    found = asking.answers(requests(6))
    assert texts(found[1::2]) == ["1", "3", "5"]
    assert failures(found[::2]) == [AGAIN] * 3


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (lambda name: answered(name, {"error": {"message": "slow"}}, 429), AGAIN),
        (lambda name: answered(name, {"error": {"message": "Invalid value"}}, 400), NEVER),
        (lambda name: answered(name, {"error": {"message": "no such key"}}, 401), ENDS),
        (lambda name: answered(name, chat(None, None)), (True, False, True, False)),
        (lambda name: unanswered(name), AGAIN),
        (lambda name: unanswered(name, "batch_cancelled"), NEVER),
        (lambda name: unanswered("another"), BILLED),
    ],
)
def test_what_failed_in_openais_batch(
    row: Callable[[str], Any], kind: Any, openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    openai_batches.status = "expired"
    openai_batches.rows = lambda batch: [row(name) for name in batch.requests]
    assert failures(asking.answers(requests(1))) == [kind]


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        (lambda name: errored(name), AGAIN),
        (lambda name: errored(name, "overloaded_error"), AGAIN),
        (lambda name: errored(name, "invalid_request_error", "top_k: no"), NEVER),
        (lambda name: errored(name, "authentication_error"), ENDS),
        (lambda name: errored(name, "new_error"), AGAIN),
        (lambda name: not_answered(name), AGAIN),
        (lambda name: not_answered(name, "canceled"), NEVER),
        (lambda name: succeeded("another", messages()), BILLED),
    ],
)
def test_what_failed_in_anthropics_batch(
    row: Callable[[str], Any], kind: Any, anthropic_batches: AnthropicBatchServer, asking: Asking
) -> None:
    anthropic_batches.rows = lambda batch: [row(name) for name in batch.requests]
    assert failures(asking.answers(requests(1, CLAUDE))) == [kind]


def test_a_refused_input_is_an_answer(openai_batches: OpenAIBatchServer, asking: Asking) -> None:
    error = {"error": {"message": "filtered", "code": "content_filter"}}
    openai_batches.rows = lambda batch: [answered(name, error, 400) for name in batch.requests]
    (found,) = asking.answers(requests(1))
    assert isinstance(found, Completion)
    assert found.finish_reason == "content_filter"


def test_a_provider_that_is_busy_is_asked_again_when_it_says(
    batch_provider: tuple[str, BatchServer], asking: Asking
) -> None:
    model, server = batch_provider
    server.faults = {
        "POST batches": [Fault(429, {"Retry-After": "7"}), Fault(503)],
        "POST files": [Fault(500)],
    }
    assert texts(asking.answers(requests(2, model))) == ["0", "1"]
    assert len(server.batches) == 1
    assert 7.0 in asking.slept


def test_a_provider_that_stays_busy_fails_all_and_nothing_is_billed(
    batch_provider: tuple[str, BatchServer], asking: Asking
) -> None:
    model, server = batch_provider
    server.faults = {"POST batches": [Fault(429)] * 50}
    assert failures(asking.answers(requests(2, model))) == [AGAIN] * 2
    assert server.batches == []


def test_a_batch_whose_answer_was_lost_is_found_by_its_key(
    openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    openai_batches.faults = {"POST batches": [Fault(None, after=True)]}
    assert texts(asking.answers(requests(2))) == ["0", "1"]
    assert len(openai_batches.batches) == 1
    assert asking.possibly_paid_twice == 0


def test_a_batch_that_nobody_can_find_may_be_billed(
    anthropic_batches: AnthropicBatchServer, asking: Asking
) -> None:
    anthropic_batches.faults = {"POST batches": [Fault(None, after=True)]}
    assert failures(asking.answers(requests(2, CLAUDE))) == [BILLED] * 2
    assert asking.possibly_paid_twice == 2


def test_a_batch_that_is_refused_ends_the_run(
    openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    openai_batches.status = "failed"
    found = asking.answers(requests(2))
    assert failures(found) == [ENDS] * 2
    assert "Enqueued token limit reached" in str(found[0])
    assert asking.running == ()


def test_polls_become_rarer(batch_provider: tuple[str, BatchServer], asking: Asking) -> None:
    model, server = batch_provider
    server.polls = 14
    server.faults = {"GET batch_0": [Fault(500)], "GET msgbatch_0": [Fault(500)]}
    assert texts(asking.answers(requests(1, model))) == ["0"]
    pauses = [pause for pause in asking.slept if pause > 1]
    assert (pauses[0], max(pauses)) == (5, 120)
    assert pauses == sorted(pauses)


def test_the_wait_says_how_far_the_batches_are(
    openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    openai_batches.polls = 4
    asking.answers(requests(3))
    waits = "waiting for 1 batch"
    assert asking.waited == [
        f"{waits} of 3 requests",
        *(f"{waits}, {done} of 3 requests done" for done in (1, 2, 3)),
        "",
    ]


def test_a_provider_that_counts_nothing_is_waited_for_all_the_same(
    anthropic_batches: AnthropicBatchServer, asking: Asking
) -> None:
    anthropic_batches.polls = 2
    asking.answers(requests(3, CLAUDE))
    assert asking.waited == ["waiting for 1 batch of 3 requests"] * 2 + [""]


@pytest.mark.parametrize("counts", [None, 3, {}, {"completed": "2", "failed": 0}, {"completed": 1}])
def test_counts_that_are_none_are_not_shown(counts: Any) -> None:
    assert count_done({"request_counts": counts}, "completed", "failed") is None


def test_results_elsewhere_are_not_fetched(
    anthropic_batches: AnthropicBatchServer, asking: Asking
) -> None:
    with AnsweringServer(Answer()) as other:
        anthropic_batches.results_url = f"{other.url}/v1/messages/batches/msgbatch_0/results"
        found = asking.answers(requests(1, CLAUDE))
    assert failures(found) == [(False, True, True, False)]
    assert other.requests == []
    assert asking.running == ("msgbatch_0",)


@pytest.mark.parametrize("place", ["POST files", "POST batches", "GET batch_0", "GET content"])
def test_a_redirect_is_not_followed(
    place: str, openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    with AnsweringServer(Answer()) as other:
        openai_batches.faults = {place: [Fault(307, {"Location": f"{other.url}/v1/batches"})]}
        found = failures(asking.answers(requests(1)))
    assert found == [(False, False, place.startswith("GET"), False)]
    assert other.requests == []


def test_results_are_read_line_by_line_however_many(
    openai_batches: OpenAIBatchServer, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "x" * 100_000
    monkeypatch.setattr(response_body, "MAX_BYTES", 200_000)
    rows = openai_batches.rows
    openai_batches.rows = lambda batch: [
        answered(row["custom_id"], chat(long)) for row in rows(batch)
    ]
    assert texts(asking.answers(requests(30))) == [long] * 30


def test_one_result_has_a_limit(
    openai_batches: OpenAIBatchServer, asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MAX_BYTES", 1_000)
    rows = openai_batches.rows
    openai_batches.rows = lambda batch: [
        row if place < 2 else answered(row["custom_id"], chat("x" * 2_000))
        for place, row in enumerate(rows(batch))
    ]
    found = asking.answers(requests(4))
    assert texts(found[:2]) == ["0", "1"]
    assert failures(found[2:]) == [(False, False, True, False)] * 2


def test_the_key_goes_to_the_provider_alone(
    batch_provider: tuple[str, BatchServer], asking: Asking
) -> None:
    model, server = batch_provider
    asking.answers(requests(1, model))
    key = KEY if model == OPENAI else ANTHROPIC_KEY
    assert all(key in json.dumps(headers) for headers in server.headers)
    assert key not in asking.journal.read_text()
    assert not any(key in line for line in server.log)


@in_event_loop
async def test_each_request_fails_with_a_failure_of_its_own() -> None:
    throttled = CallFailed("slow", retryable=True, retry_after=3.0, throttled=True)
    for failure in (throttled, NotRecorded("no answer", "samples.jsonl")):
        answers = [asyncio.get_running_loop().create_future() for _ in range(2)]
        batch_client.fail_all(answers, failure)
        first, second = (answer.exception() for answer in answers)
        assert first is not second
        assert failures([first, second]) == [(failure.retryable, False, False, False)] * 2
        assert str(first) == str(failure)
