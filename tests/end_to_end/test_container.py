"""The real image, started as GitHub's runner starts it and by the example workflow."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from end_to_end.runner import KEY, PUBLISHED, ROOT, USER, WORKFLOW, Runner
from support import webhook_payloads as payloads
from support.edited_text import edited
from support.git_repository import GitRepository
from support.machine_needs import ROOT_USER
from support.pull_request import BROKEN, FILES, HARMLESS, PROMPT, PullRequest

pytestmark = pytest.mark.container

ACTION_FILES = ("action.yml", "Dockerfile", ".dockerignore", "pyproject.toml", "README.md")
ACTION_FOLDERS = ("docker", "gatekeeper", "requirements")
EXAMPLE = (ROOT / ".github/workflows/gate.yml").read_text()
CALLED = ".github/workflows/prompt-gate.yml"
SECRET = f"--secret=OPENAI_API_KEY={KEY}"
HISTORY = """\
        with:
          history: .gatekeeper/history.jsonl
          contracts:"""
TRAPS = dict.fromkeys(
    ("json.py", "litellm/__init__.py", "gatekeeper/__init__.py", "sitecustomize.py"),
    "raise SystemExit('code of the pull request was run')\n",
)


def test_the_image_checks_a_pull_request(runner: Runner, tmp_path: Path) -> None:
    ROOT_USER.require()
    broken = PullRequest.make(tmp_path / "broken", {PROMPT: BROKEN})
    runner.github.pull_request(7, broken.head)
    done = runner.start(broken)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Do not merge" in runner.github.comments[7][0].body

    # Nothing of what is checked out is executed.
    harmless = PullRequest.make(tmp_path / "harmless", {PROMPT: HARMLESS, **TRAPS})
    runner.github.pull_request(7, harmless.head)
    done = runner.start(harmless)
    assert done.returncode == 0, done.stdout + done.stderr
    (comment,) = runner.github.comments[7]
    assert comment.edits == 1
    assert "May merge" in comment.body
    assert [s.state for s in runner.github.verdicts] == ["failure", "success"]

    written = [harmless.workspace / ".gatekeeper", *(harmless.workspace / ".gatekeeper").rglob("*")]
    assert {path.stat().st_uid for path in written} == {USER}
    assert not list(harmless.workspace.rglob("*.pyc"))
    assert "\npass\n" in (harmless.workspace.parent / "output").read_text()


def test_a_change_without_prompts_is_answered_at_once(runner: Runner, tmp_path: Path) -> None:
    change = PullRequest.make(tmp_path, {"README.md": "Another product.\n"})
    runner.github.pull_request(7, change.head)
    done = runner.start(change)
    assert done.returncode == 0, done.stdout + done.stderr
    assert runner.model.requests == []
    assert runner.github.comments[7] == []


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    """A prompt, its contract and the example workflow, with the action of a release."""
    made = GitRepository.create(tmp_path / "repository")
    # act takes the name of the repository from here.
    made.git("remote", "add", "origin", "https://github.com/octo/prompts.git")
    made.commit("base", {**FILES, WORKFLOW: edited(EXAMPLE, "uses: ./", f"uses: {PUBLISHED}")})
    return made


def merged(repository: GitRepository, name: str, prompt: str) -> tuple[str, str, str]:
    """Base, head and merge of a new pull request; the merge is checked out."""
    base = repository.sha("main")
    repository.branch(name, "main")
    head = repository.commit(name, {PROMPT: prompt})
    repository.switch(base)
    return base, head, repository.merge(name)


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


def test_a_merge_group_and_a_dispatch(runner: Runner, repository: GitRepository) -> None:
    github, model = runner.github, runner.model
    base, _, merge = merged(repository, "harmless", HARMLESS)
    group = {"merge_group": {"base_sha": base, "head_sha": merge}, "action": "checks_requested"}
    done = runner.act("merge_group", group, repository, SECRET)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (github.verdicts[-1].sha, github.verdicts[-1].state) == (merge, "success")

    calls = len(model.requests)
    typed = payloads.dispatch(contracts="sentiment")
    done = runner.act("workflow_dispatch", typed, repository, SECRET)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(model.requests) - calls == 24
    assert github.comments == {}


def test_a_workflow_calls_the_gate_as_a_workflow(runner: Runner, repository: GitRepository) -> None:
    """The caller is that of the documentation. act knows no `$/`, and calls workflows of other
    repositories from GitHub only, so that the called one is copied."""
    page = (ROOT / "docs/github-action.md").read_text()
    section = page.split("\n## One workflow for many repositories\n")[1]
    caller = section.split("```yaml\n")[1].split("```")[0]
    [remote] = re.findall(r"uses: (OWNER/.*@COMMIT)", caller)
    called = (ROOT / CALLED).read_text()
    assert called.count("uses: $/.\n") == 1
    files = {
        WORKFLOW: caller.replace(remote, f"./{CALLED}"),
        CALLED: edited(called, "uses: $/.\n", f"uses: {PUBLISHED}\n"),
    }
    repository.commit("call", files)
    base, head, _ = merged(repository, "broken", BROKEN)
    runner.github.pull_request(7, head)
    done = runner.act("pull_request", pull_request(base, head), repository, SECRET)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Do not merge" in runner.github.comments[7][0].body
    assert [(s.sha, s.state) for s in runner.github.verdicts] == [(head, "failure")]
    assert "uploaded comment.md" in done.stdout


def test_what_a_push_has_brought_is_measured(runner: Runner, repository: GitRepository) -> None:
    """It is run on its own, and added to the history."""
    workflow = (repository.path / WORKFLOW).read_text()
    on_push = edited(workflow, "  merge_group:\n", "  merge_group:\n  push:\n")
    with_history = edited(on_push, "        with:\n          contracts:", HISTORY)
    assert with_history.count("history.jsonl") == 1
    before = repository.commit("history", {WORKFLOW: with_history})
    after = repository.commit("merged", {PROMPT: HARMLESS})
    payload = {
        "ref": "refs/heads/main",
        "before": before,
        "after": after,
        "repository": {"default_branch": "main"},
    }
    done = runner.act("push", payload, repository, SECRET)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(runner.model.requests) == 24
    assert runner.github.comments == {}


def test_the_action_built_from_its_source(runner: Runner, repository: GitRepository) -> None:
    """The workflow of this repository: the runner builds the Dockerfile."""
    for name in ACTION_FILES:
        shutil.copy(ROOT / name, repository.path / name)
    for name in ACTION_FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, repository.path / name, ignore=ignored)
    repository.commit("the action itself", {WORKFLOW: EXAMPLE})
    base, head, _ = merged(repository, "broken", BROKEN)
    runner.github.pull_request(7, head)
    done = runner.act("pull_request", pull_request(base, head), repository, SECRET)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Failure - Main ./" in done.stdout
    assert "Do not merge" in runner.github.comments[7][0].body
    files = "comment.md fixtures.csv junit.xml report.html result.json samples.csv samples.jsonl"
    assert f"{files} summary.md" in done.stdout
    assert [(s.sha, s.state) for s in runner.github.verdicts] == [(head, "failure")]
