"""The outputs and inputs that action.yml declares are those that the action writes and reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import webhook_payloads as payloads
from support.bot_comments import CheckedPull
from support.github_server import FakeGithub
from support.openai_server import OpenAIServer
from support.pull_request import BROKEN, HARMLESS, PROMPT

ROOT = Path(__file__).parents[2]
ACTION: Mapping[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())

CASES: Mapping[str, Mapping[str, str]] = {
    "broken prompt": {PROMPT: BROKEN},
    "harmless change": {PROMPT: HARMLESS},
    "no prompt": {"README.md": "Another product.\n"},
    "mistake": {"contracts/sentiment.yaml": "contract: 1\n"},
}


def written(checked_pull: CheckedPull) -> set[str]:
    text = (checked_pull.folder / "output").read_text()
    return set(re.findall(r"^([^\n<]+)<<gatekeeper_", text, re.MULTILINE))


@pytest.mark.parametrize("case", CASES)
def test_a_pull_request_writes_what_is_declared(
    github: FakeGithub,
    model: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    case: str,
) -> None:
    checked_pull = CheckedPull.make(tmp_path, github, model, monkeypatch, CASES[case])
    checked_pull.run_check()
    found = written(checked_pull)
    assert found <= set(ACTION["outputs"])
    assert found >= {"verdict", "exit-code", "out", "comment-file", "comment-url"}
    if case != "mistake":  # nothing was evaluated, so that there is nothing else to name
        assert found == set(ACTION["outputs"])


@pytest.mark.parametrize("event", ["workflow_dispatch", "issue_comment"])
def test_so_does_every_other_event(
    github: FakeGithub,
    model: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    event: str,
) -> None:
    """There is no comment of the gate's own to name."""
    checked_pull = CheckedPull.make(tmp_path, github, model, monkeypatch, {PROMPT: HARMLESS})
    if event == "issue_comment":
        checked_pull.say("/gatekeeper run sentiment")
    else:
        checked_pull.act(event, payloads.dispatch())
    assert written(checked_pull) == set(ACTION["outputs"]) - {"comment-url"}
