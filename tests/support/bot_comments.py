"""A comment on a pull request and the action that answers it, in this process.

    checked_pull = CheckedPull.make(tmp_path, github, model, monkeypatch, {PROMPT: BROKEN})
    checked_pull.say("/gatekeeper waive sentiment: it is meant")
    assert "Waived" in checked_pull.replies[-1]

Pauses between writes are left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.github_objects import FakeComment, FakeRun
from support.github_server import BOT, FakeGithub
from support.openai_server import OpenAIServer
from support.pull_request import FEW, PullRequest
from support.quick_github import leave_out_pauses

from gatekeeper.action import main as action

BEFORE, AFTER = "2026-01-02T03:04:00Z", "2026-01-02T03:06:00Z"
SAID = "2026-01-02T03:05:00Z"


@dataclass
class CheckedPull:
    """One pull request, number 7, whose gate ran once and ended red."""

    folder: Path
    github: FakeGithub
    change: PullRequest
    monkeypatch: pytest.MonkeyPatch

    @classmethod
    def make(
        cls,
        folder: Path,
        github: FakeGithub,
        model: OpenAIServer,
        monkeypatch: pytest.MonkeyPatch,
        files: Mapping[str, str],
        more: Mapping[str, str | bytes] | None = None,
        fixtures: int = FEW,
    ) -> CheckedPull:
        change = PullRequest.make(folder, files, more=more, fixtures=fixtures)
        github.pull_request(7, change.head, base_sha=change.base, merge_sha=change.merge)
        github.refs["heads/main"] = change.base
        github.roles |= {"maintainer": "maintain", "writer": "write"}
        github.runs.append(FakeRun(42, change.head, created_at=BEFORE))
        leave_out_pauses(monkeypatch)
        for name in [n for n in os.environ if n.startswith(("GITHUB_", "INPUT_"))]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        return cls(folder, github, change, monkeypatch)

    def act(self, name: str, payload: Mapping[str, Any], **inputs: str) -> int:
        """What the action ends with for an event."""
        event = self.folder / "event.json"
        environment = self.change.environment(event, self.github.url, **inputs)
        event.write_text(json.dumps(payload))
        for variable in [v for v in os.environ if v.startswith("INPUT_")]:
            self.monkeypatch.delenv(variable)
        for variable, value in (environment | {"GITHUB_EVENT_NAME": name}).items():
            self.monkeypatch.setenv(variable, value)
        return action.main()

    def run_check(self, **inputs: str) -> int:
        """The gate's own run on the pull request."""
        return self.act("pull_request", self.change.event(), **inputs)

    def say(self, body: str, author: str = "maintainer", **inputs: str) -> int:
        """Somebody comments, and the bot's workflow runs."""
        return self.again(self.github.comment(7, body, author), **inputs)

    def again(self, comment: FakeComment, time: str = SAID, **inputs: str) -> int:
        """The bot's workflow for a comment."""
        payload = {
            "action": "created",
            "repository": {"full_name": "octo/prompts"},
            "issue": {"number": 7, "pull_request": {"url": "x"}},
            "comment": {
                "id": comment.id,
                "body": comment.body,
                "created_at": time,
                "user": {"login": comment.author, "type": "User"},
            },
        }
        return self.act("issue_comment", payload, **inputs)

    @property
    def own(self) -> list[str]:
        """The bodies of the gate's own comments."""
        return [c.body for c in self.github.comments[7] if c.author == BOT]

    @property
    def reply(self) -> str:
        """The latest of them."""
        return self.own[-1]

    @property
    def reactions(self) -> list[str]:
        """The reactions to the comment that was answered last."""
        return self.github.reactions[max(self.github.reactions)]

    def result(self) -> dict[str, Any]:
        """result.json of the latest run."""
        path = self.change.workspace / ".gatekeeper/out/result.json"
        found: dict[str, Any] = json.loads(path.read_text())
        return found
