"""A job of the action in this process: real git, a GitHub and a model on 127.0.0.1.

@pytest.fixture
def job(github, model, monkeypatch, tmp_path) -> Job:
    return Job(github, model.url, monkeypatch, tmp_path)

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
    model: str
    patch: pytest.MonkeyPatch
    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, change: PullRequest, more: Mapping[str, Any] | None = None, **inputs: str) -> int:
        """Run it for an event; `more` are fields of its pull request, `before` is its own."""
        for name in [n for n in os.environ if n.startswith(("GITHUB_", "INPUT_"))]:
            self.patch.delenv(name)
        leave_out_pauses(self.patch)
        path = self.folder / "event.json"
        (self.folder / "output").unlink(missing_ok=True)
        given = change.environment(path, self.github.url, **inputs)
        for name, value in (given | {"OPENAI_BASE_URL": self.model} | self.variables).items():
            self.patch.setenv(name, value)
        payload = change.event()
        for name, value in (more or {}).items():
            (payload if name == "before" else payload["pull_request"])[name] = value
        path.write_text(json.dumps(payload))
        return action.main()

    @property
    def outputs(self) -> Mapping[str, str]:
        """The outputs by their names."""
        lines = (self.folder / "output").read_text().splitlines()
        return {lines[at].split("<<")[0]: lines[at + 1] for at in range(0, len(lines), 3)}
