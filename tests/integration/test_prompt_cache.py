"""A check whose prompts Anthropic keeps: what is sent, in which order, and what is reported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.local_server import JsonHandler, LocalServer
from support.native_clients import counted, messages, point_at

from gatekeeper.contract.policies.policy import policy_in_force
from gatekeeper.contract.values.change import Change, MemoryRevision
from gatekeeper.gate.results.result import GateResult
from gatekeeper.gate.work import plan_check
from gatekeeper.reports.formats.result_json import result_document
from gatekeeper.runs.execute import execute
from gatekeeper.runs.run_plan import RunPlan

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


class CachingServer(LocalServer):
    """Keeps the system message that is marked from its first answer on, as Anthropic does."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self._kept: set[str] = set()
        server = self

        class Handler(JsonHandler):
            def do_POST(self) -> None:  # noqa: N802
                body = self.read_json()
                server.bodies.append(body)
                self.send(200, json.dumps(server.answer(body)).encode(), JSON)

        super().__init__(self.http(Handler))

    def answer(self, body: Any) -> Any:
        said = body["system"][0]
        found = said["text"] in self._kept
        counts = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        if "cache_control" in said:
            self._kept.add(said["text"])
            counts["cache_read_input_tokens" if found else "cache_creation_input_tokens"] = 1_500
        return messages(model="claude-sonnet-4-5", usage=counted(**counts))


JSON = {"Content-Type": "application/json"}


def check(base: str, head: str, monkeypatch: pytest.MonkeyPatch) -> tuple[GateResult, list[Any]]:
    change = Change(revision(base, "b"), revision(head, "c"))
    work = plan_check(change, policy_in_force(change)[0])
    with CachingServer() as server:
        point_at(server.url, monkeypatch)
        return execute(RunPlan(work=work, revisions=(change.base, change.head))), server.bodies


def marks(bodies: list[Any]) -> list[bool]:
    return ["cache_control" in body["system"][0] for body in bodies]


def test_both_arms_are_marked_and_the_report_has_what_was_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long = "Answer in one word. " * 400
    result, bodies = check(long, f"{long} Please.", monkeypatch)
    assert marks(bodies) == [True] * 24
    # One call of each arm writes, however many are under way, and the others read.
    assert result.calls.cache_write_tokens == 2 * 1_500
    assert result_document(result)["calls"]["cached_tokens"] == 22 * 1_500


def test_an_arm_is_not_marked_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    result, bodies = check("Answer in one word. " * 400, "Answer in one word.", monkeypatch)
    assert marks(bodies) == [False] * 24
    assert (result.calls.cached_tokens, result.calls.cache_write_tokens) == (0, 0)
