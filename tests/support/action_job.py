"""A job of the action in this process: real git, a GitHub and a model on 127.0.0.1.

The fixture `job` is one, and its GitHub has no pull request yet:

    github.pull_request(7, change.head)
    assert job.run(change, comment="always") == 0
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from support.github_server import FakeGithub
from support.pull_request import PullRequest
from support.quick_github import leave_out_pauses

from gatekeeper.action import main as action


@dataclass
class Job:
    """Runs the action for pull request 7, with more `variables`; `outputs` are those of the last
    run."""

    github: FakeGithub
    patch: pytest.MonkeyPatch
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, change: PullRequest, more: Mapping[str, Any] | None = None, **inputs: str) -> int:
        """Run it for an event; `more` are fields of its pull request, `before` is its own."""
        payload = change.event()
        for name, value in (more or {}).items():
            (payload if name == "before" else payload["pull_request"])[name] = value
        return self.act(change, "pull_request", payload, **inputs)

    def act(
        self, change: PullRequest, event: str, payload: Mapping[str, Any], **inputs: str
    ) -> int:
        """Run it for any event in the checkout of the pull request."""
        leave_out_pauses(self.patch)
        for name in [n for n in os.environ if n.startswith("INPUT_")]:
            self.patch.delenv(name)
        if (output := self.folder / "output").is_file():
            output.unlink()
        path = self.folder / "event.json"
        given = change.environment(path, self.github.url, **inputs) | {"GITHUB_EVENT_NAME": event}
        path.write_text(json.dumps(payload))
        for name, value in (given | self.variables).items():
            self.patch.setenv(name, value)
        return action.main()

    @property
    def outputs(self) -> Mapping[str, str]:
        """The outputs by their names."""
        lines = (self.folder / "output").read_text().splitlines()
        return {lines[at].split("<<")[0]: lines[at + 1] for at in range(0, len(lines), 3)}
