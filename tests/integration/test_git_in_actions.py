"""The commits of a pull request as a job finds them: real repositories, shallow fetches through
git's own HTTP server, and nothing written into the workspace."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.action_job import Job
from support.edited_text import edited
from support.git_repository import GitRepository
from support.git_server import GitServer
from support.github_server import FakeGithub
from support.machine_needs import ROOT_USER
from support.openai_server import OpenAIServer
from support.pull_request import CONTRACT, GOOD, PROMPT, PullRequest, answer
from support.pull_request_remote import CHECKOUTS, TOKEN, Remote, break_prompt, causes

from gatekeeper.action.checkout import Checkout
from gatekeeper.action.events import CheckMergeGroup
from gatekeeper.errors import MeasurementError


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    with GitServer(tmp_path / "served", TOKEN) as server:
        yield Remote.make(tmp_path, server)


def files_below(folder: Path) -> dict[str, bytes]:
    """All but git's objects, and where its history is cut off: fetching adds to these."""
    return {
        str(path): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "objects" not in path.parts and path.name != "shallow"
    }


@pytest.mark.parametrize("found", CHECKOUTS)
def test_the_change_is_found_in_whatever_is_checked_out(remote: Remote, found: str) -> None:
    remote.propose(break_prompt)
    CHECKOUTS[found](remote)
    workspace = remote.settings().workspace
    known = files_below(workspace)
    asked = len(remote.server.requests)
    assert causes(remote.affected()) == {"sentiment": [(PROMPT, "modified")]}
    assert files_below(workspace) == known
    # One fetch is three requests, after one that was refused until the token was shown.
    assert len(remote.server.requests) - asked <= 3 * 4


@pytest.mark.parametrize("found", ["merge, depth 1", "nothing"])
def test_the_token_is_known_to_git_alone(
    remote: Remote, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "somebody")
    remote.propose(break_prompt)
    CHECKOUTS[found](remote)
    before = dict(os.environ)
    with Checkout(remote.settings()) as checkout:
        checkout.change(remote.pull_request())
        assert dict(os.environ) == before
    assert dict(os.environ) == before


def test_the_token_takes_the_place_of_the_checkouts_own(remote: Remote) -> None:
    """GitHub refuses a request with two Authorization headers; the server counts them."""
    remote.propose(break_prompt)
    made = remote.checkout(remote.merge, "--depth=1")
    made.config(f"http.{remote.server.url}/.extraheader", "AUTHORIZATION: basic b2xkOm9sZA==")
    refused = remote.server.refused
    assert causes(remote.affected()) == {"sentiment": [(PROMPT, "modified")]}
    assert remote.server.refused == refused


def test_a_wrong_token_says_what_to_set(remote: Remote) -> None:
    remote.propose(break_prompt)
    remote.checkout(remote.merge, "--depth=1")
    with (
        Checkout(replace(remote.settings(), token="wrong")) as checkout,
        pytest.raises(MeasurementError, match=r"could not fetch .* from origin.*fetch-depth: 0"),
    ):
        checkout.change(remote.pull_request())


def test_a_public_repository_needs_no_token(tmp_path: Path) -> None:
    with GitServer(tmp_path / "served") as server:
        remote = Remote.make(tmp_path, server)
        remote.propose(break_prompt)
        with Checkout(replace(remote.settings(), token="")) as checkout:
            assert checkout.change(remote.pull_request()).head.sha == remote.merge


def test_nothing_of_the_temporary_repository_stays(remote: Remote, tmp_path: Path) -> None:
    remote.propose(break_prompt)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
        (tmp_path / "temporary").mkdir()
        remote.affected()
    assert list((tmp_path / "temporary").iterdir()) == []


@ROOT_USER.mark
def test_a_workspace_of_another_user(remote: Remote) -> None:
    remote.propose(break_prompt)
    made = remote.checkout(remote.merge, "--depth=1")
    for path in [made.path, *made.path.rglob("*")]:
        os.chown(path, 12345, 12345, follow_symlinks=False)
    assert causes(remote.affected()) == {"sentiment": [(PROMPT, "modified")]}
    assert "safe" not in (made.path / ".git/config").read_text()


