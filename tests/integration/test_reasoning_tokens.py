"""Tokens that a model used for its reasoning: from the provider's answer to every report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.answering_server import Answer, AnsweringServer
from support.native_clients import chat, point_at, used

from gatekeeper.contract.policies.policy import policy_in_force
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.gate.results.result import GateResult
from gatekeeper.gate.work import plan_check
from gatekeeper.reports.formats.read_samples import read_run
from gatekeeper.reports.formats.result_json import result_document
from gatekeeper.reports.formats.samples import sample_document
from gatekeeper.reports.words.call_counts import describe_calls
from gatekeeper.runs.execute import execute
from gatekeeper.runs.run_plan import RunPlan

CONTRACT = """\
contract: 1
name: words
prompt: words.md
model: openai/gpt-5-mini
params: {max_tokens: 200}
fixtures: [{id: a, vars: {word: one}}, {id: b, vars: {word: two}}]
checks: [{type: contains, value: Hi}]
sampling: {samples: 1, mode: fixed}
"""
CALLS = 4


def revision(said: str, sha: str) -> MemoryRevision:
    files = {"contracts/words.yaml": CONTRACT, "contracts/words.md": f"{said} {{{{ word }}}}\n"}
    return MemoryRevision({path: text.encode() for path, text in files.items()}, sha * 40)


def check(replay: Path | None = None) -> GateResult:
    change = Change(revision("Greet", "b"), revision("Greet again", "c"))
    work = plan_check(change, policy_in_force(change)[0], order_seed="1" * 32)
    return execute(RunPlan(work=work, revisions=(change.base, change.head), replay=replay))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AnsweringServer]:
    with AnsweringServer(answer({"reasoning_tokens": 64})) as running:
        point_at(running.url, monkeypatch)
        yield running


def answer(details: Any) -> Answer:
    return Answer(200, chat(usage=used(1000, 100, completion_tokens_details=details)))


def test_they_reach_the_result_the_samples_and_a_replay(
    server: AnsweringServer, tmp_path: Path
) -> None:
    server.answer = answer({"reasoning_tokens": 64})
    result = check()
    assert result_document(result)["calls"]["reasoning_tokens"] == CALLS * 64
    assert "256 output tokens used for reasoning" in describe_calls(result.calls)
    rows = [sample_document(outcome) for outcome in result.outcomes]
    assert [row["reasoning_tokens"] for row in rows] == [64] * CALLS
    file = tmp_path / "samples.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    replayed = check(file)
    for found in (replayed.outcomes, read_run(file).outcomes):
        completions = [outcome.sample.completion for outcome in found]
        assert [c.reasoning_tokens for c in completions if c] == [64] * CALLS
    # Only what this run paid for is in its bill.
    assert replayed.calls.reasoning_tokens is None


def test_a_provider_that_does_not_count_them_leaves_no_trace(server: AnsweringServer) -> None:
    server.answer = answer(None)
    result = check()
    assert result_document(result)["calls"]["reasoning_tokens"] is None
    assert all("reasoning_tokens" not in sample_document(o) for o in result.outcomes)
    assert "reasoning" not in describe_calls(result.calls)
