"""A process that was killed: another one goes on with its batches, and pays for none twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.anthropic_batch_server import AnthropicBatchServer
from support.batch_clients import AGAIN, Asking, failures, requests, texts
from support.batch_server import BatchServer
from support.native_clients import CLAUDE
from support.openai_batch_server import OpenAIBatchServer, unanswered


@pytest.fixture
def asking(tmp_path: Path) -> Asking:
    return Asking(tmp_path / "batches.jsonl")


def test_another_process_collects_a_batch_that_was_submitted(
    batch_provider: tuple[str, BatchServer], asking: Asking
) -> None:
    model, server = batch_provider
    asking.answers(requests(3, model))
    again = Asking(asking.journal)
    assert texts(again.answers(requests(3, model)[1:])) == ["1", "2"]
    assert len(server.batches) == 1
    assert again.submitted == 0


def test_another_process_finds_a_batch_by_its_key(
    openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    asking.answers(requests(3))
    forget_ids(asking.journal)
    again = Asking(asking.journal)
    assert texts(again.answers(requests(3))) == ["0", "1", "2"]
    assert len(openai_batches.batches) == 1


def test_another_process_submits_what_was_not(
    openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    asking.answers(requests(3))
    forget_ids(asking.journal)
    openai_batches.batches.clear()
    again = Asking(asking.journal)
    assert texts(again.answers(requests(3))) == ["0", "1", "2"]
    assert (again.submitted, again.possibly_paid_twice) == (1, 0)


def test_another_process_says_what_may_be_paid_twice(
    anthropic_batches: AnthropicBatchServer, asking: Asking
) -> None:
    asking.answers(requests(3, CLAUDE))
    forget_ids(asking.journal)
    again = Asking(asking.journal)
    assert texts(again.answers(requests(3, CLAUDE))) == ["0", "1", "2"]
    assert len(anthropic_batches.batches) == 2
    assert again.possibly_paid_twice == 3


def test_another_process_submits_again_what_was_refused(
    openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    openai_batches.status = "failed"
    asking.answers(requests(2))
    openai_batches.polled = lambda batch: setattr(
        openai_batches, "status", "failed" if batch.id == "batch_0" else "completed"
    )
    assert texts(Asking(asking.journal).answers(requests(2))) == ["0", "1"]
    assert len(openai_batches.batches) == 2


def test_another_process_asks_again_what_failed(
    openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    rows = openai_batches.rows
    openai_batches.rows = lambda batch: [unanswered(name) for name in batch.requests]
    asking.answers(requests(2))
    openai_batches.rows = rows
    openai_batches.rows = lambda batch: (
        rows(batch) if batch.id != "batch_0" else [unanswered(n) for n in batch.requests]
    )
    again = Asking(asking.journal)
    one, two = requests(2)
    assert failures(again.answers([one, two])) == [AGAIN] * 2
    assert len(openai_batches.batches) == 1
    third = Asking(asking.journal.with_name("new.jsonl"))
    assert texts(third.answers([one, two])) == ["0", "1"]


def test_another_process_reads_a_file_that_was_cut_short(
    openai_batches: OpenAIBatchServer, asking: Asking
) -> None:
    asking.answers(requests(2))
    asking.journal.write_bytes(asking.journal.read_bytes()[:-20])
    again = Asking(asking.journal)
    assert texts(again.answers(requests(2))) == ["0", "1"]
    assert texts(Asking(asking.journal).answers(requests(2))) == ["0", "1"]
    assert len(openai_batches.batches) == 1


def forget_ids(journal: Path) -> None:
    """Leave what a process leaves that was killed before it knew the ids."""
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join(line for line in lines if "submitted" not in line))