def test_hooks_and_filters_of_the_workspace_do_not_run(remote: Remote) -> None:
    attributes = {".gitattributes": "*.md filter=trap\n"}
    remote.propose(break_prompt, attributes)
    made = remote.checkout(remote.merge, "--depth=1")
    trap = made.path / "trapped"
    for hook in ("reference-transaction", "post-checkout", "pre-auto-gc", "fsmonitor-watchman"):
        file = made.write(f".git/hooks/{hook}", f"#!/bin/sh\ntouch {trap}\n")
        file.chmod(0o755)
    for kind in ("clean", "smudge", "process"):
        made.config(f"filter.trap.{kind}", f"touch {trap}")
    made.config("core.fsmonitor", f"touch {trap}")
    assert causes(remote.affected()) == {"sentiment": [(PROMPT, "modified")]}
    assert not trap.exists()


# Servers that give less


def test_a_server_that_gives_no_commit_by_its_name(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protocol 0 asks for permission to; the newer one does not know the question."""
    remote.propose(break_prompt)
    remote.origin.config("uploadpack.allowAnySHA1InWant", "false")
    options = {"COUNT": "1", "KEY_0": "protocol.version", "VALUE_0": "0"}
    for name, value in options.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    # Only what refs point to is given: the old tip of base is the parent of one of them.
    remote.origin.commit("base moves on again", {"CHANGES.md": "Two things.\n"})
    assert causes(remote.affected()) == {"sentiment": [(PROMPT, "modified")]}
    made = remote.checkout("refs/pull/7/merge", "--depth=1")
    assert made.git("cat-file", "-t", remote.merge) == "commit"
    assert causes(remote.affected()) == {"sentiment": [(PROMPT, "modified")]}
    # Without the merge the history of both sides has to be gone through.
    assert causes(remote.affected(remote.pull_request(merge_sha=None))) == {
        "sentiment": [(PROMPT, "modified")]
    }
    gone = "e" * 40
    with pytest.raises(MeasurementError, match=f"could not fetch {gone}.*fetch-depth: 0"):
        remote.affected(CheckMergeGroup(base_sha=gone, head_sha=remote.merge))


def test_history_is_deepened_until_the_two_sides_meet(remote: Remote) -> None:
    remote.propose(break_prompt)
    for number in range(60):
        remote.origin.git("commit", "-q", "--allow-empty", "-m", f"base goes on {number}")
    tip = remote.origin.head()
    remote.checkout(remote.head, "--depth=1")
    change = remote.affected(remote.pull_request(base_sha=tip, merge_sha=None))
    assert causes(change) == {"sentiment": [(PROMPT, "modified")]}


def test_a_large_file_beside_is_not_read(remote: Remote) -> None:
    """Its contents are lost on the server: whoever asks for one gets an error."""

    def edit(made: GitRepository) -> None:
        break_prompt(made)
        made.write("model.bin", os.urandom(1000))

    remote.propose(edit, {"model.bin": os.urandom(1000), "same.bin": os.urandom(1000)})
    remote.fetch(remote.merge, "--depth=1", "--filter=blob:none")
    for name in ("main:model.bin", "change:model.bin", "main:same.bin"):
        blob = remote.origin.sha(name)
        (remote.origin.path / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert causes(remote.affected()) == {"sentiment": [(PROMPT, "modified")]}


def test_contents_left_out_are_fetched_together(remote: Remote) -> None:
    """Hundreds of contracts in a sparse checkout are not hundreds of requests."""
    many: dict[str, str | bytes] = {}
    for number in range(40):
        name = f"task-{number}"
        text = edited(CONTRACT, "name: sentiment", f"name: {name}")
        many[f"contracts/{name}.yaml"] = edited(text, "/sentiment.md", f"/{name}.md")
        many[f"prompts/{name}.md"] = GOOD + f"{number}\n"
    remote.propose(break_prompt, many)
    remote.fetch(remote.merge, "--depth=1", "--filter=blob:none")
    asked = len(remote.server.requests)
    assert causes(remote.affected()) == {"sentiment": [(PROMPT, "modified")]}
    assert len(remote.server.requests) - asked < 30


# The whole action


def test_the_reports_are_in_the_workspace_where_nothing_is_checked_out(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote.propose(break_prompt)
    proposed = PullRequest(remote.settings().workspace, remote.base, remote.head, remote.merge)
    with FakeGithub() as github, OpenAIServer(answer):
        github.pull_request(7, remote.head)
        job = Job(github, monkeypatch, remote.folder, {"GITHUB_SERVER_URL": remote.server.url})
        assert job.run(proposed, token=TOKEN) == 1
        assert "Do not merge" in github.comments[7][0].body
    assert [path.name for path in proposed.workspace.iterdir()] == [".gatekeeper"]
    assert (proposed.workspace / ".gatekeeper/out/result.json").is_file()
