"""One change through each way into the gate: the command, the action, the second stage for forks.

    def test_a_worse_prompt_fails(run_gate):
        answered = run_gate(FILES, {"prompts/words.txt": "Bad."}, answer=says_no)
        assert (answered.exit_code, answered.verdict) == (1, "fail")

| way | what is run | what it has |
| --- | --- | --- |
| `check` | `gatekeeper check --base main --head change` | the repository, whole |
| `pull_request` | the action for that event | a checkout of the merge commit, depth 1 |
| `fork_stage` | the action for `pull_request_target` | a checkout of the base, depth 1 |

The last is docs/workflows/fork-check.yml: the key is there, and the head is a fork's.
Each runs in this process: the real entry on a real repository, GitHub and the model being HTTP
servers on 127.0.0.1. The first stage for forks has no key and checks nothing, so it is no way in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Literal, Protocol

import pytest
from support.git_repository import GitRepository
from support.github_server import BOT, FakeGithub
from support.job_workspace import check_out
from support.openai_server import Answer, Fault, OpenAIServer, bad_request
from support.proposed_change import NUMBER, Files, ProposedChange, propose
from support.quick_github import leave_out_pauses

from gatekeeper.action import main as action
from gatekeeper.cli.main import main

Way = Literal["check", "pull_request", "fork_stage"]
WAYS: tuple[Way, ...] = ("check", "pull_request", "fork_stage")

KEY = "sk-0123456789abcdef"
POLICY = ".github/gatekeeper.yml"
OUT = ".gatekeeper/out"
HISTORY = "history.jsonl"


@dataclass(frozen=True)
class Published:
    """What the action gave to GitHub and its runner."""

    comment: str
    summary: str
    outputs: str
    """The file of the step's outputs, as it was written."""
    status: str
    """The description of the last commit status; empty if there is none."""


