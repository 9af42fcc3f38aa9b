"""What GitHub's runner does with the action: starts the image, or runs a whole workflow.

    runner.start(change)                                  the image alone, on a pull request
    runner.act("pull_request", payload, repository, text)  a workflow, under nektos/act

In workflows `OWNER/gatekeeper@COMMIT` is the action of a release: it names the image by digest.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.container_lab import LAB, Lab
from support.git_repository import GitRepository
from support.github_server import FakeGithub
from support.openai_server import OpenAIServer
from support.pull_request import PullRequest

ROOT = Path(__file__).parents[2]
PUBLISHED = "OWNER/gatekeeper@COMMIT"
USER = 1001
"""The runner's user on GitHub's machines; the container is root."""
KEY = "sk-0123456789abcdef"
WORKFLOW = ".github/workflows/workflow.yml"
CACHE = """\
name: Stands in for actions/cache, which needs GitHub's own storage and finds nothing
inputs: {path: {}, key: {}, restore-keys: {}}
runs:
  using: composite
  steps:
    - shell: bash
      run: "true"
"""
UPLOAD = """\
name: Stands in for actions/upload-artifact, which needs GitHub's own storage
inputs: {name: {}, path: {}, include-hidden-files: {}, if-no-files-found: {}}
runs:
  using: composite
  steps:
    - shell: bash
      run: echo "uploaded $(ls ${{ inputs.path }} | tr '\\n' ' ')"
"""

Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Runner:
    """A machine with the image; GitHub and a model are reached from it."""

    lab: Lab
    image: str
    action: Path
    """A folder with the action.yml of a release."""
    github: FakeGithub
    model: OpenAIServer

    def start(
        self,
        change: PullRequest,
        event: str = "pull_request",
        payload: Mapping[str, Any] | None = None,
        **changed: str,
    ) -> Done:
        """The image, as for a docker action: the runner's folders mounted, the workspace its own,
        no word about git. `changed` replaces variables of the step."""
        folder = change.workspace.parent
        given = change.environment(folder / "event.json", self.github.public_url)
        if payload is not None:
            (folder / "event.json").write_text(json.dumps(payload))
        workspace = "/github/workspace"
        given |= {
            "OPENAI_BASE_URL": self.model.url,
            "HOME": "/github/home",
            "GITHUB_EVENT_NAME": event,
            "GITHUB_WORKSPACE": workspace,
            "GITHUB_EVENT_PATH": "/github/files/event.json",
            "GITHUB_OUTPUT": "/github/files/output",
            "GITHUB_STEP_SUMMARY": "/github/files/summary",
        }
        for path in (change.workspace, *change.workspace.rglob("*")):
            os.chown(path, USER, USER, follow_symlinks=False)
        mounts = {
            str(change.workspace): workspace,
            str(folder): "/github/files",
            str(folder / "origin"): str(folder / "origin"),
        }
        return self.lab.run(
            "podman",
            "run",
            "--rm",
            f"--workdir={workspace}",
            *(f"--env={name}={value}" for name, value in (given | changed).items()),
            *(f"--volume={source}:{target}" for source, target in mounts.items()),
            self.image,
        )

    def act(
        self,
        event: str,
        payload: Mapping[str, Any],
        repository: GitRepository,
        *options: str,
        workflow: str = WORKFLOW,
    ) -> Done:
        """The workflow of that name in the repository, which is what actions/checkout gives."""
        folder = repository.path.parent
        (folder / "upload").mkdir(exist_ok=True)
        (folder / "upload" / "action.yml").write_text(UPLOAD)
        for part in ("restore", "save"):
            (folder / "cache" / part).mkdir(parents=True, exist_ok=True)
            (folder / "cache" / part / "action.yml").write_text(CACHE)
        (folder / "event.json").write_text(json.dumps(payload))
        workflows = (repository.path / ".github/workflows").glob("*.yml")
        text = "".join(path.read_text() for path in workflows)  # one may call another
        instead = {PUBLISHED: self.action}
        instead |= dict.fromkeys(
            re.findall(r"actions/upload-artifact@\w+", text), folder / "upload"
        )
        caches = re.findall(r"actions/cache/\w+@(\w+)", text)
        instead |= {f"actions/cache@{commit}": folder / "cache" for commit in caches}
        return self.lab.run(
            str(LAB),
            "act",
            str(repository.path),
            str(folder / "event.json"),
            f"--workflows={workflow}",
            *(f"--local-repository={name}={place}" for name, place in instead.items()),
            f"--env=GITHUB_API_URL={self.github.public_url}",
            f"--env=OPENAI_BASE_URL={self.model.url}",
            *options,
            ACT_EVENT=event,
        )
