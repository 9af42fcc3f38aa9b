"""A model that answers with tool calls and no text, from the contract to every report."""

from __future__ import annotations

import base64
import csv
import gzip
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.edited_text import edited
from support.git_repository import GitRepository
from support.openai_server import OpenAIServer, Reply
from support.recorded_repository import check

KEY = "sk-0123456789abcdef"
TOOL = {
    "type": "function",
    "function": {"name": "refund", "parameters": {"type": "object", "properties": {}}},
}
CONTRACT = f"""\
contract: 1
name: refunds
prompt: ../prompts/refund.txt
model: openai/gpt-4o-mini
params: {{temperature: 0, tools: {json.dumps([TOOL])}, tool_choice: required}}
fixtures: [{{id: one, vars: {{x: a}}}}, {{id: two, vars: {{x: b}}}}]
checks: [{{type: contains, value: ok}}]
sampling: {{samples: 1, mode: fixed}}
"""


def answer(body: Mapping[str, Any]) -> Reply:
    arguments = json.dumps({"html": "<script>", "key": KEY})
    function = {"name": "refund", "arguments": arguments}
    if body["tools"] != [TOOL] or body["tool_choice"] != "required":
        return Reply("no tools")
    call = {"id": "call_1", "type": "function", "function": function}
    return Reply(None, finish_reason="tool_calls", tool_calls=[call])


@pytest.fixture
def proposed(
    git_repository: Callable[..., GitRepository], monkeypatch: pytest.MonkeyPatch
) -> GitRepository:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return git_repository("refunds").propose(
        {"prompts/refund.txt": "Please refund {{ x }}"},
        {"prompts/refund.txt": "Refund {{ x }}", "contracts/r.yaml": CONTRACT},
    )


def rows(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "samples.jsonl").read_text().splitlines()]


def test_calls_reach_every_report_and_a_replay(proposed: GitRepository, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with OpenAIServer(answer):
        check(proposed, first)
    found = rows(first)
    assert len(found) == 4
    hidden = {"html": "<script>", "key": "***"}
    for row in found:
        (call,) = row["tool_calls"]
        assert (call["name"], json.loads(call["arguments"])) == ("refund", hidden)
        assert (row["output_raw"], row["output"], row["finish_reason"]) == ("", "", "tool_calls")
    page = (first / "report.html").read_text()
    packed = re.search(r'<div id="packed" hidden>([^<]*)</div>', page)
    assert packed
    texts = json.loads(gzip.decompress(base64.b64decode(packed[1])))["texts"]
    assert any(text.startswith("tool call: refund(") for text in texts)
    with (first / "samples.csv").open(newline="") as table:
        assert all("refund" in row["tool_calls"] for row in csv.DictReader(table))
    for file in first.iterdir():
        assert KEY not in file.read_text(errors="replace")
    check(proposed, second, "--replay", str(first / "samples.jsonl"))
    assert [row["tool_calls"] for row in rows(second)] == [row["tool_calls"] for row in found]


def test_calls_are_escaped_in_markdown(proposed: GitRepository, tmp_path: Path) -> None:
    def worse(body: Mapping[str, Any]) -> Reply:
        return answer(body) if "Please" in str(body["messages"]) else Reply("ok")

    with OpenAIServer(worse):
        check(proposed, tmp_path / "out")
    comment = (tmp_path / "out" / "comment.md").read_text()
    assert "tool call: refund(" in comment
    assert re.search(r"<pre>[^`]*<script>|^<script>", comment, re.MULTILINE) is None
    assert KEY not in comment


def test_a_check_decides_by_the_calls_also_in_a_replay(
    proposed: GitRepository, tmp_path: Path
) -> None:
    by_calls = "{type: tool_call, tool: refund, arguments: {html: <script>}}"
    called = edited(CONTRACT, "{type: contains, value: ok}", by_calls)
    proposed.commit("check calls", {"contracts/r.yaml": called})
    first, second = tmp_path / "first", tmp_path / "second"
    with OpenAIServer(answer):
        check(proposed, first)
    check(proposed, second, "--replay", str(first / "samples.jsonl"))
    for out in (first, second):
        mine = [row for row in rows(out) if row["contract_from"] == "head"]
        passed = [each["passed"] for row in mine for each in row["checks"]]
        assert passed
        assert all(passed)