class Streams(Protocol):
    """What reads standard output and standard error, as pytest's `capsys` does."""

    def readouterr(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class Answered:
    """How a way in answered a change."""

    way: Way
    exit_code: int
    result: Mapping[str, Any] | None
    """result.json; None if none was written."""
    text: str = field(repr=False)
    """What a person reads: the terminal's output, or the comment on the pull request."""
    log: str = field(repr=False)
    """Everything written to standard output and standard error."""
    requests: Sequence[Mapping[str, Any]] = field(repr=False)
    """The bodies of what reached the model's server, in order of arrival."""
    headers: Sequence[Mapping[str, str]] = field(repr=False)
    """The headers of the same, with names in small letters."""
    out: Path = field(repr=False)
    """The folder of the reports."""
    published: Published | None = field(repr=False)
    """What GitHub and its runner were given; None for the command."""

    @property
    def verdict(self) -> str | None:
        """The verdict of result.json; None if none was written."""
        return None if self.result is None else str(self.result["verdict"])

    def reasons(self, verdict: str = "fail") -> set[str]:
        """The codes of the reasons of a verdict, over all contracts."""
        contracts = [] if self.result is None else self.result["contracts"]
        found = [reason for contract in contracts for reason in contract["reasons"]]
        return {reason["code"] for reason in found if reason["verdict"] == verdict}


RunGate = Callable[..., Answered]
"""The fixture `run_gate`, which takes what `WayIn.run_check` takes."""


@dataclass
class WayIn:
    """One way into the gate, for any number of changes in a folder of its own."""

    way: Way
    folder: Path
    streams: Streams
    _numbers: Iterator[int] = field(default_factory=count)

    def run_check(
        self,
        base: Files,
        head: Files,
        *,
        answer: Answer | None = None,
        env: Mapping[str, str] | None = None,
        policy: str | None = None,
        history: str | None = None,
        since: Files | None = None,
        work: Callable[[GitRepository], object] | None = None,
        history_path: str | None = None,
        event: Callable[[dict[str, Any]], object] | None = None,
    ) -> Answered:
        """RunCheck a change.

        Args:
            base: The files of the branch that is merged into.
            head: What the pull request writes over them; None deletes.
            answer: The model's answer to a request's body. Without it the model refuses every
                request, which suits contracts whose models are recordings.
            env: Variables beside the model's address and key.
            policy: The policy at base.
            history: The lines of a history file that is no part of the change.
            since: What the base branch gets after the pull request parted from it.
            work: Is called with the repository before head's commit.
            history_path: The history is this file of the checkout, as the change leaves it.
            event: Is called with the event's payload, to change it.
        """
        folder = self.folder / f"run_gate-{next(self._numbers)}"
        files = {**base, **({} if policy is None else {POLICY: policy})}
        change = propose(folder / "origin", files, head, since=since, work=work)
        with OpenAIServer(answer or _refuse) as model, pytest.MonkeyPatch.context() as patch:
            for name, value in self._environment(model, env).items():
                patch.setenv(name, value)
            self.streams.readouterr()
            if self.way == "check":
                code, out = _check(change, folder, history, history_path)
                published = None
            else:
                fork = self.way == "fork_stage"
                if history_path is not None:
                    patch.setenv("INPUT_HISTORY", history_path)
                code, out, published = _act(change, folder, history, patch, event, fork=fork)
            log = "".join(self.streams.readouterr())
            written = out / "result.json"
            return Answered(
                way=self.way,
                exit_code=code,
                result=json.loads(written.read_bytes()) if written.exists() else None,
                text=log if published is None else published.comment,
                log=log,
                requests=tuple(model.requests),
                headers=tuple(model.headers),
                out=out,
                published=published,
            )

    @staticmethod
    def _environment(model: OpenAIServer, env: Mapping[str, str] | None) -> dict[str, str]:
        return {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": KEY} | dict(env or {})


def long_but(first: Way, *others: Way) -> list[Any]:
    """Parameters of which `make test` takes the first alone."""
    return [
        pytest.param(first),
        *(pytest.param(way, marks=pytest.mark.long) for way in others),
    ]


by_the_action = pytest.mark.parametrize("run_gate", long_but(*WAYS[1:]), indirect=True)
"""For a test of what the action alone has."""


@pytest.fixture(params=long_but(*WAYS))
def run_gate(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> RunGate:
    """Runs the gate on a change, once by each way in; see `WayIn.run_check`.

    `make test` takes the first way alone, and all of them in test_ways_in.py.
    """
    return WayIn(request.param, tmp_path, capsys).run_check


@pytest.fixture(params=WAYS)
def run_gate_each_way(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> RunGate:
    """Runs the gate on a change by each way in, in `make test` too."""
    return WayIn(request.param, tmp_path, capsys).run_check


def _refuse(_: Mapping[str, Any]) -> Fault:
    return bad_request("no model was to be called here")


def _check(
    change: ProposedChange, folder: Path, history: str | None, history_path: str | None
) -> tuple[int, Path]:
    out = folder / "out"
    arms = ["--repo", str(change.origin.path), "--base", "main", "--head", "change"]
    more: list[str] = []
    if history is not None:
        (folder / HISTORY).write_text(history, "utf-8")
        more = ["--history", str(folder / HISTORY)]
    if history_path is not None:
        change.origin.git("checkout", "--quiet", "change")
        more = ["--history", str(change.origin.path / history_path)]
    return main(["check", *arms, "--out", str(out), *more]), out


def _act(
    change: ProposedChange,
    folder: Path,
    history: str | None,
    patch: pytest.MonkeyPatch,
    event: Callable[[dict[str, Any]], object] | None,
    *,
    fork: bool,
) -> tuple[int, Path, Published]:
    # What actions/checkout leaves: one commit, HEAD detached at it, and its remote.
    commit = change.base if fork else change.merge
    workspace = check_out(change.origin, commit, folder / "workspace").path
    if history is not None:
        (workspace / HISTORY).write_text(history, "utf-8")
        patch.setenv("INPUT_HISTORY", HISTORY)
    with FakeGithub() as github:
        pull = github.pull_request(
            NUMBER, change.head, base_sha=change.base, merge_sha=change.merge
        )
        pull.head_repository = "fork/prompts" if fork else "octo/prompts"
        github.refs["heads/main"] = change.base
        for name, value in _step(change, folder, workspace, github.url, event, fork=fork).items():
            patch.setenv(name, value)
        leave_out_pauses(patch)
        code = action.main()
        comments = [comment.body for comment in github.comments[NUMBER] if comment.author == BOT]
        statuses = [status.description for status in github.verdicts]
    summary, outputs = folder / "summary", folder / "output"
    return (
        code,
        workspace / OUT,
        Published(
            comment="\n".join(comments),
            summary=summary.read_text("utf-8") if summary.exists() else "",
            outputs=outputs.read_text("utf-8") if outputs.exists() else "",
            status=statuses[0] if statuses else "",
        ),
    )


def _step(
    change: ProposedChange,
    folder: Path,
    workspace: Path,
    api_url: str,
    edit: Callable[[dict[str, Any]], object] | None,
    *,
    fork: bool,
) -> dict[str, str]:
    """The variables of the workflow's step, and its event in a file."""
    event = folder / "event.json"
    payload = _payload(change, fork=fork)
    if edit is not None:
        edit(payload)
    event.write_text(json.dumps(payload), "utf-8")
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": api_url,
        "GITHUB_EVENT_NAME": "pull_request_target" if fork else "pull_request",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_JOB": "gate",
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_REPOSITORY": "octo/prompts",
        "GITHUB_RUN_ID": "42",
        "GITHUB_SERVER_URL": "https://github.com",
        # For pull_request_target GitHub gives the base, and the merge in the payload alone.
        "GITHUB_SHA": change.base if fork else change.merge,
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "GITHUB_WORKSPACE": str(workspace),
        "INPUT_TOKEN": "ghs_0123456789",
    }


def _payload(change: ProposedChange, *, fork: bool) -> dict[str, Any]:
    repository = {"full_name": "octo/prompts", "default_branch": "main"}
    head = {"full_name": "fork/prompts"} if fork else repository
    return {
        "action": "synchronize",
        "number": NUMBER,
        "repository": repository,
        "pull_request": {
            "number": NUMBER,
            "title": "A change",
            "merge_commit_sha": change.merge,
            "base": {"ref": "main", "sha": change.base, "repo": repository},
            "head": {"ref": "change", "sha": change.head, "repo": head},
        },
    }
