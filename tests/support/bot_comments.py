"""A comment on a pull request and the action that answers it, in this process.

checked_pull = open_pull({PROMPT: BROKEN})  # a fixture
checked_pull.say("/gatekeeper waive sentiment: it is meant")
assert "Waived" in checked_pull.reply
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.action_job import Job
from support.github_objects import FakeComment, FakeRun
from support.github_server import BOT
from support.pull_request import FEW, PullRequest

BEFORE, AFTER = "2026-01-02T03:04:00Z", "2026-01-02T03:06:00Z"
SAID = "2026-01-02T03:05:00Z"


@dataclass
class CheckedPull:
    """One pull request, number 7, whose gate ran once and ended red."""

    job: Job
    change: PullRequest

    @classmethod
    def make(
        cls,
        job: Job,
        files: Mapping[str, str],
        more: Mapping[str, str | bytes] | None = None,
        fixtures: int = FEW,
        **fields: Any,
    ) -> CheckedPull:
        """`more` are files at base; `fields` are those of GitHub's pull request."""
        change = PullRequest.make(job.folder, files, more=more, fixtures=fixtures)
        github = job.github
        github.pull_request(7, change.head, base_sha=change.base, merge_sha=change.merge, **fields)
        github.refs["heads/main"] = change.base
        github.roles |= {"maintainer": "maintain", "writer": "write"}
        github.runs.append(FakeRun(42, change.head, created_at=BEFORE))
        return cls(job, change)

    @property
    def folder(self) -> Path:
        """Where the files of the job are."""
        return self.job.folder

    def act(self, name: str, payload: Mapping[str, Any], **inputs: str) -> int:
        """What the action ends with for an event."""
        return self.job.act(self.change, name, payload, **inputs)

    def run_check(self, more: Mapping[str, Any] | None = None, **inputs: str) -> int:
        """The gate's own run on the pull request, as `Job.run`."""
        return self.job.run(self.change, more, **inputs)

    def say(self, body: str, author: str = "maintainer", **inputs: str) -> int:
        """Somebody comments, and the bot's workflow runs."""
        return self.again(self.job.github.comment(7, body, author), **inputs)

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
        return [c.body for c in self.job.github.comments[7] if c.author == BOT]

    @property
    def reply(self) -> str:
        """The latest of them."""
        return self.own[-1]

    @property
    def reactions(self) -> list[str]:
        """The reactions to the comment that was answered last."""
        return self.job.github.reactions[max(self.job.github.reactions)]

    def result(self) -> dict[str, Any]:
        """result.json of the latest run."""
        path = self.change.workspace / ".gatekeeper/out/result.json"
        found: dict[str, Any] = json.loads(path.read_text())
        return found
