"""The modes of a contract, from the file to the request and the report."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.answering_server import Answer, AnsweringServer
from support.edited_text import edited
from support.git_repository import GitRepository
from support.native_clients import CLAUDE, ask, asked, messages, point_at
from support.openai_server import OpenAIServer

from gatekeeper.cli.main import main
from gatekeeper.contract.values.trial import Completion

LABEL = "{type: enum, field: label, values: [good, bad]}"
EXPECTED = '{type: contains, value: "{{ expected }}"}'
CONTRACT = """\
contract: 1
name: labels
prompt: ../prompts/label.txt
model: MODEL
mode: MODE
fixtures: [{id: one, vars: {x: a}, expected: good}, {id: two, vars: {x: b}, expected: bad}]
checks: [CHECKS]
sampling: {samples: 1, mode: fixed}
"""


def written(mode: str, *checks: str, model: str = "openai/gpt-4o-mini") -> str:
    listed = ", ".join(checks or (LABEL, EXPECTED))
    return edited(CONTRACT, "MODEL", model, "MODE", mode, "CHECKS", listed)


class Checked:
    """The exit code, what the model was asked, and the files of the report."""

    def __init__(self, code: int, asked_of: list[Mapping[str, Any]], out: Path) -> None:
        self.code, self.asked, self.out = code, asked_of, out

    @property
    def contract(self) -> dict[str, Any]:
        result = json.loads((self.out / "result.json").read_text())
        return dict(result["contracts"][0])

    @property
    def comment(self) -> str:
        return (self.out / "comment.md").read_text()


CheckMode = Callable[..., Checked]


@pytest.fixture
def check_mode(
    git_repository: Callable[..., GitRepository], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> CheckMode:
    """Check a prompt that changed, under a contract with a mode; `head` may change the contract."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")

    def run(base: str, head: str | None = None) -> Checked:
        made = git_repository("labels")
        made.commit("base", {"prompts/label.txt": "Label {{ x }}", "contracts/l.yaml": base})
        made.branch("pr")
        made.commit(
            "head", {"prompts/label.txt": "Please label {{ x }}", "contracts/l.yaml": head or base}
        )
        bodies: list[Mapping[str, Any]] = []

        def answer(body: Mapping[str, Any]) -> str:
            bodies.append(body)
            return '{"label": "good"}'

        with OpenAIServer(answer):
            arguments = ["check", "--repo", str(made.path), "--base", "main", "--head", "pr"]
            code = main([*arguments, "--out", str(tmp_path / "out")])
        return Checked(code, bodies, tmp_path / "out")

    return run


SCHEMA = {
    "type": "object",
    "properties": {"label": {"enum": ["good", "bad"]}},
    "required": ["label"],
}


@pytest.mark.parametrize(("mode", "model"), [("enforce", "gpt-4o-mini"), ("auto", "gpt-4o-mini")])
def test_a_schema_made_of_the_checks_is_sent(check_mode: CheckMode, mode: str, model: str) -> None:
    checked = check_mode(written(mode, model=f"openai/{model}"))
    assert len(checked.asked) == 4
    for body in checked.asked:
        assert body["response_format"]["json_schema"]["schema"] == SCHEMA
        assert "output_requirements" not in str(body["messages"])
    found = checked.contract["mode"]
    assert (found["requested"], found["applied"], found["added"]) == (
        mode,
        "enforce",
        "response_format",
    )
    assert "response\\_format" in checked.comment or "response_format" in checked.comment


@pytest.mark.parametrize(("mode", "model"), [("assist", "gpt-4o-mini"), ("auto", "gpt-3.5-turbo")])
def test_the_checks_are_appended_as_text(check_mode: CheckMode, mode: str, model: str) -> None:
    checked = check_mode(written(mode, model=f"openai/{model}"))
    for body in checked.asked:
        (message,) = body["messages"]
        assert message["content"].count("<output_requirements>") == 1
        assert 'The field `label` is one of these: "good", "bad".' in message["content"]
        assert "expected" not in message["content"]
        assert "response_format" not in body
    found = checked.contract["mode"]
    assert (found["requested"], found["applied"], found["added"]) == (mode, "assist", "text")
    assert ("acts like `mode: assist`" in checked.comment) == (mode == "auto")


def test_auto_with_nothing_to_add_observes(check_mode: CheckMode) -> None:
    repairs = "repair: {steps: [lowercase]}\n"
    checked = check_mode(written("auto", "{type: latency, max_ms: 60000}") + repairs)
    assert {frozenset(body) for body in checked.asked} == {frozenset({"model", "messages", "seed"})}
    contract = checked.contract
    assert (contract["mode"]["applied"], contract["repairs"]) == ("observe", None)


@pytest.mark.parametrize(
    "base",
    [
        written("enforce", model="openai/gpt-3.5-turbo"),
        written("enforce", "{type: length, max: 9}"),
        written("enforce", "{type: enum, values: [good, bad]}"),
        written("assist", EXPECTED),
    ],
)
def test_with_a_mode_that_is_not_possible_nothing_is_tested(
    check_mode: CheckMode, base: str
) -> None:
    checked = check_mode(base)
    assert (checked.code, checked.asked) == (3, [])
    assert "is not possible" in checked.comment


def test_a_pull_request_cannot_hide_behind_a_mode(check_mode: CheckMode) -> None:
    checked = check_mode(written("repair"), written("assist"))
    contract = checked.contract
    assert "mode changed from repair to assist" in contract["weakened"]
    assert contract["under_base"]["contract_from"] == "base_settings"
    plain = [b for b in checked.asked if "output_requirements" not in str(b["messages"])]
    assert sorted(str(b["messages"][0]["content"]) for b in plain) == [
        "Label a",
        "Label b",
        "Please label a",
        "Please label b",
    ]


# Some of litellm's modules warn when they are imported, which would be taken for a failed call.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "block", "sent"),
    [
        (
            "anthropic/claude-3-haiku-20240307",
            {"type": "tool_use", "id": "1", "name": "json_tool_call", "input": {"label": "good"}},
            "tools",
        ),
        (CLAUDE, {"type": "text", "text": '{"label": "good"}'}, "output_format"),
    ],
)
def test_anthropic_answers_by_its_own_format_or_by_a_forced_tool(
    model: str, block: Any, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = {"type": "json_schema", "json_schema": {"name": "output", "schema": SCHEMA}}
    with AnsweringServer(Answer(200, messages(block, reason="tool_use"))) as server:
        point_at(server.url, monkeypatch)
        request = replace(asked(model, max_tokens=20, response_format=schema), seed=None)
        found = ask(request, through_litellm=False)
    assert isinstance(found, Completion)
    assert json.loads(found.text) == {"label": "good"}
    assert found.tool_calls == ()
    (request_sent,) = server.requests
    assert sent in request_sent.body
