"""The real image, started as GitHub's runner starts it and by the example workflow."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from container_lab import LAB, Lab
from git_repository import GitRepository
from github_fake import FakeGithub
from integration.openai_server import OpenAIServer
from pull_request import BROKEN, FILES, HARMLESS, PROMPT, PullRequest, answer

pytestmark = pytest.mark.container

ROOT = Path(__file__).parents[2]
TAG = "localhost/gatekeeper-end-to-end:latest"
RUNNER = 1001
"""The runner's user on GitHub's machines; the container is root."""
ACTION_FILES = ("action.yml", "Dockerfile", ".dockerignore", "pyproject.toml", "README.md")
ACTION_FOLDERS = ("docker", "gatekeeper", "requirements")
WORKFLOW = ".github/workflows/gate.yml"
HISTORY = """\
        with:
          history: .gatekeeper/history.jsonl
          contracts:"""
UPLOAD = """\
name: Stands in for actions/upload-artifact, which needs GitHub's own storage
inputs: {name: {}, path: {}, include-hidden-files: {}, if-no-files-found: {}}
runs:
  using: composite
  steps:
    - shell: bash
      run: echo "uploaded $(ls ${{ inputs.path }} | tr '\\n' ' ')"
"""
CACHE = """\
name: Stands in for actions/cache, which needs GitHub's own storage
inputs: {path: {}, key: {}, restore-keys: {}}
runs:
  using: composite
  steps:
    - shell: bash
      run: echo "cache at $(wc -l < ${{ inputs.path }} || echo 0) lines"
