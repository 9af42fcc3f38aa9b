"""A batch server that breaks down, or lies: nothing is paid for twice, and no run is endless."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.anthropic_batch_server import AnthropicBatchServer
from support.batch_clients import Asking, name_of, open_journal, requests, texts
from support.batch_fixtures import last_word
from support.batch_server import BatchServer, Fault
from support.native_clients import ANTHROPIC_KEY, CLAUDE, KEY, OPENAI, point_at
from support.openai_batch_server import OpenAIBatchServer

from gatekeeper.errors import CallFailed, MeasurementError
from gatekeeper.providers.batch import client as client_module
from gatekeeper.providers.batch.client import BatchClient

OUTAGE = [Fault(503)] * 8
"""Until every attempt of one request has failed."""


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(tmp_path / "batches.jsonl", attempts=3)


@pytest.mark.parametrize("place", ["GET batch_0", "GET content"])
def test_an_outage_while_a_batch_runs_asks_nothing_twice(
    place: str, openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    openai_batches.faults = {place: list(OUTAGE)}
    assert texts(asking.answers(requests(3))) == ["0", "1", "2"]
    assert len(openai_batches.batches) == asking.submitted == 1


def test_an_outage_at_anthropic_asks_nothing_twice(
    monkeypatch: pytest.MonkeyPatch, asking: Asking
) -> None:
    with AnthropicBatchServer(last_word) as server:
        point_at(server.url, monkeypatch)
        server.faults = {"GET msgbatch_0": list(OUTAGE), "GET results": list(OUTAGE)}
        assert texts(asking.answers(requests(3, CLAUDE))) == ["0", "1", "2"]
    assert len(server.batches) == 1


def test_a_lost_submission_is_looked_for_until_the_provider_answers(
    openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    openai_batches.faults = {"POST batches": [Fault(None, after=True)], "GET batches": list(OUTAGE)}
    assert texts(asking.answers(requests(3))) == ["0", "1", "2"]
    assert len(openai_batches.batches) == 1
    assert asking.possibly_paid_twice == 0


@pytest.mark.parametrize("place", ["GET batch_0", "GET content", "GET batches"])
def test_an_outage_without_end_ends_the_run(
    place: str, openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    openai_batches.faults = {"POST batches": [Fault(None, after=True)], place: OUTAGE * 100}
    found = asking.answers(requests(3))
    assert all(isinstance(one, CallFailed) and one.fatal and one.billable for one in found)
    assert len(openai_batches.batches) == 1
    openai_batches.faults = {}
    assert texts(Asking(asking.journal).answers(requests(3))) == ["0", "1", "2"]
    assert len(openai_batches.batches) == 1


def test_an_interruption_waits_for_the_id_of_a_batch(
    monkeypatch: pytest.MonkeyPatch, asking: Asking
) -> None:
    taken, interrupted = threading.Event(), threading.Event()

    def wait(request: str) -> None:
        if request == "POST batches":
            taken.set()
            interrupted.wait(60)

    async def interrupt() -> Mapping[str, str]:
        with open_journal(asking.journal) as journal:
            client = BatchClient(journal, name_of)
            call = asyncio.create_task(client.complete(requests(1, CLAUDE)[0]))
            await asyncio.to_thread(taken.wait, 60)
            call.cancel()
            closing = asyncio.create_task(client.aclose())
            await asyncio.wait([call])
            interrupted.set()
            await closing
            return client.running

    with AnthropicBatchServer(last_word) as server:
        point_at(server.url, monkeypatch)
        monkeypatch.setattr(client_module, "_QUIET_SECONDS", 0.01)
        server.asked = wait
        assert list(asyncio.run(interrupt())) == ["msgbatch_0"]
        assert texts(asking.answers(requests(1, CLAUDE))) == ["0"]
    assert len(server.batches) == 1
    assert asking.possibly_paid_twice == 0


@pytest.mark.parametrize("pages", ["endless", "no list", "no list of documents"])
def test_a_list_that_does_not_end_is_no_proof_that_there_is_no_batch(
    pages: str, openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    shown: Any = {
        "endless": {"data": [{"id": "other"}] * 100, "has_more": True},
        "no list": {"data": "none"},
        "no list of documents": {"data": [7], "has_more": True},
    }[pages]
    asking.attempts = 1
    openai_batches.faults = {"POST batches": [Fault(None, after=True)]}
    openai_batches.shown_list = shown
    found = asking.answers(requests(3))
    assert all(isinstance(one, CallFailed) and one.billable for one in found)
    assert asking.possibly_paid_twice == 3
    assert len(openai_batches.log) < 40


@pytest.mark.parametrize("name", ["x" * 300, "\ud800", "", None, 7, ["a"], "KEY"])
def test_an_id_that_is_none_is_a_failed_call(
    name: Any, batch_provider: tuple[str, BatchServer], asking: Asking
) -> None:
    model, server = batch_provider
    asking.attempts = 1
    key = KEY if model == OPENAI else ANTHROPIC_KEY
    server.name_batch = lambda _: f"batch_{key}" if name == "KEY" else name
    found = asking.answers(requests(2, model))
    assert all(isinstance(one, CallFailed) and one.billable for one in found)
    assert key not in asking.journal.read_text()
    assert len(asking.journal.read_text()) < 2_000


@pytest.mark.parametrize("status", ["paused", None, 7, "x" * 9_000])
def test_a_status_that_is_not_known_is_no_reason_to_ask_again(
    status: Any, openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    openai_batches.status = status
    for again in (asking, Asking(asking.journal, attempts=3)):
        found = again.answers(requests(3))
        assert all(isinstance(one, CallFailed) and one.fatal and one.billable for one in found)
        assert again.running == ("batch_0",)
    assert len(openai_batches.batches) == 1
    openai_batches.status = "completed"
    assert texts(Asking(asking.journal).answers(requests(3))) == ["0", "1", "2"]


@pytest.mark.long
def test_an_ended_batch_without_results_is_not_asked_again(
    monkeypatch: pytest.MonkeyPatch, asking: Asking
) -> None:
    with AnthropicBatchServer(last_word) as server:
        point_at(server.url, monkeypatch)
        monkeypatch.setattr(
            server, "_shown", lambda batch, ended=False: {"id": "m", "processing_status": "ended"}
        )
        for again in (asking, Asking(asking.journal, attempts=3)):
            found = again.answers(requests(3, CLAUDE))
            assert all(isinstance(one, CallFailed) and one.fatal for one in found)
    assert len(server.batches) == 1


def test_a_completed_batch_without_files_is_asked_three_times_and_counted(
    openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    openai_batches.rows = lambda batch: []
    found = asking.answers(requests(3))
    assert all(isinstance(one, CallFailed) and one.billable for one in found)
    assert len(openai_batches.batches) == asking.attempts


def test_a_batch_that_cannot_be_noted_is_named_with_the_way_to_cancel_it(
    batch_provider: tuple[str, BatchServer], asking: Asking
) -> None:
    model, server = batch_provider

    def fill_the_disk(request: str) -> None:
        if request == "POST batches":
            asking.journal.unlink()
            asking.journal.mkdir()

    server.asked = fill_the_disk
    found = asking.answers(requests(3, model))
    (batch,) = server.batches
    assert all(isinstance(one, MeasurementError) for one in found)
    assert all(f"{batch.id}/cancel" in str(one) for one in found)


def test_a_line_of_a_million_objects_is_not_read(
    openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    rows = openai_batches.rows
    bomb: Any = {"custom_id": "openai-0", "response": {"status_code": 200, "body": [{}] * 10**6}}
    openai_batches.rows = lambda batch: [bomb, *rows(batch)]
    assert texts(asking.answers(requests(2))) == ["0", "1"]


@pytest.mark.parametrize("file", [7, ["a"], {"a": 1}, "x" * 300, "\ud800"])
def test_a_file_that_is_none_is_a_failed_call(
    file: Any, openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    asking.attempts = 1
    openai_batches.output_file = file
    found = asking.answers(requests(2))
    assert all(isinstance(one, CallFailed) for one in found)
    assert asking.running == ("batch_0",)


@pytest.mark.parametrize("file", ["../../x", "..", "a?b#c", "a\r\nHost: elsewhere"])
def test_an_id_is_one_part_of_an_address(
    file: str, openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    asking.attempts = 1
    openai_batches.output_file = file
    found = asking.answers(requests(2))
    assert all(isinstance(one, CallFailed) for one in found)
    assert not any(line.split()[-1].rsplit("/", 1)[-1] == "x" for line in openai_batches.log)
