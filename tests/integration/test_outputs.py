"""The outputs and inputs that action.yml declares are those that the action writes and reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import webhook_payloads as payloads
from support.bot_comments import CheckedPull
from support.pull_request import BROKEN, HARMLESS, PROMPT

Open = Callable[..., CheckedPull]

ROOT = Path(__file__).parents[2]
ACTION: Mapping[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())

CASES: Mapping[str, Mapping[str, str]] = {
    "broken prompt": {PROMPT: BROKEN},
    "harmless change": {PROMPT: HARMLESS},
    "no prompt": {"README.md": "Another product.\n"},
    "mistake": {"contracts/sentiment.yaml": "contract: 1\n"},
}


@pytest.mark.parametrize("case", CASES)
def test_a_pull_request_writes_what_is_declared(open_pull: Open, case: str) -> None:
    checked_pull = open_pull(CASES[case])
    checked_pull.run_check()
    found = set(checked_pull.job.outputs)
    assert found <= set(ACTION["outputs"])
    assert found >= {"verdict", "exit-code", "out", "comment-file", "comment-url"}
    if case != "mistake":  # nothing was evaluated, so that there is nothing else to name
        assert found == set(ACTION["outputs"])


@pytest.mark.parametrize("event", ["workflow_dispatch", "issue_comment"])
def test_so_does_every_other_event(open_pull: Open, event: str) -> None:
    """There is no comment of the gate's own to name."""
    checked_pull = open_pull({PROMPT: HARMLESS})
    if event == "issue_comment":
        checked_pull.say("/gatekeeper run sentiment")
    else:
        checked_pull.act(event, payloads.dispatch())
    assert set(checked_pull.job.outputs) == set(ACTION["outputs"]) - {"comment-url"}
