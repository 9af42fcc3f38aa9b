"""The action's nightly run in batches; a second attempt of the job pays for nothing twice."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import webhook_payloads as payloads
from support.bot_comments import CheckedPull
from support.git_repository import GitRepository
from support.native_clients import point_at
from support.openai_batch_server import OpenAIBatchServer
from support.openai_server import OpenAIServer
from support.pull_request import BROKEN, FEW, PROMPT, answer

from gatekeeper.action.inputs import read_settings
from gatekeeper.errors import UsageError
from gatekeeper.providers.batch import client as batch_client
from gatekeeper.runs.answers.files import UNFINISHED

NIGHT = {"schedule": "0 3 * * *"}


def said(body: Any) -> str:
    return answer({"messages": [{"content": body["messages"][-1]["content"]}]})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_client, "_QUIET_SECONDS", 0.02)
    monkeypatch.setattr(batch_client, "_FIRST_POLL_SECONDS", 0.01)


@pytest.fixture
def batches() -> Iterator[OpenAIBatchServer]:
    with OpenAIBatchServer(said) as running:
        yield running


@pytest.fixture
def nights(
    open_pull: Callable[..., CheckedPull],
    batches: OpenAIBatchServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., CheckedPull]:
    def make(more: dict[str, str | bytes] | None = None) -> CheckedPull:
        made = open_pull({PROMPT: BROKEN}, more)
        point_at(batches.url, monkeypatch)
        return made

    return make


def interrupt(pull: CheckedPull, batches: OpenAIBatchServer) -> None:
    """Run until the batch is polled for the first time, as if the job was cancelled then."""
    batches.polls = 1_000_000
    batches.polled = lambda batch: batch.polls == 1 and os.kill(os.getpid(), signal.SIGTERM)
    assert pull.act("schedule", NIGHT, batch="true") == 3
    batches.polls = 1


def out(pull: CheckedPull) -> Path:
    return pull.change.workspace / ".gatekeeper/out"


def test_a_scheduled_run_asks_all_in_one_batch(
    nights: Callable[..., CheckedPull], batches: OpenAIBatchServer
) -> None:
    pull = nights()
    pull.act("schedule", NIGHT, batch="true")
    (batch,) = batches.batches
    assert len(batch.requests) == FEW
    assert pull.result()["calls"]["made"] == FEW
    assert pull.result()["verdict"] != "error"
    assert not (out(pull) / UNFINISHED).exists()


def test_a_second_attempt_collects_what_the_first_one_submitted(
    nights: Callable[..., CheckedPull],
    batches: OpenAIBatchServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pull = nights()
    interrupt(pull, batches)
    assert (out(pull) / UNFINISHED).exists()
    pull.act("schedule", NIGHT, batch="true")
    assert len(batches.batches) == 1
    assert pull.result()["verdict"] != "error"
    assert not (out(pull) / UNFINISHED).exists()


def test_only_a_run_in_batches_deletes_the_answers_of_one(
    nights: Callable[..., CheckedPull],
    batches: OpenAIBatchServer,
    model: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pull = nights()
    interrupt(pull, batches)
    kept = (out(pull) / UNFINISHED).read_bytes()
    monkeypatch.setenv("OPENAI_BASE_URL", model.url)
    assert pull.run_check(batch="true") == 1
    assert pull.result()["verdict"] == "fail"
    pull.act("workflow_dispatch", payloads.dispatch(), batch="true")
    assert pull.result()["verdict"] != "error"
    assert (out(pull) / UNFINISHED).read_bytes() == kept


def test_the_answers_of_another_plan_are_refused(
    nights: Callable[..., CheckedPull], batches: OpenAIBatchServer
) -> None:
    pull = nights()
    interrupt(pull, batches)
    header, *rest = (out(pull) / UNFINISHED).read_text().splitlines()
    other = json.dumps(json.loads(header) | {"plan": "other"})
    (out(pull) / UNFINISHED).write_text("\n".join([other, *rest, ""]))
    assert pull.act("schedule", NIGHT, batch="true") == 2
    assert len(batches.batches) == 1
    assert (out(pull) / UNFINISHED).exists()


def test_answers_in_the_repository_are_refused(
    nights: Callable[..., CheckedPull], batches: OpenAIBatchServer
) -> None:
    pull = nights({f"somewhere/{UNFINISHED}": "{}\n"})
    assert pull.act("schedule", NIGHT, batch="true") == 2
    assert batches.batches == []


@pytest.mark.parametrize("place", [".gatekeeper", ".gatekeeper/out", ".Gatekeeper/Out"])
def test_answers_in_a_submodule_are_refused(
    place: str, nights: Callable[..., CheckedPull], batches: OpenAIBatchServer
) -> None:
    pull = nights()
    made = GitRepository(pull.change.workspace)
    made.git("update-index", "--add", "--cacheinfo", f"160000,{pull.change.base},{place}")
    made.git("commit", "--quiet", "--message", "bring a submodule")
    pull.change = replace(pull.change, merge=made.head())
    assert pull.act("schedule", NIGHT, batch="true") == 2
    assert batches.batches == []


def test_only_scheduled_runs_ask_in_batches(
    nights: Callable[..., CheckedPull],
    batches: OpenAIBatchServer,
    model: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pull = nights()
    monkeypatch.setenv("OPENAI_BASE_URL", model.url)
    before = len(model.requests)
    pull.act("workflow_dispatch", payloads.dispatch(), batch="true")
    assert len(model.requests) > before
    assert batches.batches == []


@pytest.mark.parametrize("written", ["yes", "1", "on"])
def test_an_input_that_is_neither_true_nor_false_is_refused(written: str) -> None:
    names = ("EVENT_NAME", "EVENT_PATH", "WORKSPACE", "REPOSITORY")
    step = {f"GITHUB_{name}": "/x/y" for name in names}
    with pytest.raises(UsageError, match="input batch"):
        read_settings(step | {"INPUT_BATCH": written})