"""


@pytest.fixture(scope="module")
def image(lab: Lab) -> str:
    built = lab.run(str(LAB), "build", str(ROOT), TAG)
    assert built.returncode == 0, built.stderr
    return TAG


@pytest.fixture
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer(answer) as server:
        yield server


def start(
    lab: Lab, image: str, change: PullRequest, github: FakeGithub, model: OpenAIServer
) -> subprocess.CompletedProcess[str]:
    """As the runner does: its folders mounted, the workspace its own, no word about git."""
    folder = change.workspace.parent
    github.pull_request(7, change.head)
    given = change.environment(folder / "event.json", github.public_url)
    workspace = "/github/workspace"
    given |= {
        "OPENAI_BASE_URL": model.url,
        "HOME": "/github/home",
        "GITHUB_WORKSPACE": workspace,
        "GITHUB_EVENT_PATH": "/github/files/event.json",
        "GITHUB_OUTPUT": "/github/files/output",
        "GITHUB_STEP_SUMMARY": "/github/files/summary",
    }
    for path in (change.workspace, *change.workspace.rglob("*")):
        os.chown(path, RUNNER, RUNNER, follow_symlinks=False)
    variables = [f"--env={name}={value}" for name, value in given.items()]
    mounts = {
        str(change.workspace): workspace,
        str(folder): "/github/files",
        str(folder / "origin"): str(folder / "origin"),
    }
    volumes = [f"--volume={source}:{target}" for source, target in mounts.items()]
    return lab.run("podman", "run", "--rm", f"--workdir={workspace}", *variables, *volumes, image)


def test_the_image_judges_a_pull_request(
    lab: Lab, image: str, github: FakeGithub, model: OpenAIServer, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give the workspace to another user")
    broken = PullRequest.make(tmp_path / "broken", {PROMPT: BROKEN})
    done = start(lab, image, broken, github, model)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Do not merge" in github.comments[7][0].body

    harmless = PullRequest.make(tmp_path / "harmless", {PROMPT: HARMLESS})
    done = start(lab, image, harmless, github, model)
    assert done.returncode == 0, done.stdout + done.stderr
    (comment,) = github.comments[7]
    assert comment.edits == 1
    assert "May merge" in comment.body
    assert [s.state for s in github.statuses] == ["failure", "success"]

    written = [harmless.workspace / ".gatekeeper", *(harmless.workspace / ".gatekeeper").rglob("*")]
    assert {path.stat().st_uid for path in written} == {RUNNER}
    assert not list(harmless.workspace.rglob("*.pyc"))
    assert "\npass\n" in (harmless.workspace.parent / "output").read_text()


def test_nothing_of_the_checkout_is_executed(
    lab: Lab, image: str, github: FakeGithub, model: OpenAIServer, tmp_path: Path
) -> None:
    trap = "raise SystemExit('code of the pull request was run')\n"
    traps = dict.fromkeys(
        ("json.py", "litellm/__init__.py", "gatekeeper/__init__.py", "sitecustomize.py"), trap
    )
    change = PullRequest.make(tmp_path, {PROMPT: HARMLESS, **traps})
    done = start(lab, image, change, github, model)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_change_without_prompts_is_answered_at_once(
    lab: Lab, image: str, github: FakeGithub, model: OpenAIServer, tmp_path: Path
) -> None:
    change = PullRequest.make(tmp_path, {"README.md": "Another product.\n"})
    done = start(lab, image, change, github, model)
    assert done.returncode == 0, done.stdout + done.stderr
    assert model.requests == []
    assert github.comments[7] == []


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    """A repository that holds the action, the example workflow and a prompt."""
    made = GitRepository.create(tmp_path / "repository")
    for name in ACTION_FILES:
        shutil.copy(ROOT / name, made.path / name)
    for name in ACTION_FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, made.path / name, ignore=ignored)
    made.write(WORKFLOW, (ROOT / WORKFLOW).read_text())
    # act takes the name of the repository from here.
    made.git("remote", "add", "origin", "https://github.com/octo/prompts.git")
    made.commit("base", {path: text for path, text in FILES.items() if path != "README.md"})
    return made


def merged(repository: GitRepository, name: str, prompt: str) -> tuple[str, str, str]:
    """Base, head and merge of a new pull request; the merge is checked out."""
    base = repository.sha("main")
    repository.branch(name, "main")
    head = repository.commit(name, {PROMPT: prompt})
    repository.switch(base)
    return base, head, repository.merge(name)


def act(
    lab: Lab,
    event: str,
    payload: Mapping[str, object],
    repository: GitRepository,
    github: FakeGithub,
    model: OpenAIServer,
) -> subprocess.CompletedProcess[str]:
    folder = repository.path.parent
    for name, text in {"upload": UPLOAD, "cache/restore": CACHE, "cache/save": CACHE}.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "action.yml").write_text(text)
    (folder / "event.json").write_text(json.dumps(payload))
    workflow = (ROOT / WORKFLOW).read_text()
    upload, cache = (
        next(
            line.split("uses:")[1].split("#")[0].strip()
            for line in workflow.splitlines()
            if name in line
        )
        for name in ("actions/upload-artifact@", "actions/cache/save@")
    )
    return lab.run(
        str(LAB),
        "act",
        str(repository.path),
        str(folder / "event.json"),
        f"--workflows={WORKFLOW}",
        f"--local-repository={upload}={folder / 'upload'}",
        f"--local-repository={cache.replace('/save', '')}={folder / 'cache'}",
        f"--env=GITHUB_API_URL={github.public_url}",
        f"--env=OPENAI_BASE_URL={model.url}",
        "--secret=OPENAI_API_KEY=sk-0123456789abcdef",
        ACT_EVENT=event,
    )


def pull_request(base: str, head: str) -> dict[str, object]:
    side = {"repo": {"full_name": "octo/prompts"}}
    return {
        "action": "synchronize",
        "number": 7,
        "pull_request": {
            "number": 7,
            "base": {"ref": "main", "sha": base, **side},
            "head": {"ref": "change", "sha": head, **side},
        },
    }


def test_the_example_workflow(
    lab: Lab,
    image: str,
    repository: GitRepository,
    github: FakeGithub,
    model: OpenAIServer,
) -> None:
    base, head, _ = merged(repository, "broken", BROKEN)
    github.pull_request(7, head)
    done = act(lab, "pull_request", pull_request(base, head), repository, github, model)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Failure - Main ./" in done.stdout
    assert "comment.md junit.xml result.json samples.jsonl summary.md" in done.stdout
    assert "cache at 24 lines" in done.stdout
    assert "Do not merge" in github.comments[7][0].body
    assert [(s.sha, s.state) for s in github.statuses] == [(head, "failure")]

    base, head, merge = merged(repository, "harmless", HARMLESS)
    github.pull_request(7, head)
    done = act(lab, "pull_request", pull_request(base, head), repository, github, model)
    assert done.returncode == 0, done.stdout + done.stderr
    (comment,) = github.comments[7]
    assert comment.edits == 1
    assert "May merge" in comment.body

    group = {"merge_group": {"base_sha": base, "head_sha": merge}, "action": "checks_requested"}
    done = act(lab, "merge_group", group, repository, github, model)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (github.statuses[-1].sha, github.statuses[-1].state) == (merge, "success")

    calls = len(model.requests)
    inputs = {"inputs": {"contracts": "sentiment"}}
    done = act(lab, "workflow_dispatch", inputs, repository, github, model)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(model.requests) - calls == 24
    assert len(github.comments[7]) == 1

    measured_after_a_push(lab, repository, github, model)


def measured_after_a_push(
    lab: Lab, repository: GitRepository, github: FakeGithub, model: OpenAIServer
) -> None:
    """What a merge has brought is run on its own, and added to the history."""
    repository.switch("main")
    on_push = (ROOT / WORKFLOW).read_text().replace("  merge_group:\n", "  merge_group:\n  push:\n")
    with_history = on_push.replace("        with:\n          contracts:", HISTORY)
    assert with_history.count("history.jsonl") == 1
    before = repository.commit("history", {WORKFLOW: with_history})
    after = repository.commit("merged", {PROMPT: HARMLESS})
    payload = {
        "ref": "refs/heads/main",
        "before": before,
        "after": after,
        "repository": {"default_branch": "main"},
    }
    comments, calls = len(github.comments[7]), len(model.requests)
    done = act(lab, "push", payload, repository, github, model)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(model.requests) - calls == 24
    assert len(github.comments[7]) == comments
