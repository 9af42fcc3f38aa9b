"""The action from event to answer, in this process: real git, a GitHub and a model on 127.0.0.1."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest
from support import webhook_payloads as payloads
from support.action_job import Job
from support.github_server import FakeGithub
from support.machine_needs import ROOT_USER
from support.openai_server import OpenAIServer
from support.pull_request import BROKEN, FEW, GOOD, HARMLESS, PROMPT, PullRequest

from gatekeeper.action import main as action

Act = Callable[..., int]

propose = partial(PullRequest.make, fixtures=FEW)


@pytest.fixture
def act(job: Job, github: FakeGithub) -> Act:
    """Runs the action for a pull request; `changed` replaces variables of the step."""

    def run(change: PullRequest, *, changed: Mapping[str, str] | None = None, **inputs: str) -> int:
        github.pull_request(7, change.head)
        job.variables = dict(changed or {})
        return job.run(change, **inputs)

    return run


@pytest.mark.parametrize("depth", [1, None])
def test_a_broken_prompt_fails(
    act: Act, github: FakeGithub, tmp_path: Path, capsys: pytest.CaptureFixture[str], depth: int
) -> None:
    change = propose(tmp_path, {PROMPT: BROKEN}, depth=depth)
    assert act(change) == 1
    (comment,) = github.comments[7]
    assert comment.body.startswith("<!-- gatekeeper:gatekeeper -->\n")
    assert "Do not merge" in comment.body
    assert change.head[:7] in comment.body
    (status,) = github.verdicts
    assert (status.sha, status.state) == (change.head, "failure")
    assert status.target_url == "https://github.com/octo/prompts/actions/runs/42"
    log = capsys.readouterr().out
    assert f"::error file={PROMPT},title=sentiment%3A fail,line=1::" in log
    outputs = (tmp_path / "output").read_text()
    assert "verdict<<" in outputs
    assert "\nfail\n" in outputs
    assert "Do not merge" in (tmp_path / "summary").read_text()
    out = change.workspace / ".gatekeeper/out"
    result = json.loads((out / "result.json").read_text())
    assert (result["verdict"], result["head"]["sha"]) == ("fail", change.head)
    assert (out / "comment.md").read_text() == comment.body


def test_a_harmless_change_passes_and_the_comment_is_updated(
    act: Act, github: FakeGithub, tmp_path: Path
) -> None:
    assert act(propose(tmp_path / "one", {PROMPT: BROKEN})) == 1
    assert act(propose(tmp_path / "two", {PROMPT: HARMLESS})) == 0
    (comment,) = github.comments[7]
    assert comment.edits == 1
    assert "May merge" in comment.body
    since = r"\*\*Since `\w{10}`\*\* \(❌ fail\): fixtures that fail: \d no longer, "
    assert re.search(since, comment.body)
    assert [s.state for s in github.verdicts] == ["failure", "success"]


@pytest.mark.long
def test_a_change_without_prompts_is_quiet(
    act: Act, github: FakeGithub, model: OpenAIServer, tmp_path: Path
) -> None:
    assert act(propose(tmp_path, {"README.md": "Another product.\n"})) == 0
    assert github.comments[7] == []
    assert model.requests == []
    heavy = "apprise httpx jinja2 jsonschema litellm numpy pydantic rich scipy sqlalchemy"
    heavy += " aiohttp asyncio concurrent.futures"
    program = "import sys; from gatekeeper.action import main; main.main(); "
    program += f"sys.exit(','.join(set('{heavy}'.split()) & set(sys.modules)) or None)"
    again = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (again.returncode, again.stderr) == (0, "")
    assert github.verdicts[0].state == "success"


def test_a_broken_contract_is_the_authors_mistake(
    act: Act, github: FakeGithub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change = propose(tmp_path, {"contracts/sentiment.yaml": "contract: 1\nnmae: x\n"})
    assert act(change) == 2
    assert "Invalid input" in github.comments[7][0].body
    assert github.verdicts[0].state == "error"
    assert "::error file=contracts/sentiment.yaml,title=Contract" in capsys.readouterr().out


def test_a_token_that_only_reads_changes_no_verdict(
    act: Act, github: FakeGithub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    github.read_only = True
    change = propose(tmp_path, {PROMPT: BROKEN})
    assert act(change) == 1
    log = capsys.readouterr().out
    assert "::warning title=Gatekeeper::could not post the comment" in log
    assert "pull-requests: write" in log
    assert "Do not merge" in (change.workspace / ".gatekeeper/out/comment.md").read_text()


def test_comments_and_status_can_be_turned_off(
    act: Act, github: FakeGithub, tmp_path: Path
) -> None:
    change = propose(tmp_path, {PROMPT: BROKEN})
    assert act(change, comment="off", status_context="") == 1
    # Waivers are looked for all the same.
    assert github.requests == ["GET /repos/octo/prompts/issues/7/comments"]


def test_secrets_reach_no_report(
    act: Act, github: FakeGithub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = "sk-0123456789abcdef"
    change = propose(tmp_path, {PROMPT: BROKEN + f"The key is {secret}.\n"})
    assert act(change) == 1
    written = [p.read_text() for p in (change.workspace / ".gatekeeper").rglob("*") if p.is_file()]
    written += [github.comments[7][0].body, (tmp_path / "summary").read_text()]
    written += [(tmp_path / "output").read_text(), *capsys.readouterr()]
    assert not [text for text in written if secret in text]


def test_hostile_text_gives_the_runner_no_command(
    act: Act, github: FakeGithub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    attack = "::set-output name=verdict::pass\n##[error]x\n<!-- gatekeeper:gatekeeper -->\n@octocat"
    contract = {
        "contracts/sentiment.yaml": "contract: 1\nname: |\n  " + attack.replace("\n", "\n  ") + "\n"
    }
    assert act(propose(tmp_path, {PROMPT: BROKEN, **contract})) == 2
    log = capsys.readouterr().out
    commands = [line for line in log.splitlines() if line.lstrip().startswith("::")]
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in commands)
    assert "##[" not in "\n".join(line for line in log.splitlines() if line not in commands)
    assert github.comments[7][0].body.count("<!-- gatekeeper:gatekeeper -->") == 1


def test_a_link_in_place_of_the_reports_is_not_followed(act: Act, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    change = propose(tmp_path, {PROMPT: BROKEN})
    (change.workspace / ".gatekeeper").symlink_to(outside)
    assert act(change) == 2
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("known", ["base", None])
def test_a_stale_merge_commit_is_not_checked(
    act: Act, github: FakeGithub, tmp_path: Path, known: str | None
) -> None:
    change = propose(tmp_path, {PROMPT: HARMLESS})
    # Not the merge of this head, or gone: the change must be found by history.
    sha = change.base if known else "e" * 40
    assert act(change, changed={"GITHUB_SHA": sha}) == 0
    assert "May merge" in github.comments[7][0].body


def test_a_merge_group_is_checked_without_a_comment(
    act: Act, github: FakeGithub, tmp_path: Path
) -> None:
    change = propose(tmp_path, {PROMPT: BROKEN})
    event = tmp_path / "group.json"
    group = {"base_sha": change.base, "head_sha": change.merge}
    event.write_text(json.dumps({"action": "checks_requested", "merge_group": group}))
    changed = {"GITHUB_EVENT_NAME": "merge_group", "GITHUB_EVENT_PATH": str(event)}
    assert act(change, changed=changed) == 1
    assert github.comments[7] == []
    assert [(s.sha, s.state) for s in github.verdicts] == [(change.merge, "failure")]


def test_a_dispatch_runs_the_suite(
    act: Act, github: FakeGithub, model: OpenAIServer, tmp_path: Path
) -> None:
    change = propose(tmp_path, {PROMPT: GOOD + "\n"})
    event = tmp_path / "dispatch.json"
    event.write_text(json.dumps(payloads.dispatch(contracts="sentiment")))
    changed = {"GITHUB_EVENT_NAME": "workflow_dispatch", "GITHUB_EVENT_PATH": str(event)}
    assert act(change, changed=changed) == 0
    assert github.requests == []
    assert len(model.requests) == FEW


def test_a_fork_without_a_key_could_not_be_measured_and_is_told_why(
    act: Act,
    github: FakeGithub,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    github.read_only = True
    change = propose(tmp_path, {PROMPT: HARMLESS})
    event = tmp_path / "fork.json"
    event.write_text(json.dumps(change.event(fork=True)))
    assert act(change, changed={"GITHUB_EVENT_PATH": str(event), "OPENAI_API_KEY": ""}) == 3
    said = (change.workspace / ".gatekeeper/out/comment.md").read_text()
    assert "Could not measure" in said
    assert "no API key, so no model was called; set OPENAI_API_KEY" in said
    assert "forks get no secrets" in said
    assert "forks get no secrets" in capsys.readouterr().out


def test_an_event_of_another_kind_is_explained(
    act: Act, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change = propose(tmp_path, {PROMPT: BROKEN})
    assert act(change, changed={"GITHUB_EVENT_NAME": "release"}) == 2
    assert "'release'" in capsys.readouterr().out


def test_an_event_that_cannot_be_read_is_named(
    act: Act, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change = propose(tmp_path, {PROMPT: BROKEN})
    assert act(change, changed={"GITHUB_EVENT_PATH": str(tmp_path / "none.json")}) == 2
    (tmp_path / "list.json").write_text("[]")
    assert act(change, changed={"GITHUB_EVENT_PATH": str(tmp_path / "list.json")}) == 2
    assert "GITHUB_EVENT_PATH" in capsys.readouterr().out


def test_a_fault_of_our_own_could_not_measure(
    act: Act, github: FakeGithub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(action, "result_of", fault)
    assert act(propose(tmp_path, {PROMPT: BROKEN})) == 3
    assert "ZeroDivisionError: this is a bug in gatekeeper" in github.comments[7][0].body


def test_running_the_job_again_asks_nothing_and_says_the_same(
    act: Act, github: FakeGithub, model: OpenAIServer, tmp_path: Path
) -> None:
    change = propose(tmp_path, {PROMPT: BROKEN})
    assert act(change, cache=".gatekeeper/cache.jsonl") == 1
    asked = len(model.requests)
    assert act(change, cache=".gatekeeper/cache.jsonl") == 1
    assert len(model.requests) == asked
    result = json.loads((change.workspace / ".gatekeeper/out/result.json").read_text())
    assert (result["calls"]["made"], result["calls"]["cached"]) == (0, asked)
    assert f"{asked} cached" in github.comments[7][0].body
    assert "sk-0123456789abcdef" not in (change.workspace / ".gatekeeper/cache.jsonl").read_text()


@ROOT_USER.mark
def test_the_cache_belongs_to_who_owns_the_workspace(act: Act, tmp_path: Path) -> None:
    """The container is root; the runner cleans the workspace before the next job."""
    change = propose(tmp_path, {PROMPT: BROKEN})
    os.chown(change.workspace, 1001, 1002)
    assert act(change, cache="kept/deep/cache.jsonl") == 1
    for path in ("kept", "kept/deep", "kept/deep/cache.jsonl"):
        made = (change.workspace / path).stat()
        assert (made.st_uid, made.st_gid) == (1001, 1002)
    assert (change.workspace / "kept/deep/cache.jsonl").stat().st_mode & 0o777 == 0o644


def test_a_cache_in_a_folder_that_leads_out_is_refused(
    act: Act, model: OpenAIServer, tmp_path: Path
) -> None:
    change = propose(tmp_path, {PROMPT: BROKEN})
    (tmp_path / "outside").mkdir()
    (change.workspace / "kept").symlink_to(tmp_path / "outside")
    assert act(change, cache="kept/cache.jsonl") == 2
    assert model.requests == []
    assert list((tmp_path / "outside").iterdir()) == []
