"""A check whose prompts Anthropic keeps: what is sent, in which order, and what is reported."""

from __future__ import annotations

from typing import Any

import pytest
from support.answering_server import Answer, AnsweringServer
from support.native_clients import counted, messages, point_at

from gatekeeper.contract.change import Change, MemoryRevision
from gatekeeper.contract.policy import policy_in_force
from gatekeeper.gate.result import GateResult
from gatekeeper.gate.work import plan_check
from gatekeeper.reports.formats.result_json import result_document
from gatekeeper.run.session import measure

CONTRACT = """\
contract: 1
name: words
prompt: words.md
model: anthropic/claude-sonnet-4-5
params: {max_tokens: 20}
fixtures: [{file: words.csv}]
checks: [{type: contains, value: Hi}]
sampling: {samples: 1, mode: fixed}
"""
POLICY = b"limits: {cost_usd: 20, concurrency: 8}\n"


def revision(system: str, sha: str) -> MemoryRevision:
    words = "".join(f"id{n},word {n}\n" for n in range(12))
    files = {
        "contracts/words.yaml": CONTRACT,
        "contracts/words.md": f"system:\n{system}\n\nuser:\n{{{{ word }}}}\n",
        "contracts/words.csv": f"id,word\n{words}",
    }
    found = {path: text.encode() for path, text in files.items()}
    return MemoryRevision({**found, ".github/gatekeeper.yml": POLICY}, sha * 40)


def check(base: str, head: str, monkeypatch: pytest.MonkeyPatch) -> tuple[GateResult, list[Any]]:
    change = Change(revision(base, "b"), revision(head, "c"))
    work = plan_check(change, policy_in_force(change)[0])
    usage = counted(cache_creation_input_tokens=0, cache_read_input_tokens=1_500)
    answer = Answer(200, messages(model="claude-sonnet-4-5", usage=usage))
    with AnsweringServer(answer) as server:
        point_at(server.url, monkeypatch)
        result = measure(work, (change.base, change.head))
        return result, [request.body for request in server.requests]


def marks(bodies: list[Any]) -> list[bool]:
    return ["cache_control" in body["system"][0] for body in bodies]


def test_both_arms_are_marked_and_the_report_has_what_was_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long = "Answer in one word. " * 400
    result, bodies = check(long, f"{long} Please.", monkeypatch)
    assert marks(bodies) == [True] * 24
    # The two that write go first: one of each arm.
    assert len({body["system"][0]["text"] for body in bodies[:2]}) == 2
    assert result.calls.cached_tokens == 24 * 1_500
    assert result_document(result)["calls"]["cache_write_tokens"] == 0


def test_an_arm_is_not_marked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    _, bodies = check("Answer in one word. " * 400, "Answer in one word.", monkeypatch)
    assert marks(bodies) == [False] * 24
