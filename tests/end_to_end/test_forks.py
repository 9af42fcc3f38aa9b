"""A fork's pull request from the first stage to a waiver, by the workflows that are to be copied.

Git, GitHub and the model are servers on 127.0.0.1. The second stage and the bot run the image that
a release names by digest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from end_to_end.runner import KEY, ROOT, WORKFLOW, Done, Runner
from support import webhook_payloads as payloads
from support.bot_comments import BEFORE, SAID
from support.edited_text import edited
from support.git_repository import GitRepository
from support.git_server import GitServer
from support.github_objects import FakeRun
from support.github_server import BOT
from support.pull_request import CONTRACT, PullRequest
from support.pull_request_remote import Remote, break_prompt

pytestmark = pytest.mark.container

TOKEN = "ghs_lab"
SECRET = f"--secret=OPENAI_API_KEY={KEY}"
INSTALL = (
    '"$RUNNER_TEMP/venv/bin/pip" install --quiet "git+https://github.com/OWNER/gatekeeper@COMMIT"'
)
OF_THE_IMAGE = 'rm -r "$RUNNER_TEMP/venv" && ln -s /opt/gatekeeper "$RUNNER_TEMP/venv"'


def shipped(name: str) -> str:
    return (ROOT / "docs/workflows" / name).read_text()


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    """The repository, and a fork's pull request that breaks a prompt."""
    with GitServer(tmp_path / "served", TOKEN) as server:
        made = Remote.make(tmp_path, server)
        made.propose(break_prompt)
        yield made


def job(remote: Remote, sha: str, workflow: str) -> GitRepository:
    """What actions/checkout gives: the commit; with the workflow, which act takes from there."""
    made = GitRepository.create(remote.folder / "job" / str(len(list(remote.folder.glob("job/*")))))
    made.git("fetch", "--quiet", str(remote.origin.path), sha)
    made.git("checkout", "--quiet", "--detach", sha)
    made.git("remote", "add", "origin", "https://github.com/octo/prompts.git")
    # As actions/checkout does; act leaves empty folders behind, and git is lost without `refs`.
    made.git("update-ref", "refs/remotes/pull/7/merge", sha)
    made.write(WORKFLOW, workflow)
    return made


def test_the_first_stage_tells_what_would_run_without_a_key(runner: Runner, remote: Remote) -> None:
    workflow = shipped("fork-validate.yml")
    # The installed program is the image's own: what is installed from there has other tests.
    assert workflow.count(INSTALL) == 1
    workflow = workflow.replace(INSTALL, OF_THE_IMAGE)
    base = {"number": 7, "base": {"sha": remote.base}}
    payload = {"action": "opened", "number": 7, "pull_request": base}
    image = f"--platform=ubuntu-latest={runner.image}"

    done = runner.act("pull_request", payload, job(remote, remote.merge, workflow), image)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "48" in done.stdout
    assert "sentiment" in done.stdout

    remote.origin.switch("change")
    broken = edited(CONTRACT, "equals", "equal")
    remote.head = remote.origin.commit("worse", {"contracts/sentiment.yaml": broken})
    remote.merged()
    done = runner.act("pull_request", payload, job(remote, remote.merge, workflow), image)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "contracts/sentiment.yaml:10" in done.stdout
    assert runner.model.requests == []


class Stage:
    """The workflows on the pull request, each as its event starts it."""

    def __init__(self, runner: Runner, remote: Remote) -> None:
        self.runner, self.remote, self.github = runner, remote, runner.github
        self.github.pull_request(
            7,
            remote.head,
            head_repository="fork/prompts",
            base_sha=remote.base,
            merge_sha=remote.merge,
        )
        self.github.refs["heads/main"] = remote.base
        self.github.roles["maintainer"] = "maintain"
        # act numbers its runs so.
        self.run = FakeRun(1, remote.head, "pull_request_target", created_at=BEFORE)
        self.github.runs.append(self.run)

    def act(self, event: str, payload: Mapping[str, Any], workflow: str) -> Done:
        server = self.remote.server.url
        variables = {
            "GITHUB_SERVER_URL": server,
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": f"url.{server}/.insteadOf",
            "GIT_CONFIG_VALUE_0": "https://github.com/",
        }
        options = [f"--env={name}={value}" for name, value in variables.items()]
        repository = job(self.remote, self.remote.base, shipped(workflow))
        return self.runner.act(event, payload, repository, SECRET, *options)

    def run_check(self) -> Done:
        """The second stage, once its reviewers have let it run."""
        payload = payloads.pull_request("synchronize", "fork/prompts")
        payload["repository"] = {"full_name": "octo/prompts"}
        pull = payload["pull_request"]
        pull["merge_commit_sha"] = self.remote.merge
        pull["base"] |= {"sha": self.remote.base, "repo": payload["repository"]}
        pull["head"]["sha"] = self.remote.head
        return self.act("pull_request_target", payload, "fork-check.yml")

    def say(self, text: str) -> Done:
        comment = self.github.comment(7, text, "maintainer")
        payload = payloads.issue_comment(text, id=comment.id, created_at=SAID)
        payload["comment"]["user"]["login"] = "maintainer"
        payload["repository"] = {"full_name": "octo/prompts"}
        return self.act("issue_comment", payload, "bot.yml")

    @property
    def own(self) -> list[str]:
        return [comment.body for comment in self.github.comments[7] if comment.author == BOT]


def test_the_second_stage_checks_and_a_command_waives(runner: Runner, remote: Remote) -> None:
    stage = Stage(runner, remote)
    done = stage.run_check()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Do not merge" in stage.own[0]
    assert [(s.sha, s.state) for s in stage.github.verdicts] == [(remote.head, "failure")]

    done = stage.say("/gatekeeper explain sentiment")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "**Significance**" in stage.own[1]

    made = len(runner.model.requests)
    done = stage.say("/gatekeeper waive sentiment: the words are meant to be free")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Waived for" in stage.own[2]
    assert set(map(tuple, stage.github.reactions.values())) == {("eyes", "rocket")}
    assert stage.run.reruns == ["rerun-failed-jobs"]
    assert len(runner.model.requests) == made


def test_the_second_stage_by_workflow_run(runner: Runner, tmp_path: Path) -> None:
    """No number is taken from the first stage: the pull request is looked up by what it saw."""
    change = PullRequest.make(tmp_path, {"prompts/sentiment.md": "{{ review }}\n"})
    runner.github.pull_request(7, change.head, head_repository="fork/r", merge_sha=change.merge)
    runner.github.pulls[7].base_sha = change.base
    payload = payloads.workflow_run(head_sha=change.head)
    done = runner.start(change, "workflow_run", payload)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Do not merge" in runner.github.comments[7][0].body


def test_a_fork_has_no_key_and_its_token_only_reads(runner: Runner, tmp_path: Path) -> None:
    change = PullRequest.make(tmp_path, {"prompts/sentiment.md": "{{ review }}\n"})
    runner.github.pull_request(7, change.head, head_repository="fork/prompts")
    runner.github.read_only = True
    done = runner.start(change, "pull_request", change.event(fork=True), OPENAI_API_KEY="")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Pull requests from forks get no secrets" in done.stdout
    comment = change.workspace / ".gatekeeper/out/comment.md"
    assert "Could not measure" in comment.read_text()
    assert runner.github.comments[7] == []
