"""A real HTTP server that misbehaves: the verdict is right or `error`, never a wrong one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import pytest
from support import openai_server as faults
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import Fault, OpenAIServer
from support.recorded_repository import GOOD, csv

from gatekeeper.contract.policies.policy import Policy
from gatekeeper.gate.pipeline import RunContext, measure
from gatekeeper.gate.results.result import GateResult
from gatekeeper.gate.work import plan_check
from gatekeeper.git import Repository
from gatekeeper.providers import ModelRouter
from gatekeeper.sampling.retries import RetryPolicy

WORDS = tuple(f"word{i}" for i in range(40))
RETRY = RetryPolicy(attempts=2, first_wait_seconds=0.001, longest_wait_seconds=0.01)
CONTRACT = edited(
    GOOD,
    "recorded/contracts/words.samples.jsonl",
    "openai/test-model",
    "slo: {success_rate: 0.5}\n",
    "sampling: {mode: fixed}\n",
)
FAULTS: dict[str, Callable[[], Fault]] = {
    "429 with seconds": lambda: faults.rate_limited("1"),
    "429 with a date": lambda: faults.rate_limited(format_datetime(datetime.now(UTC), usegmt=True)),
    "429 without": lambda: faults.rate_limited(None),
    "500": faults.server_error,
    "503": lambda: faults.server_error(503),
    "hang": faults.hang,
    "close": faults.close_connection,
    "rubbish": faults.rubbish,
    "empty": lambda: faults.rubbish("{}"),
    "410": faults.gone,
    "401": faults.unauthorized,
}


@pytest.fixture
def repository(git_repository: Callable[..., GitRepository]) -> GitRepository:
    made = git_repository("words")
    made.write("contracts/words.yaml", CONTRACT)
    made.write("contracts/words.csv", csv(WORDS))
    made.write("prompts/words.txt", "Say {{ word }}")
    return made.propose({"prompts/words.txt": "Please say {{ word }}"})


def run_check(
    repository: GitRepository,
    answer: Callable[[str, int], str | Fault],
    monkeypatch: Any,
    timeout: float = 30,
) -> GateResult:
    """The verdict on a model that answers (message, how often it was asked) so."""
    retry = replace(RETRY, timeout_seconds=timeout)
    asked: dict[str, int] = {}

    def respond(body: dict[str, Any]) -> str | Fault:
        text = body["messages"][-1]["content"]
        asked[text] = asked.get(text, 0) + 1
        return answer(text, asked[text])

    async def run() -> GateResult:
        client = ModelRouter(lambda path: b"")
        try:
            return await measure(work, RunContext(client, retry=retry))
        finally:
            await client.aclose()

    with OpenAIServer(respond), Repository.open(repository.path) as opened:
        monkeypatch.setenv("OPENAI_API_KEY", "test-key")
        work = plan_check(opened.change("main", "pr"), Policy())
        return asyncio.run(run())


@pytest.mark.parametrize("fault", FAULTS)
def test_an_outage_could_not_measure(fault, repository, monkeypatch):
    timeout = 0.2 if fault == "hang" else 30
    result = run_check(repository, lambda text, n: FAULTS[fault](), monkeypatch, timeout)

    assert (result.verdict, result.exit_code) == ("error", 3)
    assert result.calls.failed > 0
    assert result.contracts[0].head.samples == 0


@pytest.mark.parametrize(
    "fault", ["429 with seconds", "429 with a date", "500", "close", "rubbish", "empty"]
)
def test_a_fault_that_passes_is_tried_again(fault, repository, monkeypatch):
    flaky = {f"Please say {word}" for word in WORDS[::8]}
    result = run_check(
        repository,
        lambda text, n: FAULTS[fault]() if text in flaky and n == 1 else "ok",
        monkeypatch,
    )

    assert result.verdict == "pass"
    assert result.calls.failed == 0
    assert result.calls.made == 80 + len(flaky)


@pytest.mark.parametrize("fault", ["500", "close", "rubbish"])
def test_a_few_lost_calls_leave_a_sure_answer_standing(fault, repository, monkeypatch):
    lost = {"Please say word7", "Say word9"}

    def broken(text: str, n: int) -> str | Fault:
        if text in lost:
            return FAULTS[fault]()
        return "no" if text.startswith("Please") else "ok"

    result = run_check(repository, broken, monkeypatch)

    (contract,) = result.contracts
    assert (result.verdict, result.exit_code) == ("fail", 1)
    assert contract.paired is not None
    assert (contract.paired.broke, contract.paired.unknown) == (38, 2)
    assert result.calls.failed == 2


def test_a_head_that_only_loses_calls_is_not_worse(repository, monkeypatch):
    lost = {f"Please say {word}" for word in WORDS[:8]}
    result = run_check(
        repository, lambda text, n: faults.server_error() if text in lost else "ok", monkeypatch
    )

    assert result.verdict == "error"
    assert {reason.code for reason in result.contracts[0].reasons} == {"error"}


def test_a_fixture_that_head_never_answers_is_not_known_to_work(repository, monkeypatch):
    """One of forty could not change the comparison of the suite, but it may be broken."""
    lost = {"Please say word3"}
    result = run_check(
        repository, lambda text, n: faults.server_error() if text in lost else "ok", monkeypatch
    )

    assert result.verdict == "error"
    assert any("`word3`" in reason.text for reason in result.contracts[0].reasons)
    assert result.contracts[0].paired.unknown == 1


def test_a_call_that_is_lost_once_does_not_stop_a_merge(repository, monkeypatch):
    """The call is made once more at the end, and its answer counts like any other."""
    lost = "Please say word3"
    # Each call is tried twice.
    result = run_check(
        repository,
        lambda text, n: faults.server_error() if text == lost and n <= 2 else "ok",
        monkeypatch,
    )

    assert result.verdict == "pass"
    assert (result.contracts[0].paired.unknown, result.calls.failed) == (0, 0)
